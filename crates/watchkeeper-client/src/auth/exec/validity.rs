//! Validity period of an X.509 certificate.

use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use watchkeeper_core::Timestamp;

/// The validity period of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) not_before: SystemTime,
    pub(super) not_after: SystemTime,
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// Reads the first certificate in `pem`; `None` if it cannot be parsed.
    pub(super) fn of(pem: &str) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let (_, certificate, _) = element(&der)?;
        let (_, mut fields, _) = element(certificate)?;
        // [version], serial number, algorithm, issuer, validity: RFC 5280, section 4.1.
        for (expected, may_be_absent) in
            [(VERSION, true), (INTEGER, false), (SEQUENCE, false), (SEQUENCE, false)]
        {
            match element(fields)? {
                (tag, _, rest) if tag == expected => fields = rest,
                _ if may_be_absent => {}
                _ => return None,
            }
        }
        let (SEQUENCE, validity, _) = element(fields)? else { return None };
        let (not_before, rest) = time(validity)?;
        let (not_after, _) = time(rest)?;
        Some(Self { not_before, not_after })
    }
}

/// Splits off the first DER element: its tag, its content, and the bytes after it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Splits off a time: `YYMMDDHHMMSSZ` up to 2049, `YYYYMMDDHHMMSSZ` after that.
fn time(der: &[u8]) -> Option<(SystemTime, &[u8])> {
    let (tag, text, rest) = element(der)?;
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    let (year, text) = match tag {
        UTC_TIME => {
            let (year, text) = text.split_at_checked(2)?;
            let century = if year < "50" { "20" } else { "19" };
            (format!("{century}{year}"), text)
        }
        GENERALIZED_TIME => {
            let (year, text) = text.split_at_checked(4)?;
            (year.to_owned(), text)
        }
        _ => return None,
    };
    let part = |at: usize| text.get(at..at + 2);
    let (month, day, hour, minute, second) = (part(0)?, part(2)?, part(4)?, part(6)?, part(8)?);
    if text.get(10..) != Some("Z") {
        return None;
    }
    let rfc3339 = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    let seconds = rfc3339.parse::<Timestamp>().ok()?.seconds;
    let time = match u64::try_from(seconds) {
        Ok(after) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(after)),
        Err(_) => SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(seconds.unsigned_abs())),
    };
    Some((time?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn the_validity_period_is_read_from_a_certificate() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(["me".to_owned()]).unwrap();
        // UTC_TIME up to 2049, GENERALIZED_TIME after it.
        parameters.not_before = rcgen::date_time_ymd(2024, 2, 29);
        parameters.not_after = rcgen::date_time_ymd(2051, 1, 1);
        let pem = parameters.self_signed(&key).unwrap().pem();
        let expected = Validity { not_before: at(1_709_164_800), not_after: at(2_556_144_000) };
        assert_eq!(Validity::of(&pem), Some(expected));
    }

    #[test]
    fn invalid_certificates_have_no_validity_period() {
        use base64::Engine as _;
        assert_eq!(Validity::of("nonsense"), None);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(["me".to_owned()]).unwrap().self_signed(&key).unwrap();
        for length in 0..certificate.der().len().min(100) {
            let text = base64::engine::general_purpose::STANDARD.encode(&certificate.der()[..length]);
            let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
            assert_eq!(Validity::of(&pem), None, "{length}");
        }
    }
}
