//! HTTP: from bytes on a socket to a [`Request`] for the API machinery, and back.
//!
//! ```text
//! socket -> listen -> handler chain (request, authenticate, limits, authorize) -> handler -> respond -> socket
//! ```
//!
//! | question | type |
//! |---|---|
//! | What is requested? | [`Target`], [`ResourceRequest`], [`Query`], [`ListOptions`] and the other options |
//! | By which user? | [`User`], from the [`Authenticator`] |
//! | Is it allowed? | [`Decision`], from the [`Authorizer`] |
//! | In which encoding? | [`Preferences`], matched against an [`Offer`] to get an [`Accepted`] |
//! | With which body? | [`RequestBody`], [`decode_object`], [`decode_patch`] |
//! | How to respond? | [`Response`], or a [`Status`](watchkeeper_core::Status) |
//! | How to serve? | [`Authority`], [`Listener`], [`HandlerChain`], [`Kubeconfig`] |
//!
//! ```no_run
//! use tokio_util::sync::CancellationToken;
//! use watchkeeper_apiserver::http::*;
//! use watchkeeper_core::Status;
//!
//! struct Nothing;
//! impl Handler for Nothing {
//!     async fn handle(&self, _: Request) -> Result<Response, Status> {
//!         Ok(Response::page_not_found())
//!     }
//! }
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let authority = Authority::generate()?;
//! let server = authority.sign_server(&[])?;
//! let listener = Listener::bind(([127, 0, 0, 1], 0).into(), Security::Tls(authority.serve(&server)?)).await?;
//! let token = random_token()?;
//! Kubeconfig {
//!     server: listener.url(),
//!     authority: Some(authority.certificate().to_owned()),
//!     credentials: Credentials::Token(token.clone()),
//!     namespace: None,
//! }
//! .write("kubeconfig".as_ref())?;
//! let authenticator = Authenticator::default().token(&token, User::new("admin", [MASTERS]));
//! listener.run(HandlerChain::new(Nothing, authenticator), CancellationToken::new()).await;
//! # Ok(())
//! # }
//! ```

pub mod account_token;
pub mod authenticate;
pub mod authorize;
pub mod body;
pub mod certificates;
pub mod decode;
pub(crate) mod go_order;
pub(crate) mod go_text;
mod gzip;
pub mod handler;
pub mod handler_chain;
mod health;
mod hold;
mod impersonate;
pub mod kubeconfig;
pub(crate) mod machine;
pub mod negotiate;
pub mod options;
mod outgoing;
mod pieces;
pub mod query;
mod random;
pub mod request;
pub mod respond;
mod selector_text;
pub mod slowdown;
pub mod strict;
pub mod version;

pub use account_token::{Account, AccountFuture, Accounts, ExistingAccount, ISSUER, TokenError, TokenIssuer};
pub use authenticate::{Anonymous, Authenticated, Authenticator, MASTERS, OPEN_PATHS, User};
pub use authorize::{
    ALWAYS_ALLOWED_PATHS, AccessRules, AccessTarget, AlwaysAllow, Attributes, Authorizer, AuthorizerFuture,
    Decision, PathRule, ResourceAttributes, ResourceRule,
};
pub use body::{BodyLimits, RequestBody};
pub use certificates::{Authority, CLIENT_GROUPS, CertificateError, Identity, SERVER_NAMES, Subject};
pub(crate) use decode::read_object;
pub use decode::{
    Decoded, DecodedPatch, JSON_PATCH_OPERATIONS, decode_delete_options, decode_object, decode_patch,
};
pub(crate) use go_text::{parse_duration, parse_u64};
pub use handler::{Handler, Request};
pub use handler_chain::{HandlerChain, RequestLimits};
pub(crate) use hold::hold;
pub use kubeconfig::{Credentials, Kubeconfig};
pub use negotiate::{
    Accepted, MediaType, MetaVersion, Offer, PatchType, Preferences, Shape, sent_object, sent_patch,
};
pub(crate) use options::unexplained;
pub use options::{
    AtVersion, DeleteOptions, FIELD_MANAGER_BYTES, FieldValidation, GetOptions, ListOptions, Propagation,
    VersionMatch, WriteOptions, request_timeout,
};
pub(crate) use pieces::Pieces;
pub use query::Query;
pub use random::{NoRandomness, random_token, random_uid};
pub(crate) use random::{hex, sha256};
pub use request::{ResourceRequest, Target, TargetError, Verb};
pub use respond::{
    GZIP_BYTES, LONG_WARNING_BYTES, Response, WARNING_BYTES, method_not_allowed, no_such_resource,
};
pub use strict::{FINDING_PATH_BYTES, Finding, STRICT_FINDINGS};
pub use version::VersionInfo;
pub use watchkeeper_core::{Health, HealthCheck};
pub use watchkeeper_listen::{ConnectionLimits, ListenError, Listener, Security, Socket, Switch};
pub use watchkeeper_wire::document::DOCUMENT_DEPTH;
pub use watchkeeper_wire::yaml::YAML_ALIASED_BYTES;
