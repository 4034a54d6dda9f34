//! WebSocket: the handshake (RFC 6455) over a connection of the transport, and what is spoken afterwards.

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

/// Bytes of one message. Servers send what they read at once: 32 KiB, mostly.
const MESSAGE_BYTES: usize = 4 << 20;

/// What a server hashes with the key, to show that it knows what a WebSocket is.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// What channels a WebSocket has, and how they are spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `v5.channel.k8s.io`: an input can end while the outputs go on.
    V5,
    /// `v4.channel.k8s.io`: nobody can be told that an input has ended.
    V4,
}

impl Protocol {
    /// Its name in the handshake.
    pub fn name(self) -> &'static str {
        match self {
            Self::V5 => "v5.channel.k8s.io",
            Self::V4 => "v4.channel.k8s.io",
        }
    }

    /// Whether one of its channels can end before the others.
    pub fn can_close(self) -> bool {
        self == Self::V5
    }
}

/// A WebSocket, and what is spoken on it.
pub(super) struct WebSocket {
    pub(super) messages: WebSocketStream<Upgraded>,
    pub(super) protocol: Protocol,
    pub(super) request: String,
}

/// Asks for a WebSocket with one of these protocols, the best first.
pub(super) async fn open(request: Request, offered: &[Protocol]) -> Result<WebSocket, StreamError> {
    let description = request.description();
    let failed = |why: String| StreamError::Handshake { request: description.clone(), why };
    let mut key = [0; 16];
    SystemRandom::new().fill(&mut key).map_err(|_| failed("the system has no random numbers".to_owned()))?;
    let key = STANDARD.encode(key);
    let names: Vec<&str> = offered.iter().map(|protocol| protocol.name()).collect();
    let request = request
        // It goes as far as the container runtime, which knows nothing of JSON and refuses to speak it.
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

/// Which protocol the server has chosen, if it is a WebSocket that it speaks.
fn check(headers: &HeaderMap, key: &str, offered: &[Protocol]) -> Result<Protocol, String> {
    let text = |name: http::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if !text(UPGRADE).is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket")) {
        return Err("the server has switched to something that is no WebSocket".to_owned());
    }
    if text(SEC_WEBSOCKET_ACCEPT) != Some(accept(key).as_str()) {
        return Err("the server does not know what a WebSocket is".to_owned());
    }
    let chosen = text(SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let known = offered.iter().find(|protocol| protocol.name() == chosen);
    known
        .copied()
        .ok_or_else(|| format!("the server has chosen the protocol {chosen:?}, which nobody offered"))
}

/// What a server answers to a key.
fn accept(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_key_is_that_of_the_standard() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn only_a_websocket_with_an_offered_protocol_will_do() {
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
