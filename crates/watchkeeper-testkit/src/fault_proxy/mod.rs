//! Fault proxy: a TCP proxy between a client and a server that injects network faults.
//!
//! Input: a test, which sets faults for open and for new connections.
//! Output: both sides, which receive each other's bytes unchanged. TLS is not terminated.
//!
//! [`TestCluster::faults`] injects faults of the server itself, request by request.
//!
//! Invariants:
//! - `fault_proxy.W1`: bytes are forwarded unchanged and in order.
//! - `fault_proxy.W2`: a stalled connection forwards neither bytes nor the end of the stream. Once healed, it continues
//!   where it stopped.
//! - `fault_proxy.W3`: a proxy that is stopped or dropped leaves no task and no port; its connections are reset.

mod connection;
mod fault;
mod pump;

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

pub use fault::{Direction, NetworkFault};

/// Backlog of the listening socket.
const BACKLOG: u32 = 1024;

/// Counters of a proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Accepted connections.
    pub connections: u64,
    /// Open connections.
    pub open: u64,
    /// Stalled connections.
    pub stalled: u64,
    /// Injected faults.
    pub injected: u64,
    /// Clients that have ended their side of a connection, stalled or not.
    pub client_closed: u64,
    /// Bytes forwarded to the server.
    pub request_bytes: u64,
    /// Bytes forwarded to clients.
    pub response_bytes: u64,
}

/// A TCP proxy that injects network faults. It runs on the runtime it was started on.
///
/// TLS is not terminated. The proxy listens on 127.0.0.1, which the certificate of a test cluster includes.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: tokio::sync::Mutex<Listening>,
}

#[derive(Debug)]
enum Listening {
    Open(Accepting),
    /// Bound but not listening, so that connections are refused and the port stays ours.
    Reserved(TcpSocket),
    /// Between the two.
    Unbound,
}

/// The accept task, aborted on drop.
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
    on_connect: Option<NetworkFault>,
    /// Sends faults to the open connections; a connection ends when its sender is dropped (`fault_proxy.W3`).
    open: HashMap<u64, watch::Sender<Order>>,
    last: u64,
    /// Set once the proxy is dropped: connections that are accepted later end at once.
    is_closed: bool,
}

impl FaultProxy {
    /// Starts a proxy in front of a server, without faults.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let socket = reserve((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        let (counts, _) = watch::channel(Counts::default());
        let shared = Arc::new(Shared { target, counts, state: Mutex::default() });
        let listening = tokio::sync::Mutex::new(Listening::Open(accept(socket, shared.clone())?));
        Ok(Self { address, shared, listening })
    }

    /// Returns the address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the host and port of a URL by those of the proxy.
    pub fn url(&self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let path = rest.find('/').map_or("", |start| &rest[start..]);
        format!("{scheme}://{}{path}", self.address)
    }

    /// Sets the fault for new connections, replacing an earlier one. [`NetworkFault::times`] limits it.
    pub fn inject_on_connect(&self, fault: NetworkFault) {
        self.shared.state().on_connect = Some(fault);
    }

    /// Injects a fault into all open connections, and returns their number. Replaces a fault that has not happened yet.
    pub fn inject(&self, fault: NetworkFault) -> usize {
        self.order(&Some(fault))
    }

    /// Removes all faults: stalled and slow connections continue.
    pub fn heal(&self) {
        self.shared.state().on_connect = None;
        self.order(&None);
    }

    /// Refuses new connections; open ones stay. If the future is dropped, it can be called again.
    ///
    /// # Errors
    /// If another process has bound the port while it was free.
    pub async fn refuse(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        if let Listening::Open(accepting) = &mut *listening {
            accepting.0.abort();
            let _ = (&mut accepting.0).await; // the listener is closed now
            *listening = Listening::Unbound;
        }
        if matches!(*listening, Listening::Unbound) {
            *listening = Listening::Reserved(reserve(self.address)?);
        }
        Ok(())
    }

    /// Accepts connections again, on the same port.
    ///
    /// # Errors
    /// If the system refuses to listen.
    pub async fn accept(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        let socket = match std::mem::replace(&mut *listening, Listening::Unbound) {
            Listening::Open(accepting) => {
                *listening = Listening::Open(accepting);
                return Ok(());
            }
            Listening::Reserved(socket) => socket,
            Listening::Unbound => reserve(self.address)?,
        };
        *listening = Listening::Open(accept(socket, self.shared.clone())?);
        Ok(())
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Waits until the counters satisfy a predicate. Cancel safe.
    pub async fn until(&self, predicate: impl FnMut(&Counts) -> bool) {
        let _ = self.shared.counts.subscribe().wait_for(predicate).await; // cannot fail: we hold the sender
    }

    /// Waits until this many connections were accepted.
    pub async fn connected(&self, connections: u64) {
        self.until(|counts| counts.connections >= connections).await;
    }

    /// Waits until this many connections are stalled.
    pub async fn stalled(&self, connections: u64) {
        self.until(|counts| counts.stalled >= connections).await;
    }

    /// Waits until this many faults were injected.
    pub async fn injected(&self, times: u64) {
        self.until(|counts| counts.injected >= times).await;
    }

    /// Waits until this many clients have ended their side of a connection.
    pub async fn client_closed(&self, clients: u64) {
        self.until(|counts| counts.client_closed >= clients).await;
    }

    /// Stops the proxy and waits until it has (`fault_proxy.W3`). If the future is dropped, it stops in the
    /// background.
    pub async fn stop(self) {
        let shared = self.shared.clone();
        if let Listening::Open(accepting) = &mut *self.listening.lock().await {
            accepting.0.abort();
            let _ = (&mut accepting.0).await; // no connection is accepted after this
        }
        drop(self);
        let _ = shared.counts.subscribe().wait_for(|counts| counts.open == 0).await;
    }

    fn order(&self, order: &Order) -> usize {
        let state = self.shared.state();
        for connection in state.open.values() {
            let _ = connection.send(order.clone()); // an error means that the connection has just ended
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
    /// Writes a copy of the cluster's kubeconfig that connects through a proxy, and is removed with the cluster.
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

/// Binds a port without listening on it.
fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?; // connections of the previous listener may still be open
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
            Err(_) => tokio::task::yield_now().await, // the connection was aborted before it was accepted
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
        // Ends when its sender in `open` is dropped; `stop` waits for the counter.
        tokio::spawn(async move {
            serve(client, self.target, orders, &self.counts).await;
            self.state().open.remove(&id);
            self.counts.send_modify(|counts| counts.open -= 1);
        });
    }
}

impl State {
    fn admit(&mut self) -> (u64, watch::Receiver<Order>) {
        let fault = match &mut self.on_connect {
            Some(NetworkFault { times: Some(0), .. }) | None => None,
            Some(fault) => {
                fault.times = fault.times.map(|times| times - 1);
                Some(fault.clone())
            }
        };
        let (order, orders) = watch::channel(fault);
        self.last += 1;
        if !self.is_closed {
            self.open.insert(self.last, order);
        }
        (self.last, orders)
    }
}
