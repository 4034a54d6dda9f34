//! A server over plain HTTP, and raw requests to it.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use watchkeeper_apiserver::server::ApiServer;

pub(crate) struct World {
    pub(crate) server: ApiServer,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self { server: ApiServer::builder().plain_http().token("t").start().await.unwrap() }
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response<Incoming> {
        self.send_as("t", method, path, headers, body).await
    }

    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response<Incoming> {
        let io = TokioIo::new(TcpStream::connect(self.server.address()).await.unwrap());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "k")
            .header("authorization", format!("Bearer {token}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        sender.send_request(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap()
    }
}
