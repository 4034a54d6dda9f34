//! Fault proxy: the wire between a client and a server, which breaks when a test says so.
//!
//! From: a test, which says what happens to the connections that are open and to those to come.
//! To:   both sides, which get each other's bytes as they are. TLS is not ended here.
//!
//! What the server itself does wrong, request by request, is said with [`TestCluster::faults`].
//!
//! - W1: what is passed on is what came, in its order.
//! - W2: what is stalled is held back, and no end is passed on. Healed, it goes on where it stood.
//! - W3: a proxy that is stopped or dropped leaves no task and no port; its connections are reset.

mod connection;
mod pump;
mod trouble;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::{ClusterError, TestCluster};
use connection::{Order, serve};

pub use trouble::{Trouble, Way};

/// How many connections the system keeps for us until they are accepted.
const BACKLOG: u32 = 1024;

/// What a proxy has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that clients have made.
    pub connections: u64,
    /// Connections that are open.
    pub open: u64,
    /// Connections that are stalled.
    pub stalled: u64,
    /// How often trouble has come.
    pub struck: u64,
    /// How many clients have ended their side of a connection, be it stalled or not.
    pub hung_up: u64,
    /// Bytes that went to the server.
    pub request_bytes: u64,
    /// Bytes that went to clients.
    pub answer_bytes: u64,
}

/// The wire between a client and a server, which breaks when a test says so. It runs on the runtime that it
/// was started on.
///
/// Bytes are passed on as they are: TLS is not ended here.
/// Its port is one of 127.0.0.1, which every certificate of a test cluster names.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    door: tokio::sync::Mutex<Door>,
}

#[derive(Debug)]
enum Door {
    Open(Accepting),
    /// Nobody else gets the port meanwhile.
    Closed(TcpSocket),
    /// Between the two.
    Ajar,
}

/// The task that accepts connections: it ends with this.
#[derive(Debug)]
struct Accepting(JoinHandle<()>);

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    counts: watch::Sender<Counts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    to_come: Option<Trouble>,
    /// How each connection that is open is told what happens; without one it ends (W3).
    open: HashMap<u64, watch::Sender<Order>>,
    last: u64,
    /// The proxy is gone: whoever is accepted now has come too late.
    is_closed: bool,
}

impl FaultProxy {
    /// Starts a proxy before a server. Until it is told otherwise, nothing goes wrong.
    ///
    /// # Errors
    /// If there is no port.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let socket = reserve((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        let (counts, _) = watch::channel(Counts::default());
        let shared = Arc::new(Shared { target, counts, state: Mutex::default() });
        let door = tokio::sync::Mutex::new(Door::Open(accept(socket, shared.clone())?));
        Ok(Self { address, shared, door })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a server as its clients should know it: `https://127.0.0.1:40123`, with the scheme
    /// and the path of `url`.
    pub fn url(&self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let path = rest.find('/').map_or("", |start| &rest[start..]);
        format!("{scheme}://{}{path}", self.address)
    }

    /// This happens to connections to come, in place of what was said before. It can be limited:
    /// [`Trouble::times`].
    pub fn to_come(&self, trouble: Trouble) {
        self.shared.state().to_come = Some(trouble);
    }

    /// This happens to the connections that are open. Returns how many there are.
    pub fn now(&self, trouble: Trouble) -> usize {
        self.order(&Some(trouble))
    }

    /// From now on nothing goes wrong: what was stalled or slow goes on.
    pub fn heal(&self) {
        self.shared.state().to_come = None;
        self.order(&None);
    }

    /// From now on nobody listens: connections are refused, those that are open stay. Dropped half-way, it
    /// can be called again.
    ///
    /// # Errors
    /// If somebody else has taken the port in the moment in which it was free.
    pub async fn refuse(&self) -> io::Result<()> {
        let mut door = self.door.lock().await;
        if let Door::Open(accepting) = &mut *door {
            accepting.0.abort();
            let _ = (&mut accepting.0).await; // then nobody listens
            *door = Door::Ajar;
        }
        if matches!(*door, Door::Ajar) {
            *door = Door::Closed(reserve(self.address)?);
        }
        Ok(())
    }

    /// From now on connections are accepted again, on the same port.
    ///
    /// # Errors
    /// If the system does not let us listen.
    pub async fn accept(&self) -> io::Result<()> {
        let mut door = self.door.lock().await;
        let socket = match std::mem::replace(&mut *door, Door::Ajar) {
            Door::Open(accepting) => {
                *door = Door::Open(accepting);
                return Ok(());
            }
            Door::Closed(socket) => socket,
            Door::Ajar => reserve(self.address)?,
        };
        *door = Door::Open(accept(socket, self.shared.clone())?);
        Ok(())
    }

    /// What the proxy has seen.
    pub fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Returns once the counts are so. Dropping it half-way loses nothing.
    pub async fn until(&self, is_so: impl FnMut(&Counts) -> bool) {
        let _ = self.shared.counts.subscribe().wait_for(is_so).await; // the sender is ours
    }

    /// Returns once clients have made so many connections.
    pub async fn connections_made(&self, connections: u64) {
        self.until(|counts| counts.connections >= connections).await;
    }

    /// Returns once so many connections are stalled.
    pub async fn stalled(&self, connections: u64) {
        self.until(|counts| counts.stalled >= connections).await;
    }

    /// Returns once trouble has come so often.
    pub async fn struck(&self, times: u64) {
        self.until(|counts| counts.struck >= times).await;
    }

    /// Returns once so many clients have ended their side of a connection.
    pub async fn hung_up(&self, clients: u64) {
        self.until(|counts| counts.hung_up >= clients).await;
    }

    /// Stops, and returns once everything has ended (W3). If dropped half-way, it ends soon.
    pub async fn stop(self) {
        let shared = self.shared.clone();
        if let Door::Open(accepting) = &mut *self.door.lock().await {
            accepting.0.abort();
            let _ = (&mut accepting.0).await; // so that no connection comes after this
        }
        drop(self);
        let _ = shared.counts.subscribe().wait_for(|counts| counts.open == 0).await;
    }

    fn order(&self, order: &Order) -> usize {
        let state = self.shared.state();
        for connection in state.open.values() {
            let _ = connection.send(order.clone()); // one that has just ended needs none
        }
        state.open.len()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        state.open.clear();
    }
}

impl TestCluster {
    /// A kubeconfig like that of the cluster, but through a proxy: a file that only its owner can read, and
    /// that goes with the cluster.
    ///
    /// # Errors
    /// [`ClusterError::Kubeconfig`] if it cannot be written.
    pub async fn kubeconfig_through(&self, proxy: &FaultProxy) -> Result<PathBuf, ClusterError> {
        let mut config = self.server().kubeconfig();
        config.server = proxy.url(&config.server);
        config.namespace = Some(self.namespace().to_owned());
        let path = self.directory().join(format!("kubeconfig-{}", proxy.address().port()));
        let written = tokio::task::spawn_blocking(move || config.write(&path).map(|()| path)).await;
        written.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(ClusterError::Kubeconfig)
    }
}

/// A port that is ours, and on which nobody listens.
fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?; // connections of its last listener may still be open
    socket.bind(address)?;
    Ok(socket)
}

fn accept(socket: TcpSocket, shared: Arc<Shared>) -> io::Result<Accepting> {
    let listener = socket.listen(BACKLOG)?;
    Ok(Accepting(tokio::spawn(run(listener, shared))))
}

async fn run(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => shared.clone().begin(client),
            Err(_) => tokio::task::yield_now().await, // it was gone before we came to it
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: Arc<Self>, client: TcpStream) {
        let (id, orders) = self.state().admit();
        self.counts.send_modify(|counts| {
            counts.connections += 1;
            counts.open += 1;
        });
        // It ends when its end of `orders` is gone; whoever stops waits for the count.
        tokio::spawn(async move {
            serve(client, self.target, orders, &self.counts).await;
            self.state().open.remove(&id);
            self.counts.send_modify(|counts| counts.open -= 1);
        });
    }
}

impl State {
    fn admit(&mut self) -> (u64, watch::Receiver<Order>) {
        let trouble = match &mut self.to_come {
            Some(Trouble { times: Some(0), .. }) | None => None,
            Some(trouble) => {
                trouble.times = trouble.times.map(|times| times - 1);
                Some(trouble.clone())
            }
        };
        let (order, orders) = watch::channel(trouble);
        self.last += 1;
        if !self.is_closed {
            self.open.insert(self.last, order);
        }
        (self.last, orders)
    }
}
