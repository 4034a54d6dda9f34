//! Client: sends HTTP requests without using any Watchkeeper code.
//!
//! Input:  requests of the tests, through [`Cluster`](crate::Cluster) or to a server of their own.
//! Output: HTTP/1.1 requests, each on a connection of its own.

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

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The request is invalid: its path does not start with a slash, for example.
    #[error("invalid request")]
    InvalidRequest(#[from] http::Error),
    /// The server did not respond.
    #[error("no response")]
    NoResponse(#[from] hyper_util::client::legacy::Error),
    /// The connection was lost while the response was being read.
    #[error("response interrupted")]
    Interrupted(#[from] hyper::Error),
}

/// A client of one server, which authenticates with one bearer token.
#[derive(Debug)]
pub struct Client {
    server: String,
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
    authorization: HeaderValue,
}

impl Client {
    /// Creates a client of `http://ADDRESS` or `https://ADDRESS` that trusts the given CA and sends the token.
    ///
    /// # Errors
    /// Fails if the CA certificate is invalid.
    ///
    /// # Panics
    /// Panics if the token contains characters that are not allowed in a header.
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
        // Tests that share a cluster have a runtime each, and an idle connection breaks when its runtime stops.
        let pool = Pool::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let mut authorization =
            HeaderValue::try_from(format!("Bearer {token}")).expect("a token is printable");
        authorization.set_sensitive(true);
        Ok(Self { server: server.into(), pool, authorization })
    }

    /// Sends a request whose URI is a path, and reads the whole response. Adds the token unless the request has an
    /// `authorization` header.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        let (head, body) = self.open(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Like [`send`](Self::send), but returns before the body has been read. Dropping the body ends the request.
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
