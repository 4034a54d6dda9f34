//! Connection: one TLS connection of HTTP/2 that many tasks send on.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Endpoint, Outcome};

/// What client-go allows a stream to send ahead.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;

/// A connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authorization: HeaderValue,
    address: String,
}

impl Connection {
    /// Connects; the connection closes when its last clone is gone.
    ///
    /// # Errors
    /// Where nobody listens, or not with the certificate of the kubeconfig.
    pub async fn open(endpoint: &Endpoint) -> Outcome<Self> {
        Self::open_with_window(endpoint, STREAM_WINDOW).await
    }

    /// Connects; each stream may send `window` bytes ahead. With 0, a server can send nothing but heads.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub async fn open_with_window(endpoint: &Endpoint, window: u32) -> Outcome<Self> {
        let stream = TcpStream::connect(&endpoint.address).await?;
        stream.set_nodelay(true)?;
        let host = endpoint.address.rsplit_once(':').map_or("", |(host, _)| host).to_owned();
        let stream =
            TlsConnector::from(endpoint.tls.clone()).connect(ServerName::try_from(host)?, stream).await?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(window)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(connection); // it ends with the last sender; what goes wrong the requests say
        Ok(Self { sender, authorization: endpoint.authorization.clone(), address: endpoint.address.clone() })
    }

    /// Sends a request with JSON, or with nothing, and returns the answer once its head is there. A patch is an
    /// apply.
    ///
    /// # Errors
    /// Where the connection is gone.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
        body: Bytes,
    ) -> Outcome<Response<Incoming>> {
        let mut sender = self.sender.clone();
        let content = match method {
            Method::PATCH => "application/apply-patch+yaml",
            _ => "application/json",
        };
        let uri = Uri::builder().scheme("https").authority(&*self.address).path_and_query(path).build()?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
        sender.ready().await?;
        Ok(sender.send_request(request).await?)
    }

    /// Sends a request, reads the answer to its end, and counts its bytes.
    ///
    /// # Errors
    /// Where there is none, or it is another than `expected`: then its text is in the error.
    pub async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        expected: StatusCode,
    ) -> Outcome<usize> {
        let answer = self.send(method.clone(), path, "application/json", body).await?;
        let (code, mut answer) = (answer.status(), answer.into_body());
        if code != expected {
            let text = answer.collect().await?.to_bytes();
            return Err(format!("{method} {path}: {code}: {}", String::from_utf8_lossy(&text)).into());
        }
        let mut bytes = 0;
        while let Some(frame) = answer.frame().await {
            bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(bytes)
    }
}
