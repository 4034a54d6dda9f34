//! Relay: passes bytes between a client and a kubelet after a protocol upgrade.

use std::time::Duration;

use http::header::{CONNECTION, HOST};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt as _, copy, split};
use tokio::time::timeout;

use super::dial::Kubelets;
use super::location::Location;
use super::response::{KubeletError, Pieces};

/// The timeout of shutting down both sides.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The outcome of an upgrade request to a kubelet.
pub(crate) enum UpgradeOutcome {
    /// The protocol was switched.
    Switched(HeaderMap, Upgraded),
    /// The kubelet responded without switching.
    Refused(Response<Pieces>),
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
    ) -> Result<UpgradeOutcome, KubeletError> {
        if let (false, Ok(host)) = (headers.contains_key(HOST), location.address.authority().parse()) {
            headers.insert(HOST, host);
        }
        let (connection, mut response) = self.send(location, method, headers).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(UpgradeOutcome::Refused(response.map(|body| Pieces::new(connection, body))));
        }
        let upgrading = hyper::upgrade::on(&mut response);
        if let Some(connection) = connection
            && let Err(error) = connection.await
        {
            return Err(KubeletError::lost(&error));
        }
        let upgraded = upgrading.await.map_err(|error| KubeletError::lost(&error))?;
        Ok(UpgradeOutcome::Switched(response.into_parts().0.headers, upgraded))
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
    let shutdown = futures_util::future::join(to_client.shutdown(), to_kubelet.shutdown());
    let _ = timeout(SHUTDOWN_TIMEOUT, shutdown).await; // the peer may be gone already
}
