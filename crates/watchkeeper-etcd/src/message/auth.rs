//! Authentication messages.

use bytes::Bytes;

use crate::codec::{Decode, DecodeError, Encode, Writer, fields};

pub(crate) struct AuthenticateRequest<'a> {
    pub(crate) name: &'a str,
    pub(crate) password: &'a str,
}

impl Encode for AuthenticateRequest<'_> {
    fn encode(&self, out: &mut Writer) {
        out.bytes(1, self.name.as_bytes());
        out.bytes(2, self.password.as_bytes());
    }
}

pub(crate) struct AuthenticateResponse {
    pub(crate) token: String,
}

impl Decode for AuthenticateResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut token = String::new();
        fields(message, |number, value| {
            if number == 2 {
                token = value.text()?;
            }
            Ok(())
        })?;
        Ok(Self { token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode;

    #[test]
    fn authentication_messages_match_etcds_encoding() {
        assert_eq!(encode(&AuthenticateRequest { name: "a", password: "b" }), b"\x0a\x01a\x12\x01b"[..]);
        let response = AuthenticateResponse::decode(Bytes::from_static(b"\x0a\x00\x12\x03t.1")).unwrap();
        assert_eq!(response.token, "t.1");
    }
}
