//! Fault injection into requests for resources, and the endpoint that controls it.

use crate::faults::document::{self, Document};
use crate::faults::{self, Ending, FaultyStream, InjectedFault, PlannedEnding, RequestInfo, Then, half_of};
use crate::http::{Request, ResourceRequest, Response, Verb, method_not_allowed};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{Encoding, Status};

use super::Api;

impl Api {
    /// Serves a request for a resource, with the faults that match it.
    pub(super) async fn inject_faults(
        &self,
        target: &ResourceRequest,
        request: Request,
    ) -> Result<Response, Status> {
        let fault = self.faults.match_request(|| RequestInfo::new(target, &request.headers));
        if target.verb != Verb::Watch && fault.is_none() {
            return self.resource(target, request).await;
        }
        let InjectedFault { delay, then } = fault.unwrap_or_default();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let planned = match then {
            None => None,
            Some(Then::Answer(status)) => return Err(*status),
            Some(Then::End(planned)) => Some(planned),
        };
        let connection = request.connection.clone();
        if target.verb != Verb::Watch {
            if let Some(planned) = &planned
                && planned.ending == Ending::Stall
            {
                planned.hit();
                std::future::pending::<()>().await; // until the handler chain times out
            }
            let response = self.resource(target, request).await?;
            return Ok(match planned {
                Some(planned) => break_off(response, &planned, connection)?,
                None => response,
            });
        }
        let info = RequestInfo::new(target, &request.headers);
        let response = self.resource(target, request).await?;
        let protobuf = response
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|it| *it == *Encoding::Protobuf.watch_content_type());
        let encoding = if protobuf { Encoding::Protobuf } else { Encoding::Json };
        Ok(response.map_stream(|events| {
            Box::pin(FaultyStream::new(events, self.faults.watches(), info, encoding, connection, planned))
        }))
    }

    /// Serves requests below `/debug/watchkeeper/`.
    pub(super) async fn fault_request(&self, path: &str, request: Request) -> Result<Response, Status> {
        let parts: Vec<&str> = path.split('/').collect();
        match (&request.method, &parts[..]) {
            (&Method::GET, ["faults"]) => {
                let rules: Vec<_> = self.faults.list().iter().map(document::written).collect();
                Ok(Response::raw_json(StatusCode::OK, &json!({ "faults": rules })))
            }
            (&Method::POST, ["faults"]) => {
                let fault = document::read(&request.body.read().await?, Document::Rule)?;
                let id = self.faults.add(fault.clone()).id();
                Ok(Response::raw_json(StatusCode::CREATED, &document::written(&(id, fault, 0))))
            }
            (&Method::DELETE, ["faults"]) => {
                self.faults.clear();
                Ok(Response::raw_json(StatusCode::OK, &json!({ "faults": [] })))
            }
            (&Method::DELETE, ["faults", id]) => {
                let removed = id.parse().is_ok_and(|id| self.faults.remove(id));
                if removed {
                    Ok(Response::raw_json(StatusCode::OK, &json!({})))
                } else {
                    Ok(Response::page_not_found())
                }
            }
            (&Method::POST, ["watches"]) => {
                let fault = document::read(&request.body.read().await?, Document::Order)?;
                let ended = match fault.effect() {
                    faults::Effect::End(ending) => self.faults.order(fault.requests(), ending),
                    _ => 0, // excluded by `document::read`
                };
                Ok(Response::raw_json(StatusCode::OK, &json!({ "watches": ended })))
            }
            (&Method::POST, ["compact"]) => {
                let revision =
                    faults::compact(&**self.reader.store()).await.map_err(Status::internal_error)?;
                Ok(Response::raw_json(StatusCode::OK, &json!({ "resourceVersion": revision.to_string() })))
            }
            (_, ["faults"] | ["faults", _] | ["watches"] | ["compact"]) => Err(method_not_allowed()),
            _ => Ok(Response::page_not_found()),
        }
    }
}

/// Breaks off a response. Faults that apply only to watches leave other responses intact.
fn break_off(
    response: Response,
    planned: &PlannedEnding,
    connection: CancellationToken,
) -> Result<Response, Status> {
    match planned.ending {
        Ending::Abrupt | Ending::Connection => {
            planned.hit();
            response.map_whole(|body| half_of(&body, &planned.ending, connection))
        }
        _ => Ok(response),
    }
}
