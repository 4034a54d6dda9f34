//! Reviews: questions that are posted, and answered without being kept.
//!
//! This server lets everybody who is let in do everything, and says so.

use crate::http::{User, method_not_allowed};
use serde_json::{Map, Value, json};
use watchkeeper_core::Status;

use super::create::now;
use super::{Answer, Call, Written};

/// Answers a review.
pub(super) fn answer(call: &Call<'_>, body: Value, user: &User) -> Result<Written, Status> {
    let status = match (&*call.resource.group, &*call.resource.name) {
        ("authorization.k8s.io", "selfsubjectrulesreviews") => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        ("authorization.k8s.io", _) => json!({"allowed": true}),
        ("authentication.k8s.io", "selfsubjectreviews") => json!({"userInfo": user_info(user)}),
        ("authentication.k8s.io", "tokenreviews") => {
            if body["spec"]["token"].as_str().unwrap_or_default().is_empty() {
                return Err(Status::bad_request("token is required for TokenReview in authentication"));
            }
            // Whose a token is cannot be known here, and nobody else may take it for good because of us.
            json!({"authenticated": false, "user": {}, "error": "this server does not review tokens"})
        }
        _ => return Err(method_not_allowed()),
    };
    let mut answer = answered(body, call, status);
    match &*call.resource.name {
        "selfsubjectrulesreviews" => answer["spec"] = json!({}), // which namespace was asked about is not said
        "selfsubjectreviews" => answer["metadata"] = json!({"creationTimestamp": now().to_string()}),
        _ => {}
    }
    Ok(Written::new(201, Answer::Value(answer)))
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

/// What was asked, with its answer.
fn answered(body: Value, call: &Call<'_>, status: Value) -> Value {
    let mut fields = match body {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let kind = call.resource.group_version_kind();
    fields.insert("apiVersion".to_owned(), kind.group_version().to_string().into());
    fields.insert("kind".to_owned(), kind.kind.into());
    fields.entry("metadata").or_insert_with(|| json!({}));
    fields.insert("status".to_owned(), status);
    Value::Object(fields)
}
