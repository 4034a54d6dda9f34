//! WebSocket: the server side of the handshake, and frames with channels.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::HeaderMap;
use http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

/// GUID of RFC 6455, hashed with the client's key.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// In place of a channel number: the next byte is a channel that is closed.
const CLOSE: u8 = 255;

/// Returns the response headers and the subprotocol: the first of the client's that is supported. `None` if the
/// request is not a WebSocket handshake, or no subprotocol matches.
pub(super) fn accept(headers: &HeaderMap, supported: &[&'static str]) -> Option<(HeaderMap, &'static str)> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    text(UPGRADE).filter(|protocol| protocol.eq_ignore_ascii_case("websocket"))?;
    let mut offered = text(SEC_WEBSOCKET_PROTOCOL)?.split(',').map(str::trim);
    let protocol = offered.find_map(|offered| supported.iter().find(|supported| **supported == offered))?;
    let key = text(SEC_WEBSOCKET_KEY)?;
    let hash = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()));
    let headers = HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&hash).ok()?),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
    ]);
    Some((headers, protocol))
}

/// A frame from the client.
pub(super) enum Frame {
    /// Data on a channel.
    Data(u8, Bytes),
    /// The channel is closed.
    Close(u8),
    /// The client has disconnected.
    Gone,
}

/// A WebSocket with channels.
pub(super) struct Channels {
    messages: WebSocketStream<TokioIo<Upgraded>>,
    can_close: bool,
}

impl Channels {
    /// Completes the upgrade; `None` if the client has disconnected.
    pub(super) async fn open(upgrade: OnUpgrade, protocol: &str) -> Option<Self> {
        let io = TokioIo::new(upgrade.await.ok()?);
        let messages = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
        Some(Self { messages, can_close: protocol == "v5.channel.k8s.io" })
    }

    pub(super) async fn next(&mut self) -> Frame {
        loop {
            match self.messages.next().await {
                Some(Ok(Message::Binary(bytes))) => match (bytes.first(), bytes.len()) {
                    (None, _) => {}
                    (Some(&CLOSE), 2) if self.can_close => return Frame::Close(bytes[1]),
                    (Some(&channel), _) => return Frame::Data(channel, bytes.slice(1..)),
                },
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Text(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Frame::Gone,
            }
        }
    }

    /// Sends bytes on a channel; does nothing if the client has disconnected.
    pub(super) async fn send(&mut self, channel: u8, bytes: &[u8]) {
        let message = [&[channel], bytes].concat();
        let _ = self.messages.send(Message::Binary(message.into())).await;
    }

    pub(super) async fn close(mut self) {
        let _ = self.messages.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() })).await;
        while let Some(Ok(_)) = self.messages.next().await {} // waits until the client has closed too
    }
}
