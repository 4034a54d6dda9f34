//! Causes of invalid options, in kube-apiserver's words.

use watchkeeper_core::{CauseType, GroupKind, Quoted, Status, StatusCause};

pub(super) fn dry_run_fault<T: AsRef<str>>(values: &[T]) -> Option<StatusCause> {
    let supported = values.iter().all(|value| value.as_ref() == "All");
    (!supported).then(|| {
        let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        not_supported("dryRun", &serde_json::json!(values).to_string(), &["All"])
    })
}

pub(super) fn forbidden(field: &str, detail: &str) -> StatusCause {
    fault(CauseType::FieldValueForbidden, field, &format!("Forbidden: {detail}"))
}

pub(super) fn not_supported(field: &str, value: &str, supported: &[&str]) -> StatusCause {
    let supported: Vec<String> = supported.iter().map(|it| Quoted(it).to_string()).collect();
    let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
    fault(CauseType::FieldValueNotSupported, field, &message)
}

pub(super) fn fault(cause: CauseType, field: &str, message: &str) -> StatusCause {
    StatusCause { cause, message: message.to_owned(), field: field.to_owned() }
}

pub(super) fn invalid(kind: &str, faults: Vec<StatusCause>) -> Result<(), Status> {
    if faults.is_empty() {
        return Ok(());
    }
    let kind = GroupKind { group: "meta.k8s.io".to_owned(), kind: kind.to_owned() };
    Err(Status::invalid(&kind, "", faults))
}
