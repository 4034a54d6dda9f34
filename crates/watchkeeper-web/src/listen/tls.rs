//! TLS: who the server says it is.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use watchkeeper_client::Secret;

use super::options::{ServeError, Tls};

/// What is spoken, the best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What a listener needs of a certificate and its key.
pub(super) async fn config(tls: Tls) -> Result<Arc<ServerConfig>, ServeError> {
    let (certificate, key) = match tls {
        Tls::Pem { certificate, key } => (certificate, key),
        Tls::Files { certificate, key } => (read(&certificate).await?, Secret::from(read(&key).await?)),
    };
    let unusable = |what: String| ServeError::Tls { what };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| unusable(format!("{error:?}")))?;
    if chain.is_empty() {
        return Err(unusable("there is no certificate".to_owned()));
    }
    // What is wrong with a key is not told in its own words.
    let key = PrivateKeyDer::from_pem_slice(key.reveal().as_bytes())
        .map_err(|_| unusable("there is no private key".to_owned()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| unusable(error.to_string()))?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

async fn read(file: &Path) -> Result<String, ServeError> {
    let read = tokio::fs::read_to_string(file).await;
    read.map_err(|source| ServeError::TlsFile { file: file.to_owned(), source })
}
