//! TLS configuration: certificate authorities and client certificate.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore};
use watchkeeper_tls::AcceptAnyCertificate;

use super::ConnectError;
use crate::Config;
use crate::auth::{Credentials, PemIdentity, StaticCredentials};
use crate::config::{Authorities, ClientCertificate};
use crate::metrics::{CaReload, Metrics, NoMetrics};
use crate::reload::CertReloader;

/// A builder of TLS configurations. Certificate files are reread for every connection.
#[derive(Debug)]
pub(super) struct Tls {
    authorities: Authorities,
    certificate: Option<ClientCertificate>,
    credentials: Arc<dyn Credentials>,
    metrics: Arc<dyn Metrics>,
    /// Whether the system's root certificates are trusted too.
    include_system_roots: bool,
    built: CertReloader<Materials, Built>,
}

/// A TLS configuration.
#[derive(Debug)]
pub(super) struct Built {
    config: Arc<ClientConfig>,
}

/// The PEM texts that a configuration is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Materials {
    authorities: Option<String>,
    identity: Option<PemIdentity>,
}

impl Built {
    /// Returns the configuration with these ALPN protocols.
    pub(super) fn config(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}

impl Tls {
    pub(super) fn new(config: &Config, credentials: Arc<dyn Credentials>) -> Self {
        Self {
            authorities: config.authorities.clone(),
            certificate: config.certificate.clone(),
            credentials,
            metrics: config.metrics.clone(),
            include_system_roots: false,
            built: CertReloader::default(),
        }
    }

    /// Creates the configuration for proxies. It trusts the server's authorities, as in Go, and the system's, and has
    /// no client certificate.
    pub(super) fn for_proxy(authorities: Authorities) -> Self {
        Self {
            authorities,
            certificate: None,
            credentials: Arc::new(StaticCredentials::none()),
            metrics: Arc::new(NoMetrics),
            include_system_roots: true,
            built: CertReloader::default(),
        }
    }

    /// Returns the current configuration. If a file has become unreadable or invalid, the last valid content is used.
    pub(super) async fn current(&self) -> Result<Arc<Built>, ConnectError> {
        let last = self.built.last();
        let found = self.materials(last.as_ref().map(|(materials, _)| &**materials)).await;
        self.built.current(found, |materials| async move { self.build(&materials).await }).await
    }

    async fn materials(&self, known: Option<&Materials>) -> Result<Materials, ConnectError> {
        let authorities = match &self.authorities {
            Authorities::System | Authorities::SkipVerify => None,
            Authorities::Pem(pem) => Some(pem.clone()),
            Authorities::File(file) => {
                let pem = read(file, "certificate authority").await;
                if let Some(known) = known {
                    self.metrics.ca_reload(reload(known, pem.as_deref().ok()));
                }
                Some(pem?)
            }
        };
        let identity = match &self.certificate {
            Some(ClientCertificate::Pem { certificate, key }) => {
                Some(PemIdentity { certificate: certificate.clone(), key: key.clone() })
            }
            Some(ClientCertificate::Files { certificate, key }) => Some(PemIdentity {
                certificate: read(certificate, "client certificate").await?,
                key: read(key, "client key").await?.into(),
            }),
            None => self.credentials.certificate().await?,
        };
        Ok(Materials { authorities, identity })
    }

    async fn build(&self, materials: &Materials) -> Result<Built, ConnectError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(format!("failed to set up TLS: {error}")))?;
        let builder = match (&self.authorities, &materials.authorities) {
            (Authorities::SkipVerify, _) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate::new(provider))),
            (_, Some(pem)) => {
                let mut roots = roots(pem)?;
                if self.include_system_roots {
                    roots.roots.extend(system_roots().await?.roots);
                }
                builder.with_root_certificates(roots)
            }
            (_, None) => builder.with_root_certificates(system_roots().await?),
        };
        let config = match &materials.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = parse(identity)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| mismatched(&error))?
            }
        };
        Ok(Built { config: Arc::new(config) })
    }
}

/// Classifies the result of rereading the authorities file.
fn reload(known: &Materials, pem: Option<&str>) -> CaReload {
    match pem {
        None => CaReload::Unreadable,
        Some("") => CaReload::Empty,
        Some(pem) if known.authorities.as_deref() == Some(pem) => CaReload::Unchanged,
        Some(pem) if roots(pem).is_err() => CaReload::Unparsable,
        Some(_) => CaReload::Updated,
    }
}

/// Checks that a certificate and its key are valid and match.
pub(crate) fn check(identity: &PemIdentity) -> Result<(), ConnectError> {
    let (chain, key) = parse(identity)?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(|error| mismatched(&error))?;
    Ok(())
}

fn mismatched(error: &rustls::Error) -> ConnectError {
    unusable(format!("client certificate: {error}"))
}

fn unusable(what: String) -> ConnectError {
    ConnectError::Certificates { what }
}

async fn read(file: &Path, what: &str) -> Result<String, ConnectError> {
    let read = tokio::fs::read_to_string(file).await;
    read.map_err(|error: io::Error| unusable(format!("{what} {}: {error}", file.display())))
}

fn roots(pem: &str) -> Result<RootCertStore, ConnectError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate =
            certificate.map_err(|error| unusable(format!("certificate authority: {error:?}")))?;
        roots.add(certificate).map_err(|error| unusable(format!("certificate authority: {error}")))?;
    }
    if roots.is_empty() {
        return Err(unusable("certificate authority: no certificate found".to_owned()));
    }
    Ok(roots)
}

async fn system_roots() -> Result<RootCertStore, ConnectError> {
    let loaded = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let loaded = loaded.map_err(|error| unusable(format!("system certificates: {error}")))?;
    if loaded.certs.is_empty() {
        // A handshake that needs them will fail with an unknown issuer.
        tracing::warn!(errors = ?loaded.errors, "no system certificates found; TLS handshakes may fail");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(loaded.certs);
    Ok(roots)
}

fn parse(
    identity: &PemIdentity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConnectError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| unusable(format!("client certificate: {error:?}")))?;
    if chain.is_empty() {
        return Err(unusable("client certificate: no certificate found".to_owned()));
    }
    // The parser's error might quote the key.
    let key = PrivateKeyDer::from_pem_slice(identity.key.reveal().as_bytes())
        .map_err(|_| unusable("client key: no private key found".to_owned()))?;
    Ok((chain, key))
}

/// Parses the name expected in the server's certificate.
pub(super) fn server_name(name: &str) -> Option<ServerName<'static>> {
    let plain = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    ServerName::try_from(plain.to_owned()).ok()
}
