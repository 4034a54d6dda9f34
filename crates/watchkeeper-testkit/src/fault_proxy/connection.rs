//! Connection: two pumps, and what happens to them.

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Counts;
use super::pump::{Pace, Pump, Step};
use super::trouble::{Kind, Trouble};

/// What a connection is told: `None` where all is well (again).
pub(super) type Order = Option<Trouble>;

/// Passes on what comes until both sides have ended, or trouble ends it, or the proxy is gone.
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
    let _ = (client.set_nodelay(true), server.set_nodelay(true)); // slower without, and no less right
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

/// Returns once there is no proxy any more.
async fn gone(orders: &mut watch::Receiver<Order>) {
    while orders.changed().await.is_ok() {}
}

/// Has the connection end by RST when it is dropped.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger(); // it ends in any case
}

/// Whether a connection counts as stalled.
struct Stalled<'a> {
    counts: &'a watch::Sender<Counts>,
    is: bool,
}

impl Stalled<'_> {
    fn set(&mut self, is: bool) {
        if self.is != is {
            self.is = is;
            self.counts.send_modify(|counts| match is {
                true => counts.stalled += 1,
                false => counts.stalled -= 1,
            });
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
    let mut answers = Pump::new(from_server, to_client);
    let mut trouble = orders.borrow_and_update().clone();
    let mut delivered = 0;
    loop {
        if let Some(due) = trouble.take_if(|trouble| delivered >= trouble.after) {
            match due.kind {
                Kind::Reset | Kind::Cut => {}
                Kind::Stall(way) => {
                    requests.pace = if way.has_requests() { Pace::Nothing } else { requests.pace };
                    answers.pace = if way.has_answers() { Pace::Nothing } else { answers.pace };
                    stalled.set(true);
                }
                Kind::Trickle { bytes, every } => {
                    answers.pace = Pace::Trickle { bytes, every, next: Instant::now() };
                }
            }
            counts.send_modify(|counts| counts.struck += 1);
            match due.kind {
                Kind::Reset => return End::Reset,
                Kind::Cut => {
                    tokio::select! {
                        _ = async { tokio::join!(requests.end(), answers.end()) } => return End::Clean,
                        () = gone(orders) => return End::Reset,
                    }
                }
                Kind::Stall(_) | Kind::Trickle { .. } => {}
            }
        }
        if requests.is_done() && answers.is_done() {
            return End::Clean;
        }
        let most = trouble.as_ref().map(|trouble| trouble.after - delivered);
        let (is_answer, step) = tokio::select! {
            order = orders.changed() => {
                if order.is_err() {
                    return End::Reset;
                }
                trouble = orders.borrow_and_update().clone();
                delivered = 0;
                if trouble.is_none() {
                    (requests.pace, answers.pace) = (Pace::All, Pace::All);
                    stalled.set(false);
                }
                continue;
            }
            step = answers.step(most) => (true, step),
            step = requests.step(None) => (false, step),
        };
        match step {
            Err(_) => return End::Reset,
            Ok(Step::Passed(bytes)) if is_answer => {
                delivered += bytes;
                counts.send_modify(|counts| counts.answer_bytes += bytes);
            }
            Ok(Step::Passed(bytes)) => counts.send_modify(|counts| counts.request_bytes += bytes),
            Ok(Step::Ended) if !is_answer => counts.send_modify(|counts| counts.hung_up += 1),
            Ok(Step::Ended | Step::PassedEnd) => {}
        }
    }
}
