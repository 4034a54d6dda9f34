//! Protocol upgrades.

use http::header::{CONNECTION, UPGRADE};
use http::{Request, StatusCode, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::config::Proxy;
use watchkeeper_client::transport::{Body, TransportError, Upgrade};
use watchkeeper_client::{Config, Transport};

use super::servers::{Protocol, Server};
use super::{support::config, through};

fn request(path: &str) -> Request<Body> {
    let request = Request::post(path).header(CONNECTION, "Upgrade").header(UPGRADE, "echo/1");
    request.body(Body::empty()).unwrap()
}

/// A server that switches protocols, sends a greeting, and echoes what it receives.
async fn echo() -> Config {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap().to_lowercase();
                assert!(head.starts_with("post /exec http/1.1\r\n") && head.contains("upgrade: echo/1"));
                let switch = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\n\
                    upgrade: echo/1\r\nx-chosen: v5\r\n\r\nhello";
                stream.write_all(switch.as_bytes()).await.unwrap();
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await; // until the client disconnects
            });
        }
    });
    let mut config = Config::new(format!("http://{address}").parse().unwrap());
    config.proxy = Proxy::Direct;
    config
}

#[tokio::test]
async fn an_upgraded_connection_is_handed_to_the_caller() {
    let mut config = echo().await;
    let proxy = Server::start(Protocol::Http(None)).await;
    for route in [Proxy::Direct, through(&format!("http://{}", proxy.address))] {
        config.proxy = route;
        let transport = Transport::from_config(&config).unwrap();
        let Upgrade::Switched(response) = transport.upgrade(request("/exec")).await.unwrap() else {
            panic!("the server did not switch protocols")
        };
        assert_eq!(response.headers()["x-chosen"], "v5");
        let mut stream = response.into_body();
        let mut text = [0; 5];
        stream.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"hello", "bytes sent with the response are not lost");
        stream.write_all(b"world").await.unwrap();
        stream.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"world");
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read(&mut text).await.unwrap(), 0);
    }
    let address = config.server.authority().unwrap();
    assert_eq!(proxy.seen(), [format!("CONNECT {address} HTTP/1.1")], "an upgrade needs a tunnel");
}

#[tokio::test]
async fn without_a_switch_the_response_is_returned_and_the_connection_not_shared() {
    let server = ApiServer::builder().start().await.unwrap();
    let transport = Transport::from_config(&config(&server)).unwrap();
    let shared = transport.send(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(shared.version(), Version::HTTP_2);
    let path = "/api/v1/namespaces/default/pods/none/exec";
    let Upgrade::Declined(response) = transport.upgrade(request(path)).await.unwrap() else {
        panic!("expected an error response")
    };
    assert_eq!(response.version(), Version::HTTP_11);
    assert!(response.status().is_client_error(), "{}", response.status());
    let body = response.into_body().bytes().await.unwrap();
    assert!(body.starts_with(b"{\"kind\":\"Status\""), "{body:?}");
    let again = transport.send(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!((again.version(), again.status()), (Version::HTTP_2, StatusCode::OK));
    drop((shared, again, transport));
    server.stop().await;
}

#[tokio::test]
async fn a_connection_lost_before_the_switch_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
    config.proxy = Proxy::Direct;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
    });
    let error = Transport::from_config(&config).unwrap().upgrade(request("/exec")).await.unwrap_err();
    assert!(matches!(error, TransportError::Lost { .. }), "{error:?}");
}
