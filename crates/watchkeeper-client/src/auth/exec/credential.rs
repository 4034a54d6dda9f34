//! Parser for a plugin's output, an `ExecCredential`.

use std::time::{Duration, SystemTime};

use http::HeaderValue;
use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::yaml;

use super::super::{AuthError, PemIdentity, bearer};
use crate::Secret;
use crate::transport::check_identity;

/// The credentials issued by a plugin.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) header: Option<HeaderValue>,
    pub(super) identity: Option<PemIdentity>,
    /// `None` if they never expire.
    pub(super) expires: Option<SystemTime>,
}

/// Parses an `ExecCredential` of exactly this version, as JSON or YAML.
pub(super) fn read(output: &[u8], version: &str) -> Result<Issued, AuthError> {
    let credential = parse(output).ok_or_else(|| AuthError::new("output is not an ExecCredential"))?;
    let field = |name: &str| credential.get(name).and_then(Value::as_str).unwrap_or_default();
    if field("apiVersion") != version {
        return Err(AuthError::new(format!(
            "configured for {version}, but printed {}",
            display_version(field("apiVersion"))
        )));
    }
    if field("kind") != "ExecCredential" {
        return Err(AuthError::new("output is not an ExecCredential"));
    }
    let status = match credential.get("status") {
        None | Some(Value::Null) => return Err(AuthError::new("ExecCredential has no status")),
        Some(Value::Object(status)) => status,
        Some(_) => return Err(AuthError::new("status is not an object")),
    };
    let text = |name: &str| match status.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(AuthError::new(format!("status.{name} is not a string"))),
    };
    let (token, certificate, key) = (text("token")?, text("clientCertificateData")?, text("clientKeyData")?);
    let identity = match (certificate, key) {
        (None, None) if token.is_none() => {
            return Err(AuthError::new("status has neither a token nor a client certificate and key"));
        }
        (None, None) => None,
        (Some(certificate), Some(key)) => {
            let identity = PemIdentity { certificate: certificate.to_owned(), key: key.into() };
            check_identity(&identity)
                .map_err(|error| AuthError::with_source("invalid client certificate or key", error))?;
            Some(identity)
        }
        (Some(_), None) => return Err(AuthError::new("status has a client certificate without a key")),
        (None, Some(_)) => return Err(AuthError::new("status has a client key without a certificate")),
    };
    let invalid = |_| AuthError::new("token contains characters not allowed in a header");
    let header = token.map(|token| bearer(&Secret::from(token))).transpose().map_err(invalid)?;
    let expires = text("expirationTimestamp")?.map(parse_expiry).transpose()?.flatten();
    Ok(Issued { header, identity, expires })
}

fn parse(output: &[u8]) -> Option<Value> {
    let value = serde_json::from_slice(output).ok().or_else(|| {
        let read = yaml::read(std::str::from_utf8(output).ok()?).ok()?;
        Some(Value::from(read.document))
    })?;
    value.is_object().then_some(value)
}

/// Shows a version only if it looks like one: other output may be secret (`exec.E2`).
fn display_version(text: &str) -> String {
    match text.strip_prefix("client.authentication.k8s.io/") {
        Some(version) if version.len() < 16 && version.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            text.to_owned()
        }
        _ => "another version".to_owned(),
    }
}

/// Parses the time of expiry. Go's zero time means "never expires".
fn parse_expiry(text: &str) -> Result<Option<SystemTime>, AuthError> {
    let invalid = || AuthError::new("status.expirationTimestamp is not an RFC 3339 time");
    let time: Timestamp = text.parse().map_err(|_| invalid())?;
    if time == Timestamp::GO_ZERO {
        return Ok(None);
    }
    let since = Duration::new(u64::try_from(time.seconds).unwrap_or(0), time.nanos);
    SystemTime::UNIX_EPOCH.checked_add(since).map(Some).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const V1: &str = "client.authentication.k8s.io/v1";

    fn error_for(status: &Value) -> String {
        let output = json!({"apiVersion": V1, "kind": "ExecCredential", "status": status});
        read(output.to_string().as_bytes(), V1).unwrap_err().message
    }

    fn pair() -> (String, String) {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    #[test]
    fn a_token_and_a_certificate_are_read_from_json_and_yaml() {
        let (certificate, key) = pair();
        let output = json!({"apiVersion": V1, "kind": "ExecCredential", "status": {
            "token": "hunter2", "clientCertificateData": certificate, "clientKeyData": key,
            "expirationTimestamp": "1970-01-01T01:00:05+01:00"}});
        for text in [output.to_string(), yaml::write(&output)] {
            let issued = read(text.as_bytes(), V1).unwrap();
            assert_eq!(issued.header.as_ref().unwrap(), "Bearer hunter2");
            assert_eq!(issued.identity.as_ref().unwrap().certificate, certificate);
            assert_eq!(issued.expires, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(5)));
            let shown = format!("{issued:?}");
            assert!(!shown.contains("hunter2") && !shown.contains("PRIVATE"), "{shown}");
        }
    }

    #[test]
    fn errors_do_not_quote_the_output() {
        let ((certificate, key), (_, other_key)) = (pair(), pair());
        for (status, expected) in [
            (Value::Null, "ExecCredential has no status"),
            (json!("hunter2"), "status is not an object"),
            (json!({}), "status has neither a token nor a client certificate and key"),
            (json!({"token": ""}), "status has neither a token nor a client certificate and key"),
            (json!({"token": 1}), "status.token is not a string"),
            (json!({"token": "a\nb"}), "token contains characters not allowed in a header"),
            (json!({"clientCertificateData": certificate}), "status has a client certificate without a key"),
            (json!({"clientKeyData": key}), "status has a client key without a certificate"),
            (
                json!({"clientCertificateData": "x", "clientKeyData": key}),
                "invalid client certificate or key",
            ),
            (
                json!({"clientCertificateData": certificate, "clientKeyData": "hunter2"}),
                "invalid client certificate or key",
            ),
            (
                json!({"clientCertificateData": certificate, "clientKeyData": other_key}),
                "invalid client certificate or key",
            ),
            (
                json!({"token": "t", "expirationTimestamp": "tomorrow"}),
                "status.expirationTimestamp is not an RFC 3339 time",
            ),
        ] {
            assert_eq!(error_for(&status), expected, "{status}");
        }
        let beta = r#"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t"}}"#;
        assert_eq!(
            read(beta.as_bytes(), V1).unwrap_err().message,
            "configured for client.authentication.k8s.io/v1, but printed client.authentication.k8s.io/v1beta1"
        );
        for output in ["", "hunter2", "[]", r#"{"apiVersion": "hunter2"}"#] {
            let error = read(output.as_bytes(), V1).unwrap_err().message;
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn gos_zero_time_means_never_and_a_time_before_1970_has_passed() {
        assert_eq!(parse_expiry("0001-01-01T00:00:00Z").unwrap(), None);
        assert_eq!(parse_expiry("1960-01-01T00:00:00Z").unwrap(), Some(SystemTime::UNIX_EPOCH));
        assert!(parse_expiry("9999-12-31T23:59:59.999999999Z").unwrap() > Some(SystemTime::now()));
    }

    proptest! {
        #[test]
        fn no_output_panics_or_leaks_into_the_error(output in any::<Vec<u8>>()) {
            if let Err(error) = read(&output, V1) {
                let text = String::from_utf8_lossy(&output);
                prop_assert!(text.len() < 40 || !error.message.contains(&*text));
            }
        }

        #[test]
        fn no_status_panics_or_leaks_into_the_error(
            field in "token|clientCertificateData|clientKeyData|expirationTimestamp",
            secret in "hunter2[ -~\u{0}\u{e9}]{0,20}",
            broken in 0_usize..200,
        ) {
            let output = json!({"apiVersion": V1, "kind": "ExecCredential", "status": {field: secret}}).to_string();
            let cut: String = output.chars().take(output.len().saturating_sub(broken)).collect();
            for text in [output, cut] {
                let shown = format!("{:?}", read(text.as_bytes(), V1));
                prop_assert!(!shown.contains("hunter2"), "{}", shown);
            }
        }
    }
}
