//! Certificates: a certificate authority, the certificates that it issues, and the other secrets of a cluster.
//!
//! Every cluster gets new ones, which are stored only in the cluster's directory.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::CertificateDer;

/// A certificate and its key, in PEM.
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// The secrets of a cluster.
pub(crate) struct Certificates {
    /// The CA certificate that issued the server's and the administrator's certificates, in PEM.
    pub(crate) authority: String,
    /// The CA certificate, in DER.
    pub(crate) authority_der: CertificateDer<'static>,
    /// The server certificate, valid for the loopback address and the names of the `kubernetes` service.
    pub(crate) server: Identity,
    /// A client certificate in the group `system:masters`, which has all permissions.
    pub(crate) administrator: Identity,
    /// The private key that signs service account tokens, in PEM.
    pub(crate) service_account_key: String,
    /// The public key that verifies service account tokens, in PEM.
    pub(crate) service_account_public_key: String,
    /// A bearer token for the administrator.
    pub(crate) token: String,
}

impl Certificates {
    pub(crate) fn generate() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "watchkeeper-oracle");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let authority = params.self_signed(&key)?;
        let issuer = Issuer::new(params, key);

        let mut server = CertificateParams::new([
            "localhost".to_owned(),
            "kubernetes".to_owned(),
            "kubernetes.default".to_owned(),
            "kubernetes.default.svc".to_owned(),
        ])?;
        server.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        server.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);

        let mut administrator = CertificateParams::default();
        administrator.distinguished_name.push(DnType::CommonName, "admin");
        administrator.distinguished_name.push(DnType::OrganizationName, "system:masters");
        administrator.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);

        // The bytes of a new public key that is not used otherwise serve as a random token.
        let token =
            KeyPair::generate()?.public_key_raw()[1..33].iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}"); // writing to a String cannot fail
                hex
            });
        let service_account_key = KeyPair::generate()?;
        Ok(Self {
            authority: authority.pem(),
            authority_der: authority.der().clone(),
            server: Identity::signed_by(&issuer, &server)?,
            administrator: Identity::signed_by(&issuer, &administrator)?,
            service_account_public_key: service_account_key.public_key_pem(),
            service_account_key: service_account_key.serialize_pem(),
            token,
        })
    }
}

impl Identity {
    fn signed_by(issuer: &Issuer<'_, KeyPair>, params: &CertificateParams) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        Ok(Self { certificate: params.signed_by(&key, issuer)?.pem(), key: key.serialize_pem() })
    }
}
