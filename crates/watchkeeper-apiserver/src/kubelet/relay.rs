//! Relay: passes bytes between a client and a kubelet after a protocol upgrade.

use std::time::Duration;

use http::header::{CONNECTION, HOST};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt as _, copy, split};
use tokio::time::timeout;

use super::answer::{KubeletError, Pieces};
use super::dial::Kubelets;
use super::location::Location;

/// The timeout of shutting down both sides.
const GOODBYE: Duration = Duration::from_secs(5);

/// The outcome of an upgrade request to a kubelet.
pub(crate) enum Switched {
    /// The protocol was switched.
    To(HeaderMap, Upgraded),
    /// The kubelet responded without switching.
    Answered(Response<Pieces>),
}

/// Returns whether a request asks for a protocol upgrade.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let asks = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.to_lowercase().contains("upgrade"));
    headers.get_all(CONNECTION).iter().any(asks)
}

impl Kubelets {
    /// Requests a protocol upgrade from a kubelet, with the client's headers.
    pub(crate) async fn upgrade(
        &self,
        location: &Location,
        method: Method,
        mut headers: HeaderMap,
    ) -> Result<Switched, KubeletError> {
        if let (false, Ok(host)) = (headers.contains_key(HOST), location.place.authority().parse()) {
            headers.insert(HOST, host);
        }
        let (connection, mut response) = self.send(location, method, headers).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Switched::Answered(response.map(|body| Pieces::new(connection, body))));
        }
        let upgrading = hyper::upgrade::on(&mut response);
        if let Some(connection) = connection
            && let Err(error) = connection.await
        {
            return Err(KubeletError::lost(&error));
        }
        let upgraded = upgrading.await.map_err(|error| KubeletError::lost(&error))?;
        Ok(Switched::To(response.into_parts().0.headers, upgraded))
    }
}

/// Relays bytes in both directions until one side ends, like kube-apiserver.
pub(crate) async fn relay(client: OnUpgrade, kubelet: Upgraded) {
    let Ok(client) = client.await else { return };
    let (mut from_client, mut to_client) = split(TokioIo::new(client));
    let (mut from_kubelet, mut to_kubelet) = split(TokioIo::new(kubelet));
    tokio::select! {
        _ = copy(&mut from_client, &mut to_kubelet) => {}
        _ = copy(&mut from_kubelet, &mut to_client) => {}
    }
    let goodbye = futures_util::future::join(to_client.shutdown(), to_kubelet.shutdown());
    let _ = timeout(GOODBYE, goodbye).await; // the peer may be gone already
}
