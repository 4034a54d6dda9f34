//! Client: plain requests to the server, without any of Watchkeeper in between.
//!
//! From: the tests, by way of [`Cluster`](crate::Cluster) or for a server of their own.
//! To:   the server, over HTTP/1.1, a connection a request.

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
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

/// Sends requests to one server, with one token.
#[derive(Debug)]
pub struct Client {
    server: String,
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
    authorization: HeaderValue,
}

impl Client {
    /// A client of `http://ADDRESS` or `https://ADDRESS` that trusts the authority and shows the token.
    ///
    /// # Errors
    /// Where the certificate of the authority is none.
    ///
    /// # Panics
    /// Where the token cannot stand in a header.
    pub fn new(
        server: impl Into<String>,
        authority: Option<CertificateDer<'static>>,
        token: &str,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        if let Some(authority) = authority {
            roots.add(authority)?;
        }
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
            HeaderValue::try_from(format!("Bearer {token}")).expect("a token is printable");
        authorization.set_sensitive(true);
        Ok(Self { server: server.into(), pool, authorization })
    }

    /// Sends a request whose URI is a path, and reads the whole answer. It is sent with the token unless it has
    /// an `authorization` of its own.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        let (head, body) = self.open(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// As [`send`](Self::send), but leaves the body to be read. Dropping it ends the request.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn open(&self, request: Request<Bytes>) -> Result<Response<Incoming>, RequestError> {
        let (mut head, body) = request.into_parts();
        head.uri = Uri::try_from(format!("{}{}", self.server, head.uri)).map_err(http::Error::from)?;
        head.headers.entry(AUTHORIZATION).or_insert_with(|| self.authorization.clone());
        Ok(self.pool.request(Request::from_parts(head, Full::new(body))).await?)
    }
}
