//! TLS: who the server says it is.
//!
//! From: a certificate and its key, in PEM or in files that somebody else renews in place.
//! To:   the [`Listener`](watchkeeper_listen::Listener), which asks for every connection.
//!
//! - T1: a pair that is renewed is served to whoever connects once a reading has found it; one that cannot be used is
//!   not, and the pair before it goes on to be.

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

/// What is spoken, the best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What a listener needs of a certificate and its key.
pub(super) async fn security(tls: Tls) -> Result<Security, ServeError> {
    match tls {
        Tls::Pem { certificate, key } => {
            Ok(Security::Tls(Arc::new(config(&PemIdentity { certificate, key })?)))
        }
        Tls::Files { certificate, key } => {
            let pair = Pair { certificate, key, reading: Mutex::default(), served: CertReloader::default() };
            pair.read_again().await?;
            Ok(Security::Renewed(Arc::new(pair)))
        }
    }
}

/// A certificate and its key in files, which are read again for every connection, one time after the other.
#[derive(Debug)]
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
    reading: Mutex<()>,
    served: CertReloader<PemIdentity, ServerConfig>,
}

impl Pair {
    /// What is to be served (T1).
    async fn read_again(&self) -> Result<Arc<ServerConfig>, ServeError> {
        let found = async {
            let (certificate, key) = (read(&self.certificate).await?, read(&self.key).await?.into());
            Ok(PemIdentity { certificate, key })
        };
        let make = |pair: Arc<PemIdentity>| std::future::ready(config(&pair));
        self.served.current(found.await, make).await
    }
}

impl Certificates for Pair {
    fn current(&self) -> CurrentConfig<'_> {
        Box::pin(async {
            match self.reading.try_lock() {
                Ok(_reading) => self.read_again().await.ok(),
                Err(_somebody_reads) => self.served.last().map(|(_, config)| config),
            }
        })
    }
}

fn config(pair: &PemIdentity) -> Result<ServerConfig, ServeError> {
    let unusable = |what: String| ServeError::Tls { what };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| unusable(format!("{error:?}")))?;
    if chain.is_empty() {
        return Err(unusable("there is no certificate".to_owned()));
    }
    // What is wrong with a key is not told in its own words.
    let key = PrivateKeyDer::from_pem_slice(pair.key.reveal().as_bytes())
        .map_err(|_| unusable("there is no private key".to_owned()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| unusable(error.to_string()))?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

async fn read(file: &Path) -> Result<String, ServeError> {
    let read = tokio::fs::read_to_string(file).await;
    read.map_err(|source| ServeError::TlsFile { file: file.to_owned(), source })
}
