//! Ports: what listens on those of pods, as far as anything does.

use watchkeeper_apiserver::http::Query;

use super::websocket::{Channels, Said};

/// Nobody listens on ports below this one.
const FIRST_PORT: u16 = 10;

/// The ports that a forward is for. The error is the kubelet's.
pub(super) fn read(query: &Query) -> Result<Vec<u16>, String> {
    let mut ports = Vec::new();
    for text in query.all("port").flat_map(|list| list.split(',')) {
        match text.parse() {
            Ok(0) => return Err(format!("port {text:?} must be > 0")),
            Ok(port) => ports.push(port),
            Err(_) => return Err(format!("unable to parse {text:?} as a port")),
        }
    }
    match ports.is_empty() {
        true => Err("query parameter \"port\" is required".to_owned()),
        false => Ok(ports),
    }
}

/// Gives back what is sent, until the client has gone.
pub(super) async fn forward(ports: Vec<u16>, pod: String, mut channels: Channels) {
    for (port, channel) in ports.iter().zip((0u8..).step_by(2)) {
        for side in [channel, channel + 1] {
            channels.say(side, &port.to_le_bytes()).await;
        }
        if *port < FIRST_PORT {
            let fault = format!("error forwarding port {port} to pod {pod}: nobody listens there");
            channels.say(channel + 1, fault.as_bytes()).await;
        }
    }
    loop {
        match channels.next().await {
            Said::Data(channel, bytes) => {
                let port = ports.get(usize::from(channel / 2)).filter(|_| channel.is_multiple_of(2));
                if port.is_some_and(|port| *port >= FIRST_PORT) {
                    channels.say(channel, &bytes).await;
                }
            }
            Said::Close(_) => {}
            Said::Gone => return,
        }
    }
}
