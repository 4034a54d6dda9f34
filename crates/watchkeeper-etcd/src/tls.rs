//! TLS: trusted authorities and the client certificate.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::builder::BuildError;

/// TLS settings for `https` endpoints.
///
/// ```no_run
/// use watchkeeper_etcd::Tls;
///
/// # fn main() -> std::io::Result<()> {
/// let read = |name: &str| std::fs::read_to_string(name);
/// let tls = Tls::default()
///     .authorities(read("ca.pem")?)
///     .certificate(read("client.pem")?, read("client.key")?);
/// # let _ = tls;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Tls {
    authorities: Option<String>,
    /// Certificate and key.
    identity: Option<(String, String)>,
    server_name: Option<String>,
}

impl Tls {
    /// Sets the trusted certificate authorities, in PEM; the system's by default.
    #[must_use]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        self.authorities = Some(pem.into());
        self
    }

    /// Sets the client certificate with its chain, and its key, in PEM; none by default.
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// Sets the expected server name; the host of the endpoint by default.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    pub(crate) fn name<'a>(&'a self, host: &'a str) -> &'a str {
        self.server_name.as_deref().unwrap_or(host)
    }

    pub(crate) fn build(&self) -> Result<Arc<ClientConfig>, BuildError> {
        let invalid = |what: &str, why: &dyn fmt::Display| BuildError::Certificates(format!("{what}: {why}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid("unsupported", &error))?;
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            None => {
                let loaded = rustls_native_certs::load_native_certs();
                if loaded.certs.is_empty() {
                    // The handshake will fail with an unknown issuer.
                    tracing::warn!(errors = ?loaded.errors, "no system certificates found; TLS handshakes will fail");
                }
                roots.add_parsable_certificates(loaded.certs);
            }
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                    let certificate = certificate.map_err(|error| invalid("authorities", &error))?;
                    roots.add(certificate).map_err(|error| invalid("authorities", &error))?;
                }
                if roots.is_empty() {
                    return Err(invalid("authorities", &"no certificate found"));
                }
            }
        }
        let builder = builder.with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain: Result<Vec<_>, _> =
                    CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
                let chain = chain.map_err(|error| invalid("certificate", &error))?;
                // The parser's error could quote the key.
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
                    .map_err(|_| invalid("key", &"no private key found"))?;
                builder.with_client_auth_cert(chain, key).map_err(|error| invalid("certificate", &error))?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Omits the key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("has_authorities", &self.authorities.is_some())
            .field("has_certificate", &self.identity.is_some())
            .field("server_name", &self.server_name)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_certificates_and_keys_are_rejected_without_quoting_them() {
        let broken = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n";
        for tls in [
            Tls::default().authorities(""),
            Tls::default().authorities(broken),
            Tls::default().authorities("").certificate(broken, "s3cret"),
        ] {
            let error = tls.build().unwrap_err().to_string();
            assert!(error.contains("authorities"), "{error}");
        }
        let tls = Tls::default().certificate("", "s3cret");
        let error = tls.build().unwrap_err();
        assert!(format!("{error:?}").contains("no private key found"), "{error:?}");
        assert!(!format!("{error:?} {tls:?}").contains("s3cret"));
    }
}
