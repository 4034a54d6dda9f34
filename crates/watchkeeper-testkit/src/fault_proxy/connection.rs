//! Connection: one pump per direction, and the faults that affect them.

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Counts;
use super::fault::{Kind, NetworkFault};
use super::pump::{Pace, Pump, Step};

/// A fault for a connection; `None` heals it.
pub(super) type Order = Option<NetworkFault>;

/// Forwards bytes until both sides have ended, a fault ends the connection, or the proxy is dropped.
pub(super) async fn serve(
    mut client: TcpStream,
    target: SocketAddr,
    mut orders: watch::Receiver<Order>,
    counts: &watch::Sender<Counts>,
) {
    let mut server = tokio::select! {
        server = TcpStream::connect(target) => match server {
            Ok(server) => server,
            Err(_) => return reset(&client),
        },
        () = gone(&mut orders) => return reset(&client),
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true)); // only an optimization
    let mut stalled = Stalled { counts, is: false };
    match pass(&mut client, &mut server, &mut orders, &mut stalled).await {
        End::Clean => {}
        End::Reset => {
            reset(&client);
            reset(&server);
        }
    }
}

enum End {
    Clean,
    Reset,
}

/// Waits until the proxy is dropped.
async fn gone(orders: &mut watch::Receiver<Order>) {
    while orders.changed().await.is_ok() {}
}

/// Makes the connection end by RST when it is dropped.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger(); // the connection ends in any case
}

/// A connection in the count of stalled ones, if it is stalled.
struct Stalled<'a> {
    counts: &'a watch::Sender<Counts>,
    is: bool,
}

impl Stalled<'_> {
    fn set(&mut self, is: bool) {
        if self.is != is {
            self.is = is;
            self.counts.send_modify(|counts| if is { counts.stalled += 1 } else { counts.stalled -= 1 });
        }
    }
}

impl Drop for Stalled<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

async fn pass(
    client: &mut TcpStream,
    server: &mut TcpStream,
    orders: &mut watch::Receiver<Order>,
    stalled: &mut Stalled<'_>,
) -> End {
    let counts = stalled.counts;
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let mut requests = Pump::new(from_client, to_server);
    let mut responses = Pump::new(from_server, to_client);
    let mut fault = orders.borrow_and_update().clone();
    let mut delivered = 0;
    loop {
        if let Some(due) = fault.take_if(|fault| delivered >= fault.after) {
            match due.kind {
                Kind::Reset | Kind::Cut => {}
                Kind::Stall(direction) => {
                    requests.pace = if direction.has_requests() { Pace::Nothing } else { requests.pace };
                    responses.pace = if direction.has_responses() { Pace::Nothing } else { responses.pace };
                    stalled.set(true);
                }
                Kind::Trickle { bytes, every } => {
                    responses.pace = Pace::Trickle { bytes, every, next: Instant::now() };
                }
            }
            counts.send_modify(|counts| counts.injected += 1);
            match due.kind {
                Kind::Reset => return End::Reset,
                Kind::Cut => {
                    tokio::select! {
                        _ = async { tokio::join!(requests.end(), responses.end()) } => return End::Clean,
                        () = gone(orders) => return End::Reset,
                    }
                }
                Kind::Stall(_) | Kind::Trickle { .. } => {}
            }
        }
        if requests.is_done() && responses.is_done() {
            return End::Clean;
        }
        let most = fault.as_ref().map(|fault| fault.after - delivered);
        let (is_response, step) = tokio::select! {
            order = orders.changed() => {
                if order.is_err() {
                    return End::Reset;
                }
                fault = orders.borrow_and_update().clone();
                delivered = 0;
                if fault.is_none() {
                    (requests.pace, responses.pace) = (Pace::All, Pace::All);
                    stalled.set(false);
                }
                continue;
            }
            step = responses.step(most) => (true, step),
            step = requests.step(None) => (false, step),
        };
        match step {
            Err(_) => return End::Reset,
            Ok(Step::Passed(bytes)) if is_response => {
                delivered += bytes;
                counts.send_modify(|counts| counts.response_bytes += bytes);
            }
            Ok(Step::Passed(bytes)) => counts.send_modify(|counts| counts.request_bytes += bytes),
            Ok(Step::Ended) if !is_response => counts.send_modify(|counts| counts.client_closed += 1),
            Ok(Step::Ended | Step::PassedEnd) => {}
        }
    }
}
