//! Client: plain requests to the server, without any of Watchkeeper in between.
//!
//! From: the tests, by way of [`Cluster`](crate::Cluster).
//! To:   the server, over HTTP/1.1, a connection a request.

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It was no request: a path without its slash, say.
    #[error("not a request")]
    Malformed(#[from] http::Error),
    /// The server did not answer.
    #[error("no answer")]
    NoAnswer(#[from] hyper_util::client::legacy::Error),
    /// The answer broke off.
    #[error("the answer broke off")]
    BrokeOff(#[from] hyper::Error),
}

#[derive(Debug)]
pub(crate) struct Client {
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
    authorization: HeaderValue,
}

impl Client {
    /// A client that trusts the authority and shows the token.
    pub(crate) fn new(authority: CertificateDer<'static>, token: &str) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(authority)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().build();
        // A cluster may be shared by tests that have a runtime each, and an idle connection dies with its own.
        let pool = Pool::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let mut authorization =
            HeaderValue::try_from(format!("Bearer {token}")).expect("a token is hexadecimal");
        authorization.set_sensitive(true);
        Ok(Self { pool, authorization })
    }

    /// Sends a request whose URI is a path on `server`, and reads the whole answer.
    pub(crate) async fn send(
        &self,
        server: &str,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, RequestError> {
        let (mut head, body) = request.into_parts();
        head.uri = Uri::try_from(format!("{server}{}", head.uri)).map_err(http::Error::from)?;
        head.headers.entry(AUTHORIZATION).or_insert_with(|| self.authorization.clone());
        let (head, body) = self.pool.request(Request::from_parts(head, Full::new(body))).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }
}
