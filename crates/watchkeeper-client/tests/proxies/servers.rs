//! Proxies of HTTP and of SOCKS5, which tell what they were asked for.

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

/// What a proxy speaks, and whom it lets through: everybody without a name and password.
#[derive(Clone)]
pub(crate) enum Speaks {
    /// With the value that `Proxy-Authorization` must have.
    Http(Option<&'static str>),
    Https(TlsAcceptor, Option<&'static str>),
    Socks(Option<(&'static str, &'static str)>),
}

impl Server {
    pub(crate) async fn start(speaks: Speaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (speaks, notes) = (speaks.clone(), notes.clone());
                tokio::spawn(async move {
                    match speaks {
                        Speaks::Http(must) => http(stream, must, &notes).await,
                        Speaks::Https(tls, must) => match tls.accept(stream).await {
                            Ok(stream) => http(stream, must, &notes).await,
                            Err(_) => None,
                        },
                        Speaks::Socks(must) => socks(stream, must, &notes).await,
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// What it was asked for, in turn.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

async fn http(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    must: Option<&str>,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let given = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("proxy-authorization").then(|| value.to_owned())
    });
    seen.lock().push(line.to_owned());
    if given.as_deref() != must {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(refusal).await.ok()?;
        return stream.shutdown().await.ok();
    }
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let mut server = match method {
        "CONNECT" => {
            let server = TcpStream::connect(target).await.ok()?;
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
            server
        }
        _ => {
            let place = target.strip_prefix("http://")?;
            let mut server = TcpStream::connect(&place[..place.find('/')?]).await.ok()?;
            let path = &place[place.find('/')?..];
            server.write_all(head.replacen(target, path, 1).as_bytes()).await.ok()?;
            server
        }
    };
    copy_bidirectional(&mut stream, &mut server).await.ok().map(drop)
}

async fn socks(mut stream: TcpStream, must: Option<(&str, &str)>, seen: &Mutex<Vec<String>>) -> Option<()> {
    async fn text(stream: &mut TcpStream) -> Option<Vec<u8>> {
        let length = stream.read_u8().await.ok()?;
        let mut text = vec![0; length.into()];
        stream.read_exact(&mut text).await.ok()?;
        Some(text)
    }
    assert_eq!(stream.read_u8().await.ok()?, 5);
    let methods = text(&mut stream).await?;
    let method = if must.is_some() { 2 } else { 0 };
    if !methods.contains(&method) {
        return stream.write_all(&[5, 0xff]).await.ok();
    }
    stream.write_all(&[5, method]).await.ok()?;
    if let Some((user, password)) = must {
        assert_eq!(stream.read_u8().await.ok()?, 1);
        let given = (text(&mut stream).await?, text(&mut stream).await?);
        let is_known = given == (user.as_bytes().to_vec(), password.as_bytes().to_vec());
        stream.write_all(&[1, u8::from(!is_known)]).await.ok()?;
        if !is_known {
            seen.lock().push("a stranger".to_owned());
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
        kind => panic!("an address of kind {kind}"),
    };
    let target = format!("{host}:{}", stream.read_u16().await.ok()?);
    seen.lock().push(format!("SOCKS {target}"));
    let mut server = TcpStream::connect(&target).await.ok()?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    copy_bidirectional(&mut stream, &mut server).await.ok().map(drop)
}
