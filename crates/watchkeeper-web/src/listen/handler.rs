//! Request handler: guards, authenticates and routes a request.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::Request;
use http::request::Parts;
use tower_service::Service as _;
use watchkeeper_listen::{ServiceRequest, ServiceResponse};

use super::shutdown::end_on_shutdown;
use crate::access::Authenticator;
use crate::guard::{Content, Guard, protect, whole};
use crate::proxy::Proxy;
use crate::service::Service;

/// A handler that guards requests, then passes them to the service or the proxy.
#[derive(Debug)]
pub(super) struct Handler {
    guard: Guard,
    authenticator: Authenticator,
    proxy: Proxy,
    router: Router,
}

impl Handler {
    pub(super) fn new(service: &Service, guard: Guard, tokens: bool, proxy: Proxy) -> Self {
        let authenticator = Authenticator::new(service.access().clone(), tokens);
        Self { guard, proxy, router: service.router().merge(authenticator.router()), authenticator }
    }

    async fn respond(&self, head: Parts, body: Body) -> (Response, Content) {
        let proxied = Proxy::serves(head.uri.path());
        if let Err(failure) = self.guard.admit(&head) {
            return (failure.into_response(), Content::Ours);
        }
        let mut head = head;
        if let Err(refused) = self.authenticator.admit(&mut head).await {
            let response = if proxied { refused.into_status() } else { refused.into_response() };
            return (response, Content::Ours);
        }
        if proxied {
            return (self.proxy.respond(head, body).await, Content::Theirs);
        }
        let body = match whole(&head.headers, body).await {
            Ok(body) => Body::from(body),
            Err(failure) => return (failure.into_response(), Content::Ours),
        };
        let answered = self.router.clone().call(Request::from_parts(head, body)).await;
        (answered.unwrap_or_else(|never: Infallible| match never {}), Content::Ours)
    }
}

impl watchkeeper_listen::Service for Handler {
    type Peer = ();
    type Body = Body;

    fn peer(&self, _: &[u8]) -> Option<()> {
        None
    }

    async fn call(&self, arrival: ServiceRequest<()>) -> ServiceResponse<Body> {
        let ServiceRequest { request, stop, switch, .. } = arrival;
        let (mut head, body) = request.into_parts();
        head.extensions.insert(switch);
        let (mut response, content) = self.respond(head, Body::new(body)).await;
        protect(response.headers_mut(), content);
        ServiceResponse { response: end_on_shutdown(stop, response), hang_up: false, charge: None }
    }
}
