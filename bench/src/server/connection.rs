//! Connection: an HTTP/2 connection over TLS, shared by many tasks.

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

/// The flow-control windows of client-go.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;

/// An HTTP/2 connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authorization: HeaderValue,
    address: String,
}

impl Connection {
    /// Connects. The connection closes when its last clone is dropped.
    ///
    /// # Errors
    /// If the server does not accept the connection, or its certificate does not match the kubeconfig.
    pub async fn open(endpoint: &Endpoint) -> Outcome<Self> {
        Self::open_with_window(endpoint, STREAM_WINDOW).await
    }

    /// Connects with an initial stream window of `window` bytes. With 0, the server can send response headers only.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
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
        tokio::spawn(connection); // ends with the last sender; requests return its errors
        Ok(Self { sender, authorization: endpoint.authorization.clone(), address: endpoint.address.clone() })
    }

    /// Sends a request with a JSON body, or an empty one, and returns the response once its headers have arrived.
    /// A `PATCH` is a server-side apply.
    ///
    /// # Errors
    /// If the connection is closed.
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

    /// Sends a request, reads the whole response, and returns the length of its body.
    ///
    /// # Errors
    /// If the connection is closed, or the status is not `expected`; the error then has the body of the response.
    pub async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        expected: StatusCode,
    ) -> Outcome<usize> {
        let response = self.send(method.clone(), path, "application/json", body).await?;
        let (code, mut response) = (response.status(), response.into_body());
        if code != expected {
            let text = response.collect().await?.to_bytes();
            return Err(format!("{method} {path}: {code}: {}", String::from_utf8_lossy(&text)).into());
        }
        let mut bytes = 0;
        while let Some(frame) = response.frame().await {
            bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(bytes)
    }
}
