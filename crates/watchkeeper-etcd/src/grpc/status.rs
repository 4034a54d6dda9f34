//! Status of a gRPC response, from trailers or headers.

use http::{HeaderMap, StatusCode};

use crate::error::Error;

/// Limit of a server's message in an error, in bytes.
const MAX_MESSAGE: usize = 1024;

/// Reads the status; `None` if it is missing.
pub(super) fn outcome(trailers: &HeaderMap) -> Option<Result<(), Error>> {
    let status = trailers.get("grpc-status")?;
    let code = status.to_str().ok().and_then(|code| code.parse::<u32>().ok());
    if code == Some(0) {
        return Some(Ok(()));
    }
    let message = trailers.get("grpc-message").map_or(&b""[..], |message| message.as_bytes());
    Some(Err(Error::from_status(code.unwrap_or(2), unescape(message))))
}

/// Checks that a response is a gRPC response.
pub(super) fn check(status: StatusCode, headers: &HeaderMap) -> Result<(), Error> {
    let media = headers.get(http::header::CONTENT_TYPE).map_or(&b""[..], |media| media.as_bytes());
    match status {
        StatusCode::OK if media.starts_with(b"application/grpc") => Ok(()),
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Err(Error::unavailable(format!("HTTP status {status}"))),
        _ => Err(Error::NotEtcd(format!(
            "HTTP status {status}, content type {:?}",
            String::from_utf8_lossy(media)
        ))),
    }
}

/// Decodes percent-encoding; an invalid escape is kept.
fn unescape(text: &[u8]) -> String {
    let text = &text[..text.len().min(MAX_MESSAGE)];
    let hex = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        match rest {
            [b'%', high, low, after @ ..] if hex(*high).is_some() && hex(*low).is_some() => {
                plain.push(hex(*high).unwrap_or(0) << 4 | hex(*low).unwrap_or(0));
                rest = after;
            }
            _ => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_carry_the_status() {
        let trailers = |pairs: &[(&'static str, &'static str)]| {
            pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect::<HeaderMap>()
        };
        assert!(outcome(&trailers(&[])).is_none());
        assert!(matches!(outcome(&trailers(&[("grpc-status", "0")])), Some(Ok(()))));
        let denied = trailers(&[("grpc-status", "7"), ("grpc-message", "no%3A way%")]);
        assert!(
            matches!(outcome(&denied), Some(Err(Error::PermissionDenied { message })) if message == "no: way%")
        );
        let odd = trailers(&[("grpc-status", "many")]);
        assert!(matches!(outcome(&odd), Some(Err(Error::Rpc { code: 2, .. }))));
    }

    #[test]
    fn escapes_are_decoded_and_invalid_ones_are_kept() {
        assert_eq!(unescape(b"a%20b"), "a b");
        assert_eq!(unescape("%E2%82%AC".as_bytes()), "\u{20ac}");
        assert_eq!(unescape(b"100%"), "100%");
        assert_eq!(unescape(b"%zz%4"), "%zz%4");
        assert_eq!(unescape(&[b'x'; 5000]).len(), MAX_MESSAGE);
    }
}
