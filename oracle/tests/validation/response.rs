//! Response: a server's response, and its comparison with another server's.
//!
//! The whole of an error is compared: code, reason, message, and causes in their order. The messages that the real
//! server is known to word differently are listed here.

use serde_json::Value;

/// Fields whose values the real server prints as Go structs.
const PRINTED_AS_STRUCTS: [&str; 2] = ["spec.template", "spec.volumeClaimTemplates"];

/// Resources and fields for which the real server appends a diff of the old and new value.
const PRINTED_WITH_DIFF: [(&str, &str); 3] = [
    ("pods", "spec"),
    ("persistentvolumeclaims", "spec"),
    ("persistentvolumes", "spec.persistentvolumesource"),
];

/// A response; `reason`, `message` and `causes` are set only if it is an error.
#[derive(Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) code: u16,
    reason: Value,
    message: String,
    causes: Vec<Value>,
    pub(crate) body: Value,
}

impl Response {
    pub(crate) fn new(code: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_error = code >= 400;
        let part = |value: &Value| if is_error { value.clone() } else { Value::Null };
        Self {
            code,
            reason: part(&body["reason"]),
            message: part(&body["message"]).as_str().unwrap_or_default().to_owned(),
            causes: part(&body["details"]["causes"]).as_array().cloned().unwrap_or_default(),
            body,
        }
    }

    /// Code, reason and fields: what is compared where the real server prints values in another form.
    pub(crate) fn outline(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!("{} {}", cause["reason"], cause["field"]));
        format!("{} {} {}", self.code, self.reason, causes.collect::<Vec<_>>().join(", "))
    }

    /// Everything that is compared, for a test failure.
    pub(crate) fn summary(&self) -> String {
        format!("{} {}", self.outline(), self.message)
    }

    /// Whether our response for an object of this resource is the same, apart from known differences in wording.
    pub(crate) fn equals(&self, ours: &Self, resource: &str) -> bool {
        let mut message = normalize(&self.message);
        for (real, ours) in self.causes.iter().zip(&ours.causes) {
            let text = |cause: &Value| normalize(cause["message"].as_str().unwrap_or_default());
            let (theirs, ours) = (text(real), text(ours));
            let field = real["field"].as_str().unwrap_or_default();
            if theirs != ours && is_known_difference(resource, field, &theirs, &ours) {
                message = message.replacen(&theirs, &ours, 1);
            } else if theirs != ours {
                return false;
            }
        }
        self.outline() == ours.outline() && message == normalize(&ours.message)
    }
}

/// Whether the message of a cause is one that the real server is known to word differently.
fn is_known_difference(resource: &str, field: &str, theirs: &str, ours: &str) -> bool {
    let is_immutable =
        |message: &str| message.starts_with("Invalid value: ") && message.ends_with(": field is immutable");
    let has_diff = theirs.strip_prefix(ours).is_some_and(|rest| rest.starts_with('\n'));
    (PRINTED_WITH_DIFF.contains(&(resource, field)) && has_diff)
        || (PRINTED_AS_STRUCTS.contains(&field) && is_immutable(theirs) && is_immutable(ours))
}

fn normalize(text: &str) -> String {
    without_uids(&without_known_differences(text))
}

/// Removes two known differences: we treat empty maps and lists as absent, and do not add the finalizers that protect
/// volumes and claims in use.
fn without_known_differences(text: &str) -> String {
    let text = text.replace(" value: {}:", " value: null:").replace(" value: []:", " value: null:");
    let text = text.replace("\":[]", "\":null");
    ["pvc", "pv"].into_iter().fold(text, |text, kind| {
        text.replace(&format!(",\"kubernetes.io/{kind}-protection\""), "")
            .replace(&format!(",\\\"kubernetes.io/{kind}-protection\\\""), "")
    })
}

/// Replaces all UIDs.
fn without_uids(text: &str) -> String {
    let is_uid = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| is_uid(word)).collect();
    words.into_iter().fold(text.to_owned(), |text, uid| text.replace(uid, "<uid>"))
}
