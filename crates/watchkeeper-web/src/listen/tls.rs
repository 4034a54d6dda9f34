//! Serving certificates.
//!
//! Input: a certificate and key, as PEM text or as files that may be replaced.
//! Output: a TLS configuration for each connection of the [`Listener`](watchkeeper_listen::Listener).
//!
//! Invariants:
//! - `tls.T1`: a replaced pair is used for new connections once it has been read; an invalid one is not, and the
//!   previous pair stays in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::sync::Mutex;
use watchkeeper_client::auth::PemIdentity;
use watchkeeper_client::reload::CertReloader;
use watchkeeper_listen::{Certificates, CurrentConfig, Security};

use super::options::{ServeError, Tls};

/// ALPN protocols, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Creates the security settings of a listener.
pub(super) async fn security(tls: Tls) -> Result<Security, ServeError> {
    match tls {
        Tls::Pem { certificate, key } => {
            Ok(Security::Tls(Arc::new(config(&PemIdentity { certificate, key })?)))
        }
        Tls::Files { certificate, key } => {
            let pair = CertificateFiles {
                certificate,
                key,
                reading: Mutex::default(),
                served: CertReloader::default(),
            };
            pair.reload().await?;
            Ok(Security::Renewed(Arc::new(pair)))
        }
    }
}

/// A certificate and key in files, read again for every connection, by one reader at a time.
#[derive(Debug)]
struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    reading: Mutex<()>,
    served: CertReloader<PemIdentity, ServerConfig>,
}

impl CertificateFiles {
    /// Returns the configuration to serve (`tls.T1`).
    async fn reload(&self) -> Result<Arc<ServerConfig>, ServeError> {
        let found = async {
            let (certificate, key) = (read(&self.certificate).await?, read(&self.key).await?.into());
            Ok(PemIdentity { certificate, key })
        };
        let make = |pair: Arc<PemIdentity>| std::future::ready(config(&pair));
        self.served.current(found.await, make).await
    }
}

impl Certificates for CertificateFiles {
    fn current(&self) -> CurrentConfig<'_> {
        Box::pin(async {
            match self.reading.try_lock() {
                Ok(_reading) => self.reload().await.ok(),
                Err(_another_reader) => self.served.last().map(|(_, config)| config),
            }
        })
    }
}

fn config(pair: &PemIdentity) -> Result<ServerConfig, ServeError> {
    let invalid = |what: String| ServeError::Tls { what };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| invalid(format!("{error:?}")))?;
    if chain.is_empty() {
        return Err(invalid("no certificate found".to_owned()));
    }
    // Parse errors of a key could contain parts of it.
    let key = PrivateKeyDer::from_pem_slice(pair.key.reveal().as_bytes())
        .map_err(|_| invalid("no valid private key found".to_owned()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| invalid(error.to_string()))?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

async fn read(file: &Path) -> Result<String, ServeError> {
    let read = tokio::fs::read_to_string(file).await;
    read.map_err(|source| ServeError::TlsFile { file: file.to_owned(), source })
}
