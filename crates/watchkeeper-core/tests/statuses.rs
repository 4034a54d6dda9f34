//! Statuses: JSON form, predicates, constructors and unexpected responses.
//!
//! The tables follow Go's `k8s.io/apimachinery/pkg/api/errors` v0.37.1 and client-go's reflector and
//! REST client.

use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_core::{
    CauseType, GroupKind, GroupResource, Outcome, Status, StatusCause, StatusDetails, StatusReason,
    UnexpectedResponse,
};

fn pods() -> GroupResource {
    GroupResource { group: String::new(), resource: "pods".into() }
}

fn deployments() -> GroupResource {
    GroupResource { group: "apps".into(), resource: "deployments".into() }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn cause(cause: CauseType, message: &str, field: &str) -> StatusCause {
    StatusCause { cause, message: message.into(), field: field.into() }
}

/// Returns the body of a failure as a server sends it.
fn failure(code: i32, reason: &str, message: &str, details: Option<Value>) -> Value {
    let mut body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    if let Some(details) = details {
        body["details"] = details;
    }
    body
}

#[test]
fn constructors_have_the_messages_of_kubernetes() {
    let deployment = GroupKind { group: "apps".into(), kind: "Deployment".into() };
    let pod = GroupKind { group: String::new(), kind: "Pod".into() };
    let required = || cause(CauseType::FieldValueRequired, "Required value: x", "spec.a");
    let required_body =
        json!({"reason": "FieldValueRequired", "message": "Required value: x", "field": "spec.a"});
    let table = [
        (
            Status::not_found(&pods(), "web-0"),
            failure(
                404,
                "NotFound",
                r#"pods "web-0" not found"#,
                Some(json!({"name": "web-0", "kind": "pods"})),
            ),
        ),
        (
            Status::already_exists(&deployments(), "web"),
            failure(
                409,
                "AlreadyExists",
                r#"deployments.apps "web" already exists"#,
                Some(json!({"name": "web", "group": "apps", "kind": "deployments"})),
            ),
        ),
        (
            Status::generate_name_conflict(&pods(), "web-", seconds(1)),
            failure(
                409,
                "AlreadyExists",
                r#"pods "web-" already exists, the server was not able to generate a unique name for the object"#,
                Some(json!({"name": "web-", "kind": "pods", "retryAfterSeconds": 1})),
            ),
        ),
        (
            Status::conflict(&pods(), "web-0", "changed"),
            failure(
                409,
                "Conflict",
                r#"Operation cannot be fulfilled on pods "web-0": changed"#,
                Some(json!({"name": "web-0", "kind": "pods"})),
            ),
        ),
        (
            Status::apply_conflict(
                vec![cause(CauseType::FieldManagerConflict, "m", ".spec")],
                "Apply failed",
            ),
            failure(
                409,
                "Conflict",
                "Apply failed",
                Some(
                    json!({"causes": [{"reason": "FieldManagerConflict", "message": "m", "field": ".spec"}]}),
                ),
            ),
        ),
        (
            Status::expired("too old resource version: 5 (10)"),
            failure(410, "Expired", "too old resource version: 5 (10)", None),
        ),
        (Status::gone("g"), failure(410, "Gone", "g", None)),
        (
            Status::invalid(&deployment, "web", vec![]),
            failure(
                422,
                "Invalid",
                r#"Deployment.apps "web" is invalid"#,
                Some(json!({"name": "web", "group": "apps", "kind": "Deployment"})),
            ),
        ),
        (
            Status::invalid(&pod, "web", vec![required(), required()]),
            failure(
                422,
                "Invalid",
                r#"Pod "web" is invalid: spec.a: Required value: x"#,
                Some(json!({"name": "web", "kind": "Pod", "causes": [&required_body, &required_body]})),
            ),
        ),
        (
            Status::invalid(
                &pod,
                "web",
                vec![required(), cause(CauseType::FieldValueForbidden, "Forbidden: y", "spec.b"), required()],
            ),
            failure(
                422,
                "Invalid",
                r#"Pod "web" is invalid: [spec.a: Required value: x, spec.b: Forbidden: y]"#,
                Some(json!({"name": "web", "kind": "Pod", "causes": [
                    &required_body,
                    {"reason": "FieldValueForbidden", "message": "Forbidden: y", "field": "spec.b"},
                    &required_body,
                ]})),
            ),
        ),
        (Status::bad_request("no"), failure(400, "BadRequest", "no", None)),
        (Status::unauthorized(""), failure(401, "Unauthorized", "not authorized", None)),
        (Status::unauthorized("Unauthorized"), failure(401, "Unauthorized", "Unauthorized", None)),
        (Status::forbidden(None, "", "why"), failure(403, "Forbidden", "forbidden: why", Some(json!({})))),
        (
            Status::forbidden(Some(&pods()), "", "why"),
            failure(403, "Forbidden", "pods is forbidden: why", Some(json!({"kind": "pods"}))),
        ),
        (
            Status::forbidden(Some(&pods()), "web-0", "why"),
            failure(
                403,
                "Forbidden",
                r#"pods "web-0" is forbidden: why"#,
                Some(json!({"name": "web-0", "kind": "pods"})),
            ),
        ),
        (
            Status::method_not_supported(&deployments(), "watch"),
            failure(
                405,
                "MethodNotAllowed",
                r#"watch is not supported on resources of kind "deployments.apps""#,
                Some(json!({"group": "apps", "kind": "deployments"})),
            ),
        ),
        (
            Status::not_acceptable(&["application/json", "application/yaml"]),
            failure(
                406,
                "NotAcceptable",
                "only the following media types are accepted: application/json, application/yaml",
                None,
            ),
        ),
        (
            Status::request_entity_too_large("limit is 3145728"),
            failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728", None),
        ),
        (
            Status::unsupported_media_type(&["application/json"]),
            failure(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json",
                None,
            ),
        ),
        (
            Status::too_many_requests("storage is (re)initializing", seconds(1)),
            failure(
                429,
                "TooManyRequests",
                "storage is (re)initializing",
                Some(json!({"retryAfterSeconds": 1})),
            ),
        ),
        (
            Status::internal_error("boom"),
            failure(
                500,
                "InternalError",
                "Internal error occurred: boom",
                Some(json!({"causes": [{"message": "boom"}]})),
            ),
        ),
        (
            Status::server_timeout(&pods(), "list", seconds(2)),
            failure(
                500,
                "ServerTimeout",
                "The list operation against pods could not be completed at this time, please try again.",
                Some(json!({"name": "list", "kind": "pods", "retryAfterSeconds": 2})),
            ),
        ),
        (Status::service_unavailable("down"), failure(503, "ServiceUnavailable", "down", None)),
        (
            Status::timeout("slow", seconds(3)),
            failure(504, "Timeout", "Timeout: slow", Some(json!({"retryAfterSeconds": 3}))),
        ),
        (
            Status::too_large_resource_version(&20.into(), &10.into(), seconds(1)),
            failure(
                504,
                "Timeout",
                "Timeout: Too large resource version: 20, current: 10",
                Some(json!({
                    "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                    "retryAfterSeconds": 1,
                })),
            ),
        ),
    ];
    for (status, body) in table {
        assert_eq!(serde_json::to_value(&status).unwrap(), body);
        assert_eq!(serde_json::from_value::<Status>(body).unwrap(), status);
    }
}

#[test]
fn names_are_quoted_as_in_go() {
    let table = [
        ("web-0", r#""web-0""#),
        ("a\"b\\c'", r#""a\"b\\c'""#),
        ("\n\r\t\u{7}\u{8}\u{b}\u{c}\0\u{1}\u{7f}", r#""\n\r\t\a\b\v\f\x00\x01\x7f""#),
        ("é\u{301}ｘ\u{200b}\u{a0}", "\"é\u{301}ｘ\\u200b\\u00a0\""),
        ("😀\u{e0001}", r#""😀\U000e0001""#),
    ];
    for (name, quoted) in table {
        assert_eq!(Status::not_found(&pods(), name).message, format!("pods {quoted} not found"));
    }
}

#[test]
fn retry_delays_are_rounded_up_to_seconds() {
    let wait = |wait| Status::too_many_requests("", wait).details.unwrap().retry_after_seconds;
    assert_eq!(wait(Duration::from_millis(1)), 1);
    assert_eq!(wait(Duration::ZERO), 0);
    assert_eq!(wait(Duration::MAX), i32::MAX);
}

#[test]
fn fields_are_in_the_order_of_go_and_empty_ones_omitted() {
    assert_eq!(
        serde_json::to_string(&Status::not_found(&pods(), "a")).unwrap(),
        concat!(
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
            r#""message":"pods \"a\" not found","reason":"NotFound","details":{"name":"a","kind":"pods"},"code":404}"#,
        )
    );
    let empty = serde_json::to_string(&Status::default()).unwrap();
    assert_eq!(empty, r#"{"kind":"Status","apiVersion":"v1","metadata":{}}"#);
}

#[test]
fn absent_and_null_fields_are_empty() {
    let bare: Status = serde_json::from_str("{}").unwrap();
    assert_eq!(bare, Status::default());
    let nulls = r#"{"kind": "Status", "apiVersion": null, "metadata": null, "status": null, "message": null,
        "reason": null, "details": {"name": null, "causes": null, "retryAfterSeconds": null}, "code": null}"#;
    let nulls: Status = serde_json::from_str(nulls).unwrap();
    assert_eq!(nulls, Status { details: Some(Box::default()), ..Status::default() });
}

#[test]
fn a_body_of_another_kind_is_not_a_status() {
    for body in
        [r#"{"kind": "Pod"}"#, r#"{"kind": "Status", "apiVersion": "apps/v1"}"#, r#"{"code": "404"}"#, "7"]
    {
        assert!(serde_json::from_str::<Status>(body).is_err(), "{body}");
    }
    assert!(serde_json::from_str::<Status>(r#"{"kind": "Status", "apiVersion": "meta.k8s.io/v1"}"#).is_ok());
}

#[test]
fn the_outcome_is_success_failure_or_absent() {
    let read = |body| serde_json::from_str::<Status>(body).unwrap();
    assert_eq!(read(r#"{"status": "Success"}"#).outcome, Some(Outcome::Success));
    assert!(read(r#"{"status": "Failure"}"#).is_failure());
    assert!(!read(r#"{"status": "success"}"#).is_failure());
    assert_eq!(read("{}").outcome, None);
}

#[test]
fn an_expired_page_can_have_a_continue_token() {
    let body = r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"abc"},"status":"Failure","reason":"Expired","code":410}"#;
    let status: Status = serde_json::from_str(body).unwrap();
    assert_eq!(status.continue_token.as_deref(), Some("abc"));
    assert_eq!(serde_json::to_string(&status).unwrap(), body);
}

#[test]
fn unknown_reasons_are_preserved() {
    let body = r#"{"reason": "Teapot", "details": {"causes": [{"reason": "DisruptionBudget"}]}}"#;
    let status: Status = serde_json::from_str(body).unwrap();
    assert_eq!(status.reason, StatusReason::Other("Teapot".into()));
    assert_eq!(status.cause(&"DisruptionBudget".into()).unwrap().cause.as_str(), "DisruptionBudget");
    assert_eq!(StatusReason::from("StorageReadError"), StatusReason::StoreReadError);
    assert_eq!(StatusReason::from(""), StatusReason::Unknown);
}

#[test]
fn a_status_displays_its_message_or_reason_and_code() {
    let status = |message: &str, reason: &str, code| {
        Status { message: message.into(), reason: reason.into(), code, ..Status::default() }.to_string()
    };
    assert_eq!(status("pods is forbidden", "Forbidden", 403), "pods is forbidden");
    assert_eq!(status("", "Forbidden", 403), "Forbidden (code 403)");
    assert_eq!(status("", "Forbidden", 0), "Forbidden");
    assert_eq!(status("", "", 403), "unknown error (code 403)");
    assert_eq!(status("", "", 0), "unknown error");
}

type Predicate = fn(&Status) -> bool;

/// `status.R1`: each predicate with its reason, its code, and whether the code decides if the reason is
/// unknown, and if it is another one.
const PREDICATES: [(Predicate, &str, i32, bool, bool); 17] = [
    (Status::is_not_found, "NotFound", 404, true, false),
    (Status::is_already_exists, "AlreadyExists", 409, false, false),
    (Status::is_conflict, "Conflict", 409, true, false),
    (Status::is_expired, "Gone", 410, true, false),
    (Status::is_invalid, "Invalid", 422, true, false),
    (Status::is_bad_request, "BadRequest", 400, true, false),
    (Status::is_unauthorized, "Unauthorized", 401, true, false),
    (Status::is_forbidden, "Forbidden", 403, true, false),
    (Status::is_method_not_supported, "MethodNotAllowed", 405, true, false),
    (Status::is_not_acceptable, "NotAcceptable", 406, true, false),
    (Status::is_unsupported_media_type, "UnsupportedMediaType", 415, true, false),
    (Status::is_request_entity_too_large, "RequestEntityTooLarge", 413, true, true),
    (Status::is_too_many_requests, "TooManyRequests", 429, true, true),
    (Status::is_timeout, "Timeout", 504, true, false),
    (Status::is_server_timeout, "ServerTimeout", 500, false, false),
    (Status::is_internal_error, "InternalError", 500, true, false),
    (Status::is_service_unavailable, "ServiceUnavailable", 503, true, false),
];

#[test]
fn a_known_reason_takes_precedence_over_the_code() {
    for (predicate, reason, code, by_code, always_by_code) in PREDICATES {
        let answer =
            |reason: &str, code| predicate(&Status { reason: reason.into(), code, ..Status::default() });
        assert!(answer(reason, 0), "{reason} without a code");
        assert!(answer(reason, 200), "{reason} with another code");
        assert_eq!(answer("", code), by_code, "{code} without a reason, for {reason}");
        assert_eq!(answer("Teapot", code), by_code, "{code} with an unknown reason, for {reason}");
        let other = if reason == "Invalid" { "Forbidden" } else { "Invalid" };
        assert_eq!(answer(other, code), always_by_code, "{code} with another reason, for {reason}");
        assert!(!answer("", 418), "418, for {reason}");
    }
}

#[test]
fn expired_gone_and_code_410_all_mean_expired() {
    let expired =
        |reason: &str, code| Status { reason: reason.into(), code, ..Status::default() }.is_expired();
    assert!(expired("Expired", 0) && expired("Gone", 0) && expired("", 410));
    assert!(!expired("Conflict", 410) && !expired("", 404));
    assert!(Status::expired("").is_expired() && Status::gone("").is_expired());
}

#[test]
fn all_three_forms_of_too_large_resource_version_are_recognized() {
    let with_cause = |reason: &str, cause: CauseType, message: &str| Status {
        reason: reason.into(),
        details: Some(Box::new(StatusDetails {
            causes: vec![StatusCause { cause, message: message.into(), ..StatusCause::default() }],
            ..StatusDetails::default()
        })),
        ..Status::default()
    };
    let with_message = |reason: &str, message: &str, details| Status {
        reason: reason.into(),
        message: message.into(),
        details,
        ..Status::default()
    };
    let text = "Too large resource version";
    let table = [
        ("the cause, whatever the reason", with_cause("", CauseType::ResourceVersionTooLarge, ""), true),
        ("1.17 to 1.18.5", with_cause("Timeout", CauseType::Unknown, text), true),
        (
            "a longer message",
            with_cause("Timeout", CauseType::Unknown, "Too large resource version: 5"),
            false,
        ),
        ("no timeout", with_cause("InternalError", CauseType::Unknown, text), false),
        (
            "before 1.17",
            with_message(
                "Timeout",
                "Timeout: Too large resource version: 5, current: 4",
                Some(Box::default()),
            ),
            true,
        ),
        ("no details", with_message("Timeout", text, None), false),
        ("another timeout", with_message("Timeout", "Timeout: slow", Some(Box::default())), false),
        ("ours", Status::too_large_resource_version(&5.into(), &4.into(), seconds(1)), true),
    ];
    for (case, status, expected) in table {
        assert_eq!(status.is_too_large_resource_version(), expected, "{case}");
    }
}

#[test]
fn a_server_timeout_always_has_a_retry_delay() {
    let status = |reason: &str, retry_after_seconds| Status {
        reason: reason.into(),
        details: Some(Box::new(StatusDetails { retry_after_seconds, ..StatusDetails::default() })),
        ..Status::default()
    };
    assert_eq!(status("TooManyRequests", 7).retry_after(), Some(seconds(7)));
    assert_eq!(status("TooManyRequests", 0).retry_after(), None);
    assert_eq!(status("ServerTimeout", 0).retry_after(), Some(seconds(0)));
    assert_eq!(status("ServerTimeout", -3).retry_after(), Some(seconds(0)));
    assert_eq!(status("AlreadyExists", -3).retry_after(), None);
    let without_details = Status { reason: StatusReason::ServerTimeout, ..Status::default() };
    assert_eq!(without_details.retry_after(), None);
}

#[test]
fn unexpected_responses_become_statuses_by_code() {
    let table = [
        (400, "BadRequest", "the server rejected our request for an unknown reason"),
        (401, "Unauthorized", "the server has asked for the client to provide credentials"),
        (403, "Forbidden", "text"),
        (404, "NotFound", "the server could not find the requested resource"),
        (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
        (406, "NotAcceptable", "text"),
        (409, "Conflict", "the server reported a conflict"),
        (410, "", "the server responded with the status code 410 but did not return more information"),
        (413, "", "the server responded with the status code 413 but did not return more information"),
        (415, "UnsupportedMediaType", "text"),
        (422, "Invalid", "the server rejected our request due to an error in our request"),
        (
            429,
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        (
            500,
            "InternalError",
            r#"an error on the server ("text") has prevented the request from succeeding"#,
        ),
        (
            502,
            "InternalError",
            r#"an error on the server ("text") has prevented the request from succeeding"#,
        ),
        (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        (
            504,
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
    ];
    for (code, reason, message) in table {
        let answer = UnexpectedResponse { code, method: "GET", text: Some(b" text\n"), ..Default::default() };
        let status = Status::from(answer);
        assert_eq!((status.code, status.reason.as_str(), &*status.message), (code.into(), reason, message));
        assert!(status.is_failure() && status.is_unexpected_server_error());
        assert_eq!(status.cause(&CauseType::UnexpectedServerResponse).unwrap().message, "text");
    }
}

#[test]
fn unexpected_responses_name_the_requested_resource() {
    let resource = deployments();
    let answer = UnexpectedResponse {
        code: 409,
        method: "POST",
        resource: Some(&resource),
        retry_after: Some(seconds(3)),
        ..Default::default()
    };
    let collection = Status::from(answer);
    assert_eq!(collection.message, "the server reported a conflict (post deployments.apps)");
    assert!(collection.is_already_exists());
    assert_eq!(collection.retry_after(), Some(seconds(3)));
    assert_eq!(collection.cause(&CauseType::UnexpectedServerResponse).unwrap().message, "unknown");

    let one = Status::from(UnexpectedResponse { name: "web", method: "PUT", ..answer });
    assert_eq!(one.message, "the server reported a conflict (put deployments.apps web)");
    let details = one.details.unwrap();
    assert_eq!((&*details.group, &*details.kind, &*details.name), ("apps", "deployments", "web"));
}

#[test]
fn a_406_without_text_has_a_default_message() {
    let message = |text| Status::from(UnexpectedResponse { code: 406, text, ..Default::default() }).message;
    let sentence = "the server was unable to respond with a content type that the client supports";
    assert_eq!(message(None), sentence);
    assert_eq!(message(Some(b"")), sentence);
    assert_eq!(message(Some(b"only text/plain")), "only text/plain");
}

#[test]
fn bodies_of_unexpected_responses_are_truncated() {
    let long = "é".repeat(5_000);
    let text = &long.as_bytes()[1..]; // starts and is truncated within a character
    let status = Status::from(UnexpectedResponse { code: 403, text: Some(text), ..Default::default() });
    let kept = UnexpectedResponse::TEXT_LIMIT / 2 - 1;
    assert_eq!(status.message, format!("\u{fffd}{}\u{fffd}", "é".repeat(kept)));
}
