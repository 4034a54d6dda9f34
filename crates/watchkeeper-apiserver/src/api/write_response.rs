//! Responses to writes, encoded as the client prefers.

use crate::http::{Preferences, Response};
use crate::write::{ResponseBody, WriteResponse};
use http::StatusCode;
use watchkeeper_core::Status;
use watchkeeper_wire::Kind;

use super::resource::ResolvedRequest;
use crate::read::{Encoder, View};

impl ResolvedRequest {
    /// Returns the response to a write.
    pub(super) fn response(
        &self,
        encoder: &Encoder,
        preferences: &Preferences,
        written: WriteResponse,
        warnings: &[String],
    ) -> Result<Response, Status> {
        let code = StatusCode::from_u16(written.code).map_err(Status::internal_error)?;
        let response = match written.body {
            ResponseBody::Stored(stored) => encoder.object(code, &stored)?,
            ResponseBody::Value(value) => {
                let own =
                    |name: &str| value.get(name).and_then(|it| it.as_str()).unwrap_or_default().to_owned();
                let (api_version, kind) = (own("apiVersion"), own("kind"));
                let kind = match kind.as_str() {
                    "" => self.kind(),
                    kind if kind == self.row.kind => self.row.group_version_kind().into(),
                    kind => {
                        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
                        Kind::new(group, version, kind)
                    }
                };
                // Objects that are not stored use the names of the store too, unless they are of another kind.
                let value = if kind.kind() == self.row.kind { self.scope.view.shown(value)? } else { value };
                encoder.value(code, value, &kind)?
            }
            // The HTTP code is not in the status of a success.
            ResponseBody::Status(mut status) => {
                // The writer knows events only in the core group.
                if let Some(details) = status.details.as_mut().filter(|_| self.scope.view == View::NewEvent) {
                    details.group = self.row.group.to_string();
                }
                let mut response = Response::status(&status, preferences);
                response.code = code;
                response
            }
        };
        Ok(response.with_warnings(&[warnings, &written.warnings].concat()))
    }
}
