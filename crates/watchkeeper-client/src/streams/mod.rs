//! Streams: the logs of a pod, programs in its containers, and its ports.
//!
//! From: whoever has a [`RestClient`], a namespace and the name of a pod.
//! To:   the [transport](crate::transport): logs are answers that are read as they come, all else is a
//!       WebSocket of its own, with channels.
//!
//! - W1: what the server sends is read only as fast as it is taken, and what is written waits until it is
//!   sent: no buffer has more than [`PIPE_BYTES`].
//! - W2: an end that is not clean is an error, for whoever reads and for whoever waits. A connection that
//!   was lost never looks like the end of an output.
//! - W3: who drops a [`Process`] or a [`PortForward`] cuts it off: no task and no connection is left.
//! - W4: a server from which nothing comes for [`SILENT_AFTER`] is taken for dead. It is asked every
//!   [`PING_EVERY`].

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
pub use session::{PING_EVERY, PIPE_BYTES, SILENT_AFTER};
pub use websocket::Protocol;

/// What streams of one pod. Clones are cheap.
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
/// stdin.shutdown().await?; // the program reads the end of its input
/// let mut counted = String::new();
/// stdout.read_to_string(&mut counted).await?;
/// assert_eq!((counted.trim(), process.wait().await?), ("5", Exit::Success));
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
    /// Of a pod, through a client of the core group. Nothing is sent yet.
    pub fn new(client: RestClient, namespace: &str, name: &str) -> Self {
        Self { client, namespace: namespace.into(), name: name.into() }
    }

    /// The log of a container, as it comes.
    ///
    /// # Errors
    /// If the server refuses, or does not answer.
    pub async fn log(&self, options: &LogOptions) -> Result<Log, RequestError> {
        let request = options.apply(self.request("log"));
        let description = request.description();
        Ok(Log::new(request.stream().await?.into_body(), description))
    }

    /// Runs a program in a container. It has been accepted when this returns, and may not run yet.
    ///
    /// Read stdout and stderr at the same time: they share a connection, and one that is not read holds up
    /// the other (W1). One that is dropped does not.
    ///
    /// # Errors
    /// If the server refuses, does not answer, or speaks none of the [protocols](Protocol).
    pub async fn exec<C>(&self, command: C, options: &ExecOptions) -> Result<Process, StreamError>
    where
        C: IntoIterator<Item: Into<String>>,
    {
        let command = command.into_iter().map(|word| ("command", word));
        let request = options.apply(self.request("exec").params(command));
        Process::begin(request, options).await
    }

    /// Joins the program that a container runs: as [`exec`](Self::exec), with what is there already.
    ///
    /// # Errors
    /// As [`exec`](Self::exec).
    pub async fn attach(&self, options: &ExecOptions) -> Result<Process, StreamError> {
        Process::begin(options.apply(self.request("attach")), options).await
    }

    /// Connects to ports of the pod, once to each.
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
    /// As [`exec`](Self::exec). A port that nobody listens on is an error of its [`Port`].
    pub async fn port_forward(&self, ports: &[u16]) -> Result<PortForward, StreamError> {
        let numbers = ports.iter().map(|port| ("ports", port.to_string()));
        PortForward::begin(self.request("portforward").params(numbers), ports).await
    }

    fn request(&self, subresource: &str) -> Request {
        let request = self.client.get().namespace(&self.namespace).resource("pods").name(&self.name);
        request.subresource(subresource)
    }
}
