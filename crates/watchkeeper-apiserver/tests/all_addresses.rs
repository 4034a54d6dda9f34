//! A server that listens on all addresses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use watchkeeper_apiserver::server::ApiServer;

/// Returns whether a client trusts the server at this address.
async fn trusts(server: &ApiServer, name: IpAddr) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(server.ca_pem().unwrap().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(SocketAddr::new(name, server.address().port())).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::from(name), stream).await.is_ok()
}

/// Returns the address of this machine in its network, if any.
fn outgoing() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[tokio::test]
async fn a_server_on_all_addresses_is_trusted_at_loopback_and_at_its_network_address() {
    let server = ApiServer::builder().listen((Ipv4Addr::UNSPECIFIED, 0).into()).start().await.unwrap();
    let port = server.address().port();
    assert_eq!(server.address().ip(), Ipv4Addr::UNSPECIFIED);
    assert_eq!(server.url(), format!("https://127.0.0.1:{port}"));
    assert!(server.kubeconfig().render().contains(&format!("server: https://127.0.0.1:{port}\n")));
    assert!(trusts(&server, Ipv4Addr::LOCALHOST.into()).await);
    if let Some(address) = outgoing() {
        assert!(trusts(&server, address).await, "{address}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_server_on_all_ipv6_addresses_uses_the_ipv6_loopback() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return; // this machine has no IPv6
    }
    let server = ApiServer::builder().listen((Ipv6Addr::UNSPECIFIED, 0).into()).start().await.unwrap();
    assert_eq!(server.url(), format!("https://[::1]:{}", server.address().port()));
    assert!(trusts(&server, Ipv6Addr::LOCALHOST.into()).await);
    server.stop().await;
}
