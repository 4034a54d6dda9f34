//! Said: what a server answered, and whether another said the same.
//!
//! All of a refusal is compared: its code, its reason, its message and its causes in their order. What the real
//! server is known to word otherwise is listed here, and is let pass nowhere else.

use serde_json::Value;

/// Fields whose values the real server shows as one of its own types.
const SHOWN_AS_TYPES: [&str; 2] = ["spec.template", "spec.volumeClaimTemplates"];

/// Fields of which the real server adds, in more lines, how the old and the new differ.
const SHOWN_WITH_LINES: [(&str, &str); 3] = [
    ("pods", "spec"),
    ("persistentvolumeclaims", "spec"),
    ("persistentvolumes", "spec.persistentvolumesource"),
];

/// What a server said.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: u16,
    reason: Value,
    message: String,
    causes: Vec<Value>,
    pub(crate) body: Value,
}

impl Said {
    pub(crate) fn of(code: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_refusal = code >= 400;
        let part = |value: &Value| if is_refusal { value.clone() } else { Value::Null };
        Self {
            code,
            reason: part(&body["reason"]),
            message: part(&body["message"]).as_str().unwrap_or_default().to_owned(),
            causes: part(&body["details"]["causes"]).as_array().cloned().unwrap_or_default(),
            body,
        }
    }

    /// A text that says nothing of values, of which some are shown in another form.
    pub(crate) fn outline(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!("{} {}", cause["reason"], cause["field"]));
        format!("{} {} {}", self.code, self.reason, causes.collect::<Vec<_>>().join(", "))
    }

    /// All that was said, for a message.
    pub(crate) fn told(&self) -> String {
        format!("{} {}", self.outline(), self.message)
    }

    /// Whether ours has said the same of an object of that resource.
    pub(crate) fn is_said_by(&self, ours: &Self, resource: &str) -> bool {
        let mut message = masked(&self.message);
        for (real, ours) in self.causes.iter().zip(&ours.causes) {
            let text = |cause: &Value| masked(cause["message"].as_str().unwrap_or_default());
            let (said, told) = (text(real), text(ours));
            let field = real["field"].as_str().unwrap_or_default();
            if said != told && is_worded_otherwise(resource, field, &said, &told) {
                message = message.replacen(&said, &told, 1);
            } else if said != told {
                return false;
            }
        }
        self.outline() == ours.outline() && message == masked(&ours.message)
    }
}

/// Whether a cause is one that the real server words otherwise.
fn is_worded_otherwise(resource: &str, field: &str, said: &str, told: &str) -> bool {
    let is_immutable =
        |message: &str| message.starts_with("Invalid value: ") && message.ends_with(": field is immutable");
    let has_more_lines = said.strip_prefix(told).is_some_and(|rest| rest.starts_with('\n'));
    (SHOWN_WITH_LINES.contains(&(resource, field)) && has_more_lines)
        || (SHOWN_AS_TYPES.contains(&field) && is_immutable(said) && is_immutable(told))
}

fn masked(text: &str) -> String {
    without_uids(&without_known(text))
}

/// What is known to differ: an empty map or list is absent for us, and nobody adds finalizers for the protection of
/// storage.
fn without_known(text: &str) -> String {
    let text = text.replace(" value: {}:", " value: null:").replace(" value: []:", " value: null:");
    let text = text.replace("\":[]", "\":null");
    ["pvc", "pv"].into_iter().fold(text, |text, kind| {
        text.replace(&format!(",\"kubernetes.io/{kind}-protection\""), "")
            .replace(&format!(",\\\"kubernetes.io/{kind}-protection\\\""), "")
    })
}

/// A text in which all uids are one.
fn without_uids(text: &str) -> String {
    let is_uid = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| is_uid(word)).collect();
    words.into_iter().fold(text.to_owned(), |text, uid| text.replace(uid, "<uid>"))
}
