//! What a plugin prints: an `ExecCredential`.

use std::time::{Duration, SystemTime};

use http::HeaderValue;
use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::yaml;

use super::super::{AuthError, PemIdentity, bearer};
use crate::Secret;
use crate::transport::check_identity;

/// What a plugin has given.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) header: Option<HeaderValue>,
    pub(super) identity: Option<PemIdentity>,
    /// `None` for never.
    pub(super) expires: Option<SystemTime>,
}

/// Reads JSON, or YAML, of exactly this version.
pub(super) fn read(output: &[u8], version: &str) -> Result<Issued, AuthError> {
    let credential = parse(output).ok_or_else(|| AuthError::new("has printed no ExecCredential"))?;
    let said = |name: &str| credential.get(name).and_then(Value::as_str).unwrap_or_default();
    if said("apiVersion") != version {
        return Err(AuthError::new(format!(
            "is configured for {version} and has printed {}",
            shown_version(said("apiVersion"))
        )));
    }
    if said("kind") != "ExecCredential" {
        return Err(AuthError::new("has printed no ExecCredential"));
    }
    let status = match credential.get("status") {
        None | Some(Value::Null) => return Err(AuthError::new("has printed no status")),
        Some(Value::Object(status)) => status,
        Some(_) => return Err(AuthError::new("has printed a status that is no object")),
    };
    let text = |name: &str| match status.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(AuthError::new(format!("has printed a status.{name} that is no text"))),
    };
    let (token, certificate, key) = (text("token")?, text("clientCertificateData")?, text("clientKeyData")?);
    let identity = match (certificate, key) {
        (None, None) if token.is_none() => {
            return Err(AuthError::new("has printed neither a token nor a certificate and its key"));
        }
        (None, None) => None,
        (Some(certificate), Some(key)) => {
            let identity = PemIdentity { certificate: certificate.to_owned(), key: key.into() };
            check_identity(&identity)
                .map_err(|error| AuthError::because("has printed a certificate that is none", error))?;
            Some(identity)
        }
        (Some(_), None) => return Err(AuthError::new("has printed a certificate without its key")),
        (None, Some(_)) => return Err(AuthError::new("has printed a key without its certificate")),
    };
    let unfit = |_| AuthError::new("has printed a token with characters that no header can have");
    let header = token.map(|token| bearer(&Secret::from(token))).transpose().map_err(unfit)?;
    let expires = text("expirationTimestamp")?.map(moment).transpose()?.flatten();
    Ok(Issued { header, identity, expires })
}

fn parse(output: &[u8]) -> Option<Value> {
    let value = serde_json::from_slice(output).ok().or_else(|| {
        let read = yaml::read(std::str::from_utf8(output).ok()?).ok()?;
        Some(Value::from(read.document))
    })?;
    value.is_object().then_some(value)
}

/// A version is shown only if it is one: it might be anything that a plugin prints (E2).
fn shown_version(text: &str) -> String {
    match text.strip_prefix("client.authentication.k8s.io/") {
        Some(version) if version.len() < 16 && version.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            text.to_owned()
        }
        _ => "another version".to_owned(),
    }
}

/// Go's zero moment stands for none.
fn moment(text: &str) -> Result<Option<SystemTime>, AuthError> {
    let unfit = || AuthError::new("has printed a status.expirationTimestamp that is no RFC 3339 time");
    let moment: Timestamp = text.parse().map_err(|_| unfit())?;
    if moment == Timestamp::GO_ZERO {
        return Ok(None);
    }
    let since = Duration::new(u64::try_from(moment.seconds).unwrap_or(0), moment.nanos);
    SystemTime::UNIX_EPOCH.checked_add(since).map(Some).ok_or_else(unfit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const V1: &str = "client.authentication.k8s.io/v1";

    fn refusal(status: &Value) -> String {
        let output = json!({"apiVersion": V1, "kind": "ExecCredential", "status": status});
        read(output.to_string().as_bytes(), V1).unwrap_err().what
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
    fn what_is_wrong_is_told_without_what_was_printed() {
        let ((certificate, key), (_, other_key)) = (pair(), pair());
        for (status, expected) in [
            (Value::Null, "has printed no status"),
            (json!("hunter2"), "has printed a status that is no object"),
            (json!({}), "has printed neither a token nor a certificate and its key"),
            (json!({"token": ""}), "has printed neither a token nor a certificate and its key"),
            (json!({"token": 1}), "has printed a status.token that is no text"),
            (json!({"token": "a\nb"}), "has printed a token with characters that no header can have"),
            (json!({"clientCertificateData": certificate}), "has printed a certificate without its key"),
            (json!({"clientKeyData": key}), "has printed a key without its certificate"),
            (
                json!({"clientCertificateData": "x", "clientKeyData": key}),
                "has printed a certificate that is none",
            ),
            (
                json!({"clientCertificateData": certificate, "clientKeyData": "hunter2"}),
                "has printed a certificate that is none",
            ),
            (
                json!({"clientCertificateData": certificate, "clientKeyData": other_key}),
                "has printed a certificate that is none",
            ),
            (
                json!({"token": "t", "expirationTimestamp": "tomorrow"}),
                "has printed a status.expirationTimestamp that is no RFC 3339 time",
            ),
        ] {
            assert_eq!(refusal(&status), expected, "{status}");
        }
        let beta = r#"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t"}}"#;
        assert_eq!(
            read(beta.as_bytes(), V1).unwrap_err().what,
            "is configured for client.authentication.k8s.io/v1 and has printed client.authentication.k8s.io/v1beta1"
        );
        for output in ["", "hunter2", "[]", r#"{"apiVersion": "hunter2"}"#] {
            let error = read(output.as_bytes(), V1).unwrap_err().what;
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_zero_moment_never_comes_and_one_before_1970_has_been() {
        assert_eq!(moment("0001-01-01T00:00:00Z").unwrap(), None);
        assert_eq!(moment("1960-01-01T00:00:00Z").unwrap(), Some(SystemTime::UNIX_EPOCH));
        assert!(moment("9999-12-31T23:59:59.999999999Z").unwrap() > Some(SystemTime::now()));
    }

    proptest! {
        #[test]
        fn no_output_makes_the_reader_panic_or_talk(output in any::<Vec<u8>>()) {
            if let Err(error) = read(&output, V1) {
                let text = String::from_utf8_lossy(&output);
                prop_assert!(text.len() < 40 || !error.what.contains(&*text));
            }
        }

        #[test]
        fn no_status_makes_the_reader_panic_or_talk(
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
