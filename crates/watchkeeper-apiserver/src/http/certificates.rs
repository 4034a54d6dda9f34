//! Certificates: a certificate authority, and the certificates it signs.
//!
//! Input: [`Authority::generate`], or the stored identity of an earlier authority.
//! Output: a [`Listener`](crate::http::Listener), which serves TLS and verifies clients with it;
//! [`kubeconfig`](crate::http::Kubeconfig), which distributes it to clients.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::random::{hex, sha256};

/// The names in every server certificate, in addition to those the caller adds.
pub const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// The maximum number of groups in a client certificate issued here; certificates of others may name more.
pub const CLIENT_GROUPS: usize = 2;

/// The application protocols of a server, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// An error from creating or using certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A name is invalid, or the system cannot provide random numbers.
    #[error("failed to generate a certificate")]
    Generate(#[from] rcgen::Error),
    /// The TLS library rejects the certificate or its key.
    #[error("failed to configure TLS")]
    Serve(#[from] rustls::Error),
    /// The TLS library cannot verify clients with this authority.
    #[error("failed to configure client verification")]
    Verify(#[from] rustls::server::VerifierBuilderError),
    /// The client certificate would have too many groups.
    #[error("a client certificate can have at most {CLIENT_GROUPS} groups")]
    TooManyGroups,
    /// The PEM text is invalid.
    #[error("invalid certificate")]
    Read(#[from] rustls::pki_types::pem::Error),
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// Omits the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate authority that signs certificates for the server and for clients.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A time at which all certificates generated here are valid, since 1970.
const SOME_DAY: Duration = Duration::from_secs(1_794_733_200);

impl Authority {
    /// Generates a new authority.
    ///
    /// # Errors
    /// Fails if the system cannot provide random numbers.
    pub fn generate() -> Result<Self, CertificateError> {
        let (params, key) = (Self::params(), KeyPair::generate()?);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// Restores an authority from [`identity`](Self::identity), regardless of the current time. Certificates signed
    /// before and after are trusted alike.
    ///
    /// # Errors
    /// Fails if this is not an authority generated here, or if certificate and key do not match.
    pub fn restore(kept: &Identity) -> Result<Self, CertificateError> {
        let issuer = Issuer::new(Self::params(), KeyPair::from_pem(&kept.key)?);
        let authority = Self { certificate: kept.certificate.clone(), issuer };
        let vouched = CertificateDer::from_pem_slice(authority.sign_server(&[])?.certificate.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let name = ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
        WebPkiServerVerifier::builder_with_provider(Arc::new(authority.roots()?), provider)
            .build()?
            .verify_server_cert(&vouched, &[], &name, &[], UnixTime::since_unix_epoch(SOME_DAY))?;
        Ok(authority)
    }

    /// Returns the certificate and key, from which the authority can be [restored](Self::restore).
    pub fn identity(&self) -> Identity {
        Identity { certificate: self.certificate.clone(), key: self.issuer.key().serialize_pem() }
    }

    /// Returns the certificate parameters of every authority.
    fn params() -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "watchkeeper-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        params
    }

    fn roots(&self) -> Result<RootCertStore, CertificateError> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.certificate.as_bytes())?)?;
        Ok(roots)
    }

    /// Returns the certificate in PEM. Clients that trust it trust the server.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Signs a certificate for a server on loopback with [`SERVER_NAMES`] and these additional names and addresses.
    ///
    /// # Errors
    /// Fails if one of them is neither a DNS name nor an address.
    pub fn sign_server(&self, names: &[String]) -> Result<Identity, CertificateError> {
        let all: Vec<String> =
            SERVER_NAMES.iter().map(|name| (*name).to_owned()).chain(names.iter().cloned()).collect();
        let mut params = CertificateParams::new(all)?; // detects which ones are addresses
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            params.subject_alt_names.push(SanType::IpAddress(address));
        }
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        self.sign(&params)
    }

    /// Signs a client certificate for a user with this name and these groups.
    ///
    /// # Errors
    /// Fails if there are more than [`CLIENT_GROUPS`], or if the system cannot provide random numbers.
    pub fn sign_client(&self, name: &str, groups: &[&str]) -> Result<Identity, CertificateError> {
        let mut params = CertificateParams::default();
        // rcgen keeps one value per attribute type, but has two ways to spell this one.
        let types = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
        debug_assert_eq!(types.len(), CLIENT_GROUPS);
        if groups.len() > types.len() {
            return Err(CertificateError::TooManyGroups);
        }
        params.distinguished_name.push(DnType::CommonName, name);
        for (attribute, group) in types.into_iter().zip(groups) {
            params.distinguished_name.push(attribute, *group);
        }
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Identity, CertificateError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    /// Returns a TLS configuration that serves `server` over HTTP/2 or HTTP/1.1 and verifies client certificates of
    /// this authority. Clients without a certificate are accepted, and can authenticate in another way.
    ///
    /// # Errors
    /// Fails if the TLS library rejects the identity.
    pub fn serve(&self, server: &Identity) -> Result<Arc<ServerConfig>, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(self.roots()?), provider.clone())
            .allow_unauthenticated()
            .build()?;
        let chain = vec![CertificateDer::from_pem_slice(server.certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes())?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Arc::new(config))
    }
}

/// The subject of a client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The name of the user.
    pub common_name: String,
    /// The groups of the user.
    pub organizations: Vec<String>,
    /// The SHA-256 of the certificate, in hexadecimal.
    pub fingerprint: String,
}

impl Subject {
    /// Reads the subject of a certificate; returns `None` if the bytes are not a certificate.
    pub fn read(certificate: &[u8]) -> Option<Self> {
        let mut subject = Self {
            common_name: String::new(),
            organizations: Vec::new(),
            fingerprint: hex(&sha256(certificate)),
        };
        // Certificate { tbs { [0] version, serial, algorithm, issuer, validity, subject, ... }, ... }
        let mut outer = Der(certificate).expect(SEQUENCE)?;
        let mut fields = outer.expect(SEQUENCE)?;
        let (tag, _) = fields.next()?;
        if tag == VERSION {
            fields.expect(INTEGER)?;
        }
        for _algorithm_issuer_validity in 0..3 {
            fields.expect(SEQUENCE)?;
        }
        let mut names = fields.expect(SEQUENCE)?;
        while !names.0.is_empty() {
            let mut set = names.expect(SET)?;
            while !set.0.is_empty() {
                let mut pair = set.expect(SEQUENCE)?;
                let oid = pair.expect(OBJECT_IDENTIFIER)?.0;
                let (tag, value) = pair.next()?;
                let text = match tag {
                    UTF8_STRING | PRINTABLE_STRING | TELETEX_STRING | IA5_STRING => {
                        String::from_utf8_lossy(value.0).into_owned()
                    }
                    _ => continue,
                };
                match oid {
                    COMMON_NAME => subject.common_name = text,
                    ORGANIZATION => subject.organizations.push(text),
                    _ => {}
                }
            }
        }
        Some(subject)
    }
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const VERSION: u8 = 0xa0;
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];

/// The unread rest of DER-encoded bytes.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Returns the next tag and value.
    fn next(&mut self) -> Option<(u8, Der<'a>)> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x84 => {
                let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
            }
            _ => return None, // indefinite length, or longer than 4 GiB
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, Der(value)))
    }

    fn expect(&mut self, tag: u8) -> Option<Der<'a>> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(identity: &Identity) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()
    }

    #[test]
    fn a_client_certificate_carries_the_name_and_groups() {
        let authority = Authority::generate().unwrap();
        let identity = authority.sign_client("jane", &["dev", "ops"]).unwrap();
        let subject = Subject::read(&der(&identity)).unwrap();
        assert_eq!(
            (subject.common_name.as_str(), subject.organizations),
            ("jane", vec!["dev".into(), "ops".into()])
        );
        assert_eq!(subject.fingerprint.len(), 64);
        assert!(authority.sign_client("jane", &["a", "b", "c"]).is_err());
    }

    #[test]
    fn a_restored_authority_signs_as_before_and_rejects_another_key() {
        let (first, other) = (Authority::generate().unwrap(), Authority::generate().unwrap());
        let restored = Authority::restore(&first.identity()).unwrap();
        assert_eq!(restored.certificate(), first.certificate());
        restored.serve(&restored.sign_server(&[]).unwrap()).unwrap();
        for (certificate, key) in [
            (first.certificate(), other.identity().key.as_str()),
            (other.certificate(), first.identity().key.as_str()),
            (first.certificate(), "no key"),
            ("no certificate", first.identity().key.as_str()),
        ] {
            let kept = Identity { certificate: certificate.to_owned(), key: key.to_owned() };
            assert!(Authority::restore(&kept).is_err(), "{certificate}");
        }
    }

    #[test]
    fn reading_a_subject_never_panics() {
        let authority = Authority::generate().unwrap();
        let whole = der(&authority.sign_client("jane", &["dev"]).unwrap());
        for end in 0..whole.len() {
            let _ = Subject::read(&whole[..end]);
            let mut changed = whole.to_vec();
            changed[end] ^= 0xff;
            let _ = Subject::read(&changed);
        }
    }

    #[test]
    fn a_server_certificate_has_the_given_names() {
        let authority = Authority::generate().unwrap();
        let names = ["example.com".to_owned(), "10.0.0.1".to_owned()];
        let identity = authority.sign_server(&names).unwrap();
        let bytes = der(&identity);
        for name in [b"example.com".as_slice(), b"kubernetes.default.svc", &[10, 0, 0, 1], &[127, 0, 0, 1]] {
            assert!(bytes.windows(name.len()).any(|window| window == name), "{name:?}");
        }
        authority.serve(&identity).unwrap();
    }

    #[test]
    fn debug_output_has_no_keys() {
        let identity = Authority::generate().unwrap().sign_client("x", &[]).unwrap();
        assert!(!format!("{identity:?}").contains("PRIVATE"));
    }
}
