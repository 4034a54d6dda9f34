//! Port forwarding: an echo server on every port.

use watchkeeper_apiserver::http::Query;

use super::websocket::{Channels, Frame};

/// Connections to ports below this one fail.
const FIRST_PORT: u16 = 10;

/// Reads the requested ports. The errors are the kubelet's.
pub(super) fn read(query: &Query) -> Result<Vec<u16>, String> {
    let mut ports = Vec::new();
    for text in query.all("port").flat_map(|list| list.split(',')) {
        match text.parse() {
            Ok(0) => return Err(format!("port {text:?} must be > 0")),
            Ok(port) => ports.push(port),
            Err(_) => return Err(format!("unable to parse {text:?} as a port")),
        }
    }
    if ports.is_empty() {
        return Err("query parameter \"port\" is required".to_owned());
    }
    Ok(ports)
}

/// Echoes bytes until the client disconnects.
pub(super) async fn forward(ports: Vec<u16>, pod: String, mut channels: Channels) {
    for (port, channel) in ports.iter().zip((0u8..).step_by(2)) {
        for side in [channel, channel + 1] {
            channels.send(side, &port.to_le_bytes()).await;
        }
        if *port < FIRST_PORT {
            let fault = format!("error forwarding port {port} to pod {pod}: nobody listens there");
            channels.send(channel + 1, fault.as_bytes()).await;
        }
    }
    loop {
        match channels.next().await {
            Frame::Data(channel, bytes) => {
                let port = ports.get(usize::from(channel / 2)).filter(|_| channel.is_multiple_of(2));
                if port.is_some_and(|port| *port >= FIRST_PORT) {
                    channels.send(channel, &bytes).await;
                }
            }
            Frame::Close(_) => {}
            Frame::Gone => return,
        }
    }
}
