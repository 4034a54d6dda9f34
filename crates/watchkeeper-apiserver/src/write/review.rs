//! Reviews: questions that are posted, and answered without being stored.
//!
//! Access reviews are decided by the [`Authorizer`] that also authorizes requests (`authorize.A2`).

use crate::http::{
    AccessRules, AccessTarget, Attributes, Authenticator, Authorizer, Decision, ISSUER, ResourceAttributes,
    TokenError, User,
};
use serde_json::{Map, Value, json};
use watchkeeper_core::{CauseType, GroupKind, Quoted, Status};

use super::create::namespace_for;
use super::refusal::fault;
use super::{Call, ResponseBody, WriteResponse};
use crate::clock::now;
use crate::rules::Review;

/// Answers a review.
pub(super) async fn answer(
    kind: Review,
    call: &Call<'_>,
    mut body: Value,
    known: &Authenticator,
    authorizer: &dyn Authorizer,
) -> Result<WriteResponse, Status> {
    place(&mut body, call)?;
    check_review(kind, call, &body)?;
    let user = call.user;
    let status = match kind {
        Review::SelfSubjectRules => {
            let namespace = body["spec"]["namespace"].as_str().unwrap_or_default();
            rules_status(&authorizer.rules(user, namespace).await)
        }
        Review::SelfSubjectAccess => access_status(authorizer, user, &body["spec"]).await,
        Review::SubjectAccess | Review::LocalSubjectAccess => {
            access_status(authorizer, &reviewed_user(&body["spec"]), &body["spec"]).await
        }
        Review::SelfSubject => json!({"userInfo": user_info(user)}),
        Review::Token => {
            let token = body["spec"]["token"].as_str().unwrap_or_default();
            if token.is_empty() {
                return Err(Status::bad_request("token is required for TokenReview in authentication"));
            }
            token_status(known.authenticate_token(token).await, &body["spec"]["audiences"])
        }
    };
    let mut answer = answered(body, call, status);
    match kind {
        Review::SelfSubjectRules => answer["spec"] = json!({}), // kube-apiserver omits the namespace
        Review::SelfSubject => answer["metadata"] = json!({"creationTimestamp": now().to_string()}),
        _ => {}
    }
    Ok(WriteResponse::new(201, ResponseBody::Value(answer)))
}

/// Sets the namespace of a review to that of the path.
fn place(body: &mut Value, call: &Call<'_>) -> Result<(), Status> {
    let given = body["metadata"]["namespace"].as_str().unwrap_or_default();
    let namespace = namespace_for(given, call)?;
    if let (Some(namespace), Some(fields)) = (namespace, body.as_object_mut()) {
        let metadata = fields.entry("metadata").or_insert(Value::Null);
        if metadata.is_null() {
            *metadata = json!({});
        }
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
    }
    Ok(())
}

/// Validates a review: it must have attributes of exactly one kind, and a user or a group.
fn check_review(kind: Review, call: &Call<'_>, body: &Value) -> Result<(), Status> {
    let spec = &body["spec"];
    if kind == Review::SelfSubjectRules && spec["namespace"].as_str().unwrap_or_default().is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    if !matches!(kind, Review::SubjectAccess | Review::LocalSubjectAccess | Review::SelfSubjectAccess) {
        return Ok(());
    }
    let invalid = |field: &str, value: &str, why: &str| {
        fault(CauseType::FieldValueInvalid, field, format!("Invalid value: {value}: {why}"))
    };
    let mut faults = Vec::new();
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = if path.is_null() {
        "null".to_owned()
    } else {
        json!({"Path": text(&path["path"]), "Verb": text(&path["verb"])}).to_string()
    };
    if resource.is_null() == path.is_null() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        faults.push(invalid("spec", &shown, why));
    }
    let has_no_subject =
        text(&spec["user"]).is_empty() && spec["groups"].as_array().is_none_or(Vec::is_empty);
    if kind != Review::SelfSubjectAccess && has_no_subject {
        faults.push(invalid("spec.user", "\"\"", "at least one of user or group must be specified"));
    }
    let is_local = kind == Review::LocalSubjectAccess;
    let metadata = body["metadata"].as_object().cloned().unwrap_or_default();
    if metadata.iter().any(|(key, value)| !(value.is_null() || is_local && key == "namespace")) {
        let why = if is_local { "must be empty except for namespace" } else { "must be empty" };
        faults.push(invalid("metadata", &Value::Object(metadata).to_string(), why));
    }
    if is_local && !resource.is_null() && text(&resource["namespace"]) != text(&body["metadata"]["namespace"])
    {
        let given = Quoted(&text(&resource["namespace"])).to_string();
        faults.push(invalid("spec.resourceAttributes.namespace", &given, "must match metadata.namespace"));
    }
    if is_local && !path.is_null() {
        faults.push(invalid("spec.nonResourceAttributes", &shown, "disallowed on this kind of request"));
    }
    if faults.is_empty() {
        return Ok(());
    }
    // kube-apiserver omits the kind here.
    let group = call.resource.group.to_string();
    Err(Status::invalid(&GroupKind { group, kind: String::new() }, "", faults))
}

/// Returns the status of a token review; without audiences, the token must be for this server.
fn token_status(found: Result<(User, Vec<String>), TokenError>, asked: &Value) -> Value {
    let asked: Vec<&str> = asked.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let asked = if asked.is_empty() { vec![ISSUER] } else { asked };
    let found = found.map(|(user, mut audiences)| {
        audiences.retain(|audience| asked.contains(&audience.as_str()));
        (user, audiences)
    });
    match found {
        Ok((user, audiences)) if !audiences.is_empty() => {
            json!({"authenticated": true, "user": user_info(&user), "audiences": audiences})
        }
        Ok(_) => json!({"user": {}, "error": TokenError::Unknown.to_string()}),
        Err(error) => json!({"user": {}, "error": error.to_string()}),
    }
}

/// Returns the user that a `SubjectAccessReview` asks about.
fn reviewed_user(spec: &Value) -> User {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: spec["user"].as_str().unwrap_or_default().to_owned(),
        uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

/// Returns the status of an access review: the decision on the attributes in its spec.
async fn access_status(authorizer: &dyn Authorizer, user: &User, spec: &Value) -> Value {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    let verb = text(if resource.is_null() { &path["verb"] } else { &resource["verb"] });
    let fields = ["group", "version", "resource", "subresource", "namespace", "name"]
        .map(|name| text(&resource[name]));
    let path = text(&path["path"]);
    let target = if resource.is_null() {
        AccessTarget::Path(&path)
    } else {
        let [group, version, resource, subresource, namespace, name] = fields.each_ref().map(String::as_str);
        AccessTarget::Resource(ResourceAttributes { group, version, resource, subresource, namespace, name })
    };
    let decision = authorizer.authorize(Attributes { user, verb: &verb, target }).await;
    let mut status = json!({"allowed": decision == Decision::Allow});
    if let Decision::Deny(_) = decision {
        status["denied"] = true.into();
    }
    if let Decision::Deny(reason) | Decision::NoOpinion(reason) = decision
        && !reason.is_empty()
    {
        status["reason"] = reason.into();
    }
    status
}

/// Returns the status of a `SelfSubjectRulesReview`.
fn rules_status(rules: &AccessRules) -> Value {
    let resources: Vec<Value> = rules
        .resources
        .iter()
        .map(|rule| {
            let mut shown =
                json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
            if !rule.names.is_empty() {
                shown["resourceNames"] = json!(rule.names);
            }
            shown
        })
        .collect();
    let paths: Vec<Value> =
        rules.paths.iter().map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.paths})).collect();
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": rules.incomplete})
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

/// Returns the review with its status.
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
