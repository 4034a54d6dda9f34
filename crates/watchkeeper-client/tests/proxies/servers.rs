//! HTTP and SOCKS5 proxies that record their requests.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

/// The protocol of a proxy, and the credentials that it requires.
#[derive(Clone)]
pub(crate) enum Protocol {
    /// With the required `Proxy-Authorization`.
    Http(Option<&'static str>),
    Https(TlsAcceptor, Option<&'static str>),
    Socks(Option<(&'static str, &'static str)>),
}

impl Server {
    pub(crate) async fn start(protocol: Protocol) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let recorded = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (protocol, recorded) = (protocol.clone(), recorded.clone());
                tokio::spawn(async move {
                    match protocol {
                        Protocol::Http(required) => http(stream, required, &recorded).await,
                        Protocol::Https(tls, required) => match tls.accept(stream).await {
                            Ok(stream) => http(stream, required, &recorded).await,
                            Err(_) => None,
                        },
                        Protocol::Socks(required) => socks(stream, required, &recorded).await,
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// Returns the requests in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

async fn http(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    required: Option<&str>,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let authorization = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("proxy-authorization").then(|| value.to_owned())
    });
    seen.lock().push(line.to_owned());
    if authorization.as_deref() != required {
        let response = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(response).await.ok()?;
        return stream.shutdown().await.ok();
    }
    let mut parts = line.split(' ');
    let (method, target) = (parts.next()?, parts.next()?);
    let mut server = match method {
        "CONNECT" => {
            let server = TcpStream::connect(target).await.ok()?;
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
            server
        }
        _ => {
            let rest = target.strip_prefix("http://")?;
            let mut server = TcpStream::connect(&rest[..rest.find('/')?]).await.ok()?;
            let path = &rest[rest.find('/')?..];
            server.write_all(head.replacen(target, path, 1).as_bytes()).await.ok()?;
            server
        }
    };
    copy_bidirectional(&mut stream, &mut server).await.ok().map(drop)
}

async fn socks(
    mut stream: TcpStream,
    required: Option<(&str, &str)>,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    async fn text(stream: &mut TcpStream) -> Option<Vec<u8>> {
        let length = stream.read_u8().await.ok()?;
        let mut text = vec![0; length.into()];
        stream.read_exact(&mut text).await.ok()?;
        Some(text)
    }
    assert_eq!(stream.read_u8().await.ok()?, 5);
    let methods = text(&mut stream).await?;
    let method = if required.is_some() { 2 } else { 0 };
    if !methods.contains(&method) {
        return stream.write_all(&[5, 0xff]).await.ok();
    }
    stream.write_all(&[5, method]).await.ok()?;
    if let Some((user, password)) = required {
        assert_eq!(stream.read_u8().await.ok()?, 1);
        let credentials = (text(&mut stream).await?, text(&mut stream).await?);
        let is_known = credentials == (user.as_bytes().to_vec(), password.as_bytes().to_vec());
        stream.write_all(&[1, u8::from(!is_known)]).await.ok()?;
        if !is_known {
            seen.lock().push("rejected".to_owned());
            return None;
        }
    }
    let mut request = [0; 4];
    stream.read_exact(&mut request).await.ok()?;
    let host = match request[3] {
        1 => {
            let mut address = [0; 4];
            stream.read_exact(&mut address).await.ok()?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => String::from_utf8(text(&mut stream).await?).unwrap(),
        kind => panic!("address type {kind}"),
    };
    let target = format!("{host}:{}", stream.read_u16().await.ok()?);
    seen.lock().push(format!("SOCKS {target}"));
    let mut server = TcpStream::connect(&target).await.ok()?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    copy_bidirectional(&mut stream, &mut server).await.ok().map(drop)
}
