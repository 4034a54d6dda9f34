//! WebSocket handshake (RFC 6455) over an upgraded connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    ACCEPT, CONNECTION, HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::StreamError;
use crate::rest::Request;
use crate::transport::Upgraded;

/// Maximum size of a message, in bytes. Servers usually send 32 KiB.
const MESSAGE_BYTES: usize = 4 << 20;

/// The GUID that a server hashes with the key (RFC 6455, section 1.3).
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A WebSocket subprotocol of the remote command API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `v5.channel.k8s.io`: stdin can be closed while the outputs continue.
    V5,
    /// `v4.channel.k8s.io`: stdin cannot be closed on its own.
    V4,
}

impl Protocol {
    /// Returns the name in the handshake.
    pub fn name(self) -> &'static str {
        match self {
            Self::V5 => "v5.channel.k8s.io",
            Self::V4 => "v4.channel.k8s.io",
        }
    }

    /// Returns whether a single channel can be closed.
    pub fn can_close(self) -> bool {
        self == Self::V5
    }
}

/// An open WebSocket and its protocol.
pub(super) struct WebSocket {
    pub(super) messages: WebSocketStream<Upgraded>,
    pub(super) protocol: Protocol,
    pub(super) request: String,
}

/// Opens a WebSocket with one of these protocols, preferred first.
pub(super) async fn open(request: Request, offered: &[Protocol]) -> Result<WebSocket, StreamError> {
    let description = request.description();
    let failed = |why: String| StreamError::Handshake { request: description.clone(), why };
    let mut key = [0; 16];
    SystemRandom::new().fill(&mut key).map_err(|_| failed("failed to generate a random key".to_owned()))?;
    let key = STANDARD.encode(key);
    let names: Vec<&str> = offered.iter().map(|protocol| protocol.name()).collect();
    let request = request
        // The request reaches the container runtime, which rejects `Accept: application/json`.
        .header(ACCEPT, "*/*")
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key)
        .header(SEC_WEBSOCKET_PROTOCOL, &names.join(", "));
    let (head, io) = request.upgrade().await?.into_parts();
    let protocol = check(&head.headers, &key, offered).map_err(failed)?;
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MESSAGE_BYTES);
    config.max_frame_size = Some(MESSAGE_BYTES);
    let messages = WebSocketStream::from_raw_socket(io, Role::Client, Some(config)).await;
    Ok(WebSocket { messages, protocol, request: description })
}

/// Checks the server's handshake and returns the chosen protocol.
fn check(headers: &HeaderMap, key: &str, offered: &[Protocol]) -> Result<Protocol, String> {
    let text = |name: http::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if !text(UPGRADE).is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket")) {
        return Err("server did not switch to the WebSocket protocol".to_owned());
    }
    if text(SEC_WEBSOCKET_ACCEPT) != Some(accept(key).as_str()) {
        return Err("server sent an invalid Sec-WebSocket-Accept".to_owned());
    }
    let chosen = text(SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let known = offered.iter().find(|protocol| protocol.name() == chosen);
    known.copied().ok_or_else(|| format!("server chose the protocol {chosen:?}, which was not offered"))
}

/// Returns the expected `Sec-WebSocket-Accept` for a key.
fn accept(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_value_matches_rfc_6455() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn the_handshake_requires_a_websocket_with_an_offered_protocol() {
        let headers = |upgrade: &str, accept: &str, protocol: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(UPGRADE, upgrade.parse().unwrap());
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept.parse().unwrap());
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
            headers
        };
        let offered = [Protocol::V5, Protocol::V4];
        let good = accept("key");
        let v4 = headers("WebSocket", &good, "v4.channel.k8s.io");
        assert_eq!(check(&v4, "key", &offered), Ok(Protocol::V4));
        assert!(check(&v4, "key", &[Protocol::V5]).is_err());
        assert!(check(&v4, "another key", &offered).is_err());
        assert!(check(&headers("SPDY/3.1", &good, "v4.channel.k8s.io"), "key", &offered).is_err());
        assert!(check(&headers("websocket", &good, "channel.k8s.io"), "key", &offered).is_err());
    }
}
