//! Pod streams: logs, exec, attach and port-forward.
//!
//! Input: callers with a [`RestClient`], a namespace and the name of a pod.
//! Output: the [transport](crate::transport): logs are streamed responses, everything else is a WebSocket with channels.
//!
//! Invariants:
//! - `streams.W1`: backpressure: no buffer holds more than [`PIPE_BYTES`]. Data is received as fast as it is read, and
//!   writes wait until they are sent.
//! - `streams.W2`: an unclean end is an error for readers and waiters. A lost connection never looks like the end of an
//!   output.
//! - `streams.W3`: dropping a [`Process`] or a [`PortForward`] leaves no task and no connection behind.
//! - `streams.W4`: a server that has not sent anything for [`SILENCE_TIMEOUT`] is considered dead. It is pinged every
//!   [`PING_INTERVAL`].

mod error;
mod frame;
mod log;
mod options;
mod output;
mod port_forward;
mod process;
mod session;
mod websocket;

use std::sync::Arc;

use crate::rest::{Request, RequestError, RestClient};

pub use error::StreamError;
pub use frame::Frame;
pub use log::{LINE_BYTES, Log, LogLines};
pub use options::{ExecOptions, LogOptions, LogSince, LogStream};
pub use output::Output;
pub use port_forward::{Port, PortForward};
pub use process::{Exit, Input, Process, TerminalSize};
pub use session::{PING_INTERVAL, PIPE_BYTES, SILENCE_TIMEOUT};
pub use websocket::Protocol;

/// The streams of one pod. Clones are cheap.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
/// use watchkeeper_client::Client;
/// use watchkeeper_client::streams::{ExecOptions, Exit, LogOptions};
///
/// let pod = Client::infer()?.pod("default", "web-0");
///
/// let mut lines = pod.log(&LogOptions { follow: true, ..Default::default() }).await?.lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{}", String::from_utf8_lossy(&line));
/// }
///
/// let options = ExecOptions { stdin: true, ..Default::default() };
/// let mut process = pod.exec(["wc", "-c"], &options).await?;
/// let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
/// stdin.write_all(b"hello").await?;
/// stdin.shutdown().await?; // closes the program's standard input
/// let mut count = String::new();
/// stdout.read_to_string(&mut count).await?;
/// assert_eq!((count.trim(), process.wait().await?), ("5", Exit::Success));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PodStreams {
    client: RestClient,
    namespace: Arc<str>,
    name: Arc<str>,
}

impl PodStreams {
    /// Creates the streams of a pod. `client` must be for the core group. Nothing is sent yet.
    pub fn new(client: RestClient, namespace: &str, name: &str) -> Self {
        Self { client, namespace: namespace.into(), name: name.into() }
    }

    /// Opens the log of a container.
    ///
    /// # Errors
    /// If the request fails.
    pub async fn log(&self, options: &LogOptions) -> Result<Log, RequestError> {
        let request = options.apply(self.request("log"));
        let description = request.description();
        Ok(Log::new(request.stream().await?.into_body(), description))
    }

    /// Runs a command in a container. Returns when the server has accepted it; it may not have started yet.
    ///
    /// Read stdout and stderr concurrently: they share a connection, and an unread one blocks the other
    /// (`streams.W1`). A dropped one does not.
    ///
    /// # Errors
    /// If the request fails, or the server supports none of the [protocols](Protocol).
    pub async fn exec<C>(&self, command: C, options: &ExecOptions) -> Result<Process, StreamError>
    where
        C: IntoIterator<Item: Into<String>>,
    {
        let command = command.into_iter().map(|word| ("command", word));
        let request = options.apply(self.request("exec").params(command));
        Process::start(request, options).await
    }

    /// Attaches to the main process of a container: as [`exec`](Self::exec), without starting a command.
    ///
    /// # Errors
    /// As [`exec`](Self::exec).
    pub async fn attach(&self, options: &ExecOptions) -> Result<Process, StreamError> {
        Process::start(options.apply(self.request("attach")), options).await
    }

    /// Opens one connection to each of these ports of the pod.
    ///
    /// ```no_run
    /// # async fn example(pod: watchkeeper_client::streams::PodStreams) -> Result<(), Box<dyn std::error::Error>> {
    /// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    ///
    /// let mut forward = pod.port_forward(&[80]).await?;
    /// let mut port = forward.port(80).unwrap();
    /// port.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    /// let mut beginning = [0; 12];
    /// port.read_exact(&mut beginning).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`exec`](Self::exec). A port without a listener is an error of its [`Port`].
    pub async fn port_forward(&self, ports: &[u16]) -> Result<PortForward, StreamError> {
        let numbers = ports.iter().map(|port| ("ports", port.to_string()));
        PortForward::start(self.request("portforward").params(numbers), ports).await
    }

    fn request(&self, subresource: &str) -> Request {
        let request = self.client.get().namespace(&self.namespace).resource("pods").name(&self.name);
        request.subresource(subresource)
    }
}
