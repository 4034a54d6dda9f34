//! TLS: whom we believe, and who we are.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::builder::BuildError;

/// How to speak TLS with endpoints that begin with `https`.
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
    /// Certificates of those who may vouch for the server, in PEM. By default those that this machine trusts.
    #[must_use]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        self.authorities = Some(pem.into());
        self
    }

    /// Our certificate, with those that lead from it to an authority, and its key, in PEM. By default none.
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The name that the server must have. By default the host of the endpoint.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    pub(crate) fn name<'a>(&'a self, host: &'a str) -> &'a str {
        self.server_name.as_deref().unwrap_or(host)
    }

    pub(crate) fn build(&self) -> Result<Arc<ClientConfig>, BuildError> {
        let unusable =
            |what: &str, why: &dyn fmt::Display| BuildError::Certificates(format!("{what}: {why}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("TLS cannot be set up", &error))?;
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                    let certificate = certificate.map_err(|error| unusable("authorities", &error))?;
                    roots.add(certificate).map_err(|error| unusable("authorities", &error))?;
                }
                if roots.is_empty() {
                    return Err(unusable("authorities", &"there is no certificate in it"));
                }
            }
        }
        let builder = builder.with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain: Result<Vec<_>, _> =
                    CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
                let chain = chain.map_err(|error| unusable("certificate", &error))?;
                // What is wrong with a key is not told in its own words.
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
                    .map_err(|_| unusable("key", &"there is no private key in it"))?;
                builder.with_client_auth_cert(chain, key).map_err(|error| unusable("certificate", &error))?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Shows no key.
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
    fn what_is_no_certificate_or_no_key_is_refused_without_showing_it() {
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
        assert!(format!("{error:?}").contains("there is no private key"), "{error:?}");
        assert!(!format!("{error:?} {tls:?}").contains("s3cret"));
    }
}
