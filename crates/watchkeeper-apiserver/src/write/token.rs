//! Service account tokens: `serviceaccounts/NAME/token`.

use crate::http::{Account, ISSUER, WriteOptions, method_not_allowed};
use serde_json::{Value, json};
use watchkeeper_core::{CauseType, GroupKind, Status, StatusCause, Timestamp};

use super::refusal::{fault, invalid_value, no_randomness, unavailable};
use super::{Call, ResponseBody, WriteResponse, Writer};
use crate::clock::now;

/// Default, minimum and maximum lifetime of a token, in seconds.
const SECONDS: i64 = 3600;
const FEWEST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;

impl Writer {
    /// Issues a token. The bound object is not checked.
    pub(super) async fn request_token(
        &self,
        call: &Call<'_>,
        body: Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let issuer = self.authenticator.token_issuer().ok_or_else(method_not_allowed)?;
        let (name, namespace) = (call.required_name()?, call.namespace.unwrap_or_default());
        for (field, given, wanted) in [
            ("name", &body["metadata"]["name"], name),
            ("namespace", &body["metadata"]["namespace"], namespace),
        ] {
            let given = given.as_str().filter(|given| !given.is_empty() && *given != wanted);
            if let Some(given) = given {
                let why = format!("must match the service account {field} if specified");
                return Err(refused(name, invalid_value(&format!("metadata.{field}"), given, &why)));
            }
        }
        let found = self.store.get(&call.collection()?, &call.key()?).await.map_err(unavailable)?;
        let uid = found.ok_or_else(|| call.not_found())?.object().metadata.uid().to_owned();
        let seconds = body["spec"]["expirationSeconds"].as_i64().unwrap_or(SECONDS);
        let why = match seconds {
            ..FEWEST_SECONDS => Some("may not specify a duration less than 10 minutes"),
            FEWEST_SECONDS..=MOST_SECONDS => None,
            _ => Some("may not specify a duration larger than 2^32 seconds"),
        };
        if let Some(why) = why {
            let message = format!("Invalid value: {seconds}: {why}");
            return Err(refused("", fault(CauseType::FieldValueInvalid, "spec.expirationSeconds", message)));
        }
        let given = body["spec"]["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut audiences: Vec<String> = given.map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences.push(ISSUER.to_owned());
        }
        let account = Account { namespace: namespace.to_owned(), name: name.to_owned(), uid };
        let made = now();
        let end = Timestamp { seconds: made.seconds.saturating_add(seconds), ..made };
        let token = if options.dry_run {
            String::new()
        } else {
            issuer.issue(&account, &audiences, seconds.unsigned_abs()).map_err(no_randomness)?
        };
        let bound = body["spec"].get("boundObjectRef").cloned().unwrap_or_default();
        Ok(WriteResponse::new(
            201,
            ResponseBody::Value(json!({
                "kind": "TokenRequest",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {"name": name, "namespace": namespace, "uid": account.uid,
                    "creationTimestamp": made.to_string()},
                "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound},
                "status": {"token": token, "expirationTimestamp": end.to_string()},
            })),
        ))
    }
}

fn refused(name: &str, fault: StatusCause) -> Status {
    let kind = GroupKind { group: "authentication.k8s.io".to_owned(), kind: "TokenRequest".to_owned() };
    Status::invalid(&kind, name, vec![fault])
}
