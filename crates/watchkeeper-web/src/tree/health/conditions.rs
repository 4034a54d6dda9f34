//! Health by the conditions that operators commonly set on any kind.

use serde_json::Value;

use super::{Condition, condition, int, is_true, reason, text};

/// Assesses an object by its conditions (`health.H3`).
pub(super) fn by_conditions(object: &Value) -> Condition {
    if let Some(stalled) = condition(object, "Stalled").filter(|stalled| text(stalled, "/status") == "True") {
        return Condition::degraded(reason(stalled));
    }
    let decides = ["Ready", "Available"].into_iter().find_map(|name| condition(object, name));
    let works = is_true(object, "Reconciling") || is_true(object, "Progressing");
    let Some(decides) = decides else {
        return if works {
            Condition::progressing("Reconciling")
        } else {
            Condition { status: text(object, "/status/phase").to_owned(), ..Condition::UNKNOWN }
        };
    };
    let seen = decides.pointer("/observedGeneration").and_then(Value::as_i64);
    if seen.is_some_and(|seen| seen < int(object, "/metadata/generation")) {
        return Condition::progressing("not observed by its controller yet");
    }
    let name = text(decides, "/type");
    let not = match text(decides, "/reason") {
        "" => format!("not {name}"),
        reason => format!("not {name}: {reason}"),
    };
    match text(decides, "/status") {
        "True" if is_true(object, "Reconciling") => Condition::progressing(name),
        "True" => Condition::healthy(name),
        "False" if !works => Condition::degraded(not),
        _ => Condition::progressing(not),
    }
}
