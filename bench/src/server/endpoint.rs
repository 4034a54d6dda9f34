//! Endpoint: address, certificate authority and bearer token of a server.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::Outcome;

/// A server on this machine.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host and port, such as `127.0.0.1:6443`.
    pub(super) address: String,
    pub(super) authorization: HeaderValue,
    pub(super) tls: Arc<ClientConfig>,
}

impl Endpoint {
    /// Reads a kubeconfig as the servers of these benchmarks write it: in block style, with one cluster and a user with
    /// a token.
    ///
    /// # Errors
    /// If the file cannot be read, or a field is missing or invalid.
    pub fn read(kubeconfig: &Path) -> Outcome<Self> {
        let text = fs::read_to_string(kubeconfig)
            .map_err(|error| format!("failed to read kubeconfig {}: {error}", kubeconfig.display()))?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| {
                let (key, value) = line.trim_start_matches([' ', '-']).split_once(':')?;
                (key == name).then(|| value.trim().trim_matches('"').to_owned())
            });
            value.ok_or_else(|| format!("kubeconfig {} has no {name}", kubeconfig.display()))
        };
        let server = field("server")?;
        let address = server.strip_prefix("https://").ok_or("the server URL must start with https://")?;
        let mut roots = RootCertStore::empty();
        let authority = STANDARD.decode(field("certificate-authority-data")?)?;
        roots.add(CertificateDer::from_pem_slice(&authority)?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", field("token")?))?;
        authorization.set_sensitive(true);
        Ok(Self { address: address.to_owned(), authorization, tls: Arc::new(tls) })
    }
}
