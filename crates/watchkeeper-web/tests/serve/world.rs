//! A cluster, the service in front of it, and a client that sends raw bytes.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_testkit::TestCluster;
use watchkeeper_web::listen::{ConnectionLimits, DEFAULT_LIMITS};
use watchkeeper_web::{Options, Server, Service};

/// Time limit of every wait.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) service: Service,
    pub(crate) served: Served,
}

impl World {
    pub(crate) async fn start(options: Options) -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let service = Service::new(&client(&cluster));
        let served = Served::start(&service, options).await;
        Self { cluster, service, served }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.served.address
    }

    /// Sends `GET path` to the loopback server.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        ask(self.address(), &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
            .await
    }

    pub(crate) async fn stop(self) {
        self.served.stop().await;
        self.service.stop().await;
        self.cluster.stop().await;
    }
}

/// A running server.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) running: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn start(service: &Service, options: Options) -> Self {
        let server = Server::bind(service, options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let running = tokio::spawn(server.run(stop.clone().cancelled_owned()));
        Self { address, stop, running }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        timeout(LONG, self.running).await.expect("the server does not stop").unwrap();
    }
}

pub(crate) fn client(cluster: &TestCluster) -> Client {
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap()
}

/// The default limits with short timeouts.
pub(crate) fn short() -> ConnectionLimits {
    let short = Duration::from_millis(300);
    ConnectionLimits { head: short, handshake: short, drain: short, ..DEFAULT_LIMITS }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends bytes, and reads until the server closes the connection.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_ref()).await.unwrap();
    let mut bytes = Vec::new();
    timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("no end").unwrap();
    Answer::read(&bytes)
}
