//! Certificates: an authority of the server's own, and what it vouches for.
//!
//! From: [`Authority::generate`], or what was kept of one that was made before.
//! To:   a [`Listener`](crate::http::Listener), which serves by it and knows clients by it;
//!       [`kubeconfig`](crate::http::Kubeconfig), which carries it to the clients.

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

/// The names that a server is known by, besides those that its owner adds.
pub const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// How many groups a client certificate that is made here can name; others may name more.
pub const CLIENT_GROUPS: usize = 2;

/// The application protocols that a server speaks, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A certificate could not be made: a name is none, or the system has no random numbers.
    #[error("the certificate could not be made")]
    Generate(#[from] rcgen::Error),
    /// The TLS library does not take what was made.
    #[error("the certificates cannot be served")]
    Serve(#[from] rustls::Error),
    /// The TLS library cannot tell clients by the authority.
    #[error("clients cannot be verified")]
    Verify(#[from] rustls::server::VerifierBuilderError),
    /// A client certificate cannot name so many groups.
    #[error("a client certificate names at most {CLIENT_GROUPS} groups")]
    TooManyGroups,
    /// What was made does not read back.
    #[error("the certificate cannot be read")]
    Read(#[from] rustls::pki_types::pem::Error),
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The key. Whoever has it is whom the certificate names.
    pub key: String,
}

/// Does not show the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// An authority: it vouches for the server, and for clients.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A day, counted from 1970, on which whatever is made here is valid.
const SOME_DAY: Duration = Duration::from_secs(1_794_733_200);

impl Authority {
    /// Makes a new one, which nobody trusts yet.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn generate() -> Result<Self, CertificateError> {
        let (params, key) = (Self::params(), KeyPair::generate()?);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// One that was made here before, whatever the clock shows: what it vouched for and what it will vouch for are trusted alike.
    ///
    /// # Errors
    /// Where that is no authority that was made here, or the key is that of another.
    pub fn restore(kept: &Identity) -> Result<Self, CertificateError> {
        let issuer = Issuer::new(Self::params(), KeyPair::from_pem(&kept.key)?);
        let authority = Self { certificate: kept.certificate.clone(), issuer };
        let vouched =
            CertificateDer::from_pem_slice(authority.vouch_for_server(&[])?.certificate.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let name = ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
        WebPkiServerVerifier::builder_with_provider(Arc::new(authority.roots()?), provider)
            .build()?
            .verify_server_cert(&vouched, &[], &name, &[], UnixTime::since_unix_epoch(SOME_DAY))?;
        Ok(authority)
    }

    /// What of it is to be kept, to [restore](Self::restore) it from.
    pub fn identity(&self) -> Identity {
        Identity { certificate: self.certificate.clone(), key: self.issuer.key().serialize_pem() }
    }

    /// What every authority is, but for its key.
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

    /// Its certificate, in PEM: who trusts it trusts the server.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Vouches for a server on loopback, under [`SERVER_NAMES`], and under these names and addresses.
    ///
    /// # Errors
    /// Where one of them is neither a DNS name nor an address.
    pub fn vouch_for_server(&self, names: &[String]) -> Result<Identity, CertificateError> {
        let all: Vec<String> =
            SERVER_NAMES.iter().map(|name| (*name).to_owned()).chain(names.iter().cloned()).collect();
        let mut params = CertificateParams::new(all)?; // it finds out which ones are addresses
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            params.subject_alt_names.push(SanType::IpAddress(address));
        }
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        self.sign(&params)
    }

    /// Vouches for a client: the server will know it by this name and these groups.
    ///
    /// # Errors
    /// Where there are more than [`CLIENT_GROUPS`], or the system has no random numbers.
    pub fn vouch_for_client(&self, name: &str, groups: &[&str]) -> Result<Identity, CertificateError> {
        let mut params = CertificateParams::default();
        // rcgen keeps one value of each sort, and has two ways to write this one.
        let sorts = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
        debug_assert_eq!(sorts.len(), CLIENT_GROUPS);
        if groups.len() > sorts.len() {
            return Err(CertificateError::TooManyGroups);
        }
        params.distinguished_name.push(DnType::CommonName, name);
        for (sort, group) in sorts.into_iter().zip(groups) {
            params.distinguished_name.push(sort, *group);
        }
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Identity, CertificateError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    /// Serves as `server`, over HTTP/2 or HTTP/1.1, and knows the clients that the authority vouches for.
    /// Clients without a certificate are let in, to say otherwise who they are.
    ///
    /// # Errors
    /// Where the identity cannot be served.
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

/// Whom a certificate names.
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
    /// Reads the subject of a certificate; `None` where the bytes are no certificate.
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

/// Bytes in DER, as far as they have not been read.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value and its tag.
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
            _ => return None, // without a length, or longer than anything
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
    fn a_client_is_known_by_its_name_and_groups() {
        let authority = Authority::generate().unwrap();
        let identity = authority.vouch_for_client("jane", &["dev", "ops"]).unwrap();
        let subject = Subject::read(&der(&identity)).unwrap();
        assert_eq!(
            (subject.common_name.as_str(), subject.organizations),
            ("jane", vec!["dev".into(), "ops".into()])
        );
        assert_eq!(subject.fingerprint.len(), 64);
        assert!(authority.vouch_for_client("jane", &["a", "b", "c"]).is_err());
    }

    #[test]
    fn an_authority_that_is_restored_vouches_as_before_and_with_the_key_of_another_it_is_none() {
        let (first, other) = (Authority::generate().unwrap(), Authority::generate().unwrap());
        let restored = Authority::restore(&first.identity()).unwrap();
        assert_eq!(restored.certificate(), first.certificate());
        restored.serve(&restored.vouch_for_server(&[]).unwrap()).unwrap();
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
    fn no_bytes_make_a_subject_panic() {
        let authority = Authority::generate().unwrap();
        let whole = der(&authority.vouch_for_client("jane", &["dev"]).unwrap());
        for end in 0..whole.len() {
            let _ = Subject::read(&whole[..end]);
            let mut changed = whole.to_vec();
            changed[end] ^= 0xff;
            let _ = Subject::read(&changed);
        }
    }

    #[test]
    fn a_server_has_the_names_that_it_is_given() {
        let authority = Authority::generate().unwrap();
        let names = ["example.com".to_owned(), "10.0.0.1".to_owned()];
        let identity = authority.vouch_for_server(&names).unwrap();
        let bytes = der(&identity);
        for name in [b"example.com".as_slice(), b"kubernetes.default.svc", &[10, 0, 0, 1], &[127, 0, 0, 1]] {
            assert!(bytes.windows(name.len()).any(|window| window == name), "{name:?}");
        }
        authority.serve(&identity).unwrap();
    }

    #[test]
    fn debugging_tells_no_keys() {
        let identity = Authority::generate().unwrap().vouch_for_client("x", &[]).unwrap();
        assert!(!format!("{identity:?}").contains("PRIVATE"));
    }
}
