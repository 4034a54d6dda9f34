//! WebSocket: the handshake on the serving side, and messages with channels.

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

/// What a server hashes with the key, to show that it knows what a WebSocket is.
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Where the number of a channel should be: the next byte is a channel that ends.
const CLOSE: u8 = 255;

/// What a request for a WebSocket is answered with, and the protocol: the first of the client's that is
/// spoken here. `None` where it asks for none, or for nothing that is.
pub(super) fn accept(headers: &HeaderMap, spoken: &[&'static str]) -> Option<(HeaderMap, &'static str)> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    text(UPGRADE).filter(|protocol| protocol.eq_ignore_ascii_case("websocket"))?;
    let mut offered = text(SEC_WEBSOCKET_PROTOCOL)?.split(',').map(str::trim);
    let protocol = offered.find_map(|offered| spoken.iter().find(|spoken| **spoken == offered))?;
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

/// What a client has said.
pub(super) enum Said {
    /// On a channel.
    Data(u8, Bytes),
    /// That a channel has ended.
    Close(u8),
    /// Nothing more.
    Gone,
}

/// A WebSocket with channels.
pub(super) struct Channels {
    messages: WebSocketStream<TokioIo<Upgraded>>,
    can_close: bool,
}

impl Channels {
    /// `None` where the client is gone already.
    pub(super) async fn open(upgrade: OnUpgrade, protocol: &str) -> Option<Self> {
        let io = TokioIo::new(upgrade.await.ok()?);
        let messages = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
        Some(Self { messages, can_close: protocol == "v5.channel.k8s.io" })
    }

    pub(super) async fn next(&mut self) -> Said {
        loop {
            match self.messages.next().await {
                Some(Ok(Message::Binary(bytes))) => match (bytes.first(), bytes.len()) {
                    (None, _) => {}
                    (Some(&CLOSE), 2) if self.can_close => return Said::Close(bytes[1]),
                    (Some(&channel), _) => return Said::Data(channel, bytes.slice(1..)),
                },
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Text(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Said::Gone,
            }
        }
    }

    /// Says something on a channel; a client that is gone does not hear it.
    pub(super) async fn say(&mut self, channel: u8, bytes: &[u8]) {
        let message = [&[channel], bytes].concat();
        let _ = self.messages.send(Message::Binary(message.into())).await;
    }

    pub(super) async fn close(mut self) {
        let _ = self.messages.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() })).await;
        while let Some(Ok(_)) = self.messages.next().await {} // until the client has closed, too
    }
}
