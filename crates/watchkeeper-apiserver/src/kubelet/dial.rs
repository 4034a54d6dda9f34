//! Connections to kubelets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use watchkeeper_tls::AcceptAnyCertificate;

use super::KubeletAddress;
use crate::http::{CertificateError, Identity};

/// The timeout of connecting to a kubelet, and again of the TLS handshake.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// A client for kubelets. Clones share its configuration.
#[derive(Clone)]
pub(crate) struct Kubelets {
    tls: TlsConnector,
}

impl Kubelets {
    /// Creates a client with an optional client certificate.
    pub(crate) fn new(identity: Option<&Identity>) -> Result<Self, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate::new(provider)));
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?];
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
                config.with_client_auth_cert(chain, key)?
            }
        };
        Ok(Self { tls: Arc::new(config).into() })
    }

    /// Opens a connection. Errors are in Go's words as far as possible.
    pub(super) async fn dial(&self, address: &KubeletAddress) -> Result<TlsStream<TcpStream>, String> {
        let KubeletAddress { host, port } = address;
        let connected = timeout(DIAL_TIMEOUT, TcpStream::connect((host.as_str(), *port))).await;
        let stream = connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| dial_error(address, &error))?;
        let _ = stream.set_nodelay(true); // only affects latency
        let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
        match timeout(DIAL_TIMEOUT, self.tls.connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("net/http: TLS handshake timeout".to_owned()),
        }
    }
}

/// Describes a failed connection in Go's words.
fn dial_error(address: &KubeletAddress, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused",
        io::ErrorKind::HostUnreachable => "connect: no route to host",
        io::ErrorKind::NetworkUnreachable => "connect: network is unreachable",
        io::ErrorKind::TimedOut => "i/o timeout",
        _ if error.raw_os_error().is_none() => {
            return format!("dial tcp: lookup {}: no such host", address.host);
        }
        _ => &error.to_string(),
    };
    format!("dial tcp {}: {why}", address.authority())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_connection_is_described_in_gos_words() {
        let address = KubeletAddress { host: "10.0.0.1".into(), port: 10250 };
        for (kind, why) in [
            (io::ErrorKind::ConnectionRefused, "connect: connection refused"),
            (io::ErrorKind::HostUnreachable, "connect: no route to host"),
            (io::ErrorKind::NetworkUnreachable, "connect: network is unreachable"),
            (io::ErrorKind::TimedOut, "i/o timeout"),
        ] {
            let expected = format!("dial tcp 10.0.0.1:10250: {why}");
            assert_eq!(dial_error(&address, &kind.into()), expected);
        }
        let unknown = dial_error(&address, &io::Error::other("failed to lookup address information"));
        assert_eq!(unknown, "dial tcp: lookup 10.0.0.1: no such host");
    }
}
