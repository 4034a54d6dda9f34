//! Cells of horizontal pod autoscalers, of both versions.
//!
//! `autoscaling/v1` has a field for one metric and annotations for the others, which are converted to
//! the form of `v2` first.

use serde_json::{Value, json};
use watchkeeper_wire::json_path::at;

use super::first_few;
use crate::cell::Subject;
use crate::value::{amount, list, text, text_or_empty};

pub(crate) fn reference(subject: &Subject<'_>) -> Value {
    let target = |field| text_or_empty(&subject.object["spec"]["scaleTargetRef"], field);
    Value::from(format!("{}/{}", target("kind"), target("name")))
}

/// Current and target values: `cpu: 12%/80%`. Shows the first two.
pub(crate) fn targets(subject: &Subject<'_>) -> Value {
    let (wanted, measured) = match metrics_of_v1(subject.object) {
        Some(read) => read,
        None => {
            let metrics = |path| list(subject.object, path).to_vec();
            (metrics("spec.metrics"), metrics("status.currentMetrics"))
        }
    };
    if wanted.is_empty() {
        return Value::from("<none>");
    }
    let metric = |(position, metric)| target(metric, measured.get(position));
    let all: Vec<String> = wanted.iter().enumerate().map(metric).collect();
    Value::from(first_few(&all, 2, ", "))
}

fn target(metric: &Value, measured: Option<&Value>) -> String {
    const UNKNOWN: &str = "<unknown>";
    let kind = text_or_empty(metric, "type");
    let (source, is_resource) = match kind {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = |field: &str| at(metric, &format!("{source}.target.{field}"));
    let measured = measured.and_then(|metric| at(metric, source));
    let current = |field: &str| measured.and_then(|metric| at(metric, &format!("current.{field}")));
    let name =
        if is_resource { format!("{}: ", text_or_empty(&metric[source], "name")) } else { String::new() };
    match (kind, wanted("averageValue")) {
        // For an average without a measurement, Go prints zero where it is not a pointer.
        ("Resource" | "ContainerResource" | "Pods", average @ Some(_)) | ("Pods", average @ None) => {
            let now = measured.map_or_else(|| UNKNOWN.to_owned(), |_| amount_or_nil(current("averageValue")));
            format!("{name}{now}/{}", amount_or_nil(average))
        }
        ("Resource" | "ContainerResource", None) => {
            let percent = |value: Option<&Value>, or: &str| {
                value.and_then(Value::as_i64).map_or_else(|| or.to_owned(), |percent| format!("{percent}%"))
            };
            let now = percent(current("averageUtilization"), UNKNOWN);
            format!("{name}{now}/{}", percent(wanted("averageUtilization"), "<auto>"))
        }
        (_, average @ Some(_)) => {
            let now = current("averageValue").map_or_else(|| UNKNOWN.to_owned(), |value| amount(Some(value)));
            format!("{now}/{} (avg)", amount(average))
        }
        (_, None) => {
            let now = measured.map_or_else(|| UNKNOWN.to_owned(), |_| amount_or_nil(current("value")));
            format!("{now}/{}", amount_or_nil(wanted("value")))
        }
    }
}

/// Formats a quantity that is a pointer in Go.
fn amount_or_nil(value: Option<&Value>) -> String {
    value.map_or_else(|| "<nil>".to_owned(), |value| amount(Some(value)))
}

/// Returns the target and current metrics of a `v1` object; `None` for other versions.
fn metrics_of_v1(object: &Value) -> Option<(Vec<Value>, Vec<Value>)> {
    let annotations = at(object, "metadata.annotations");
    let annotated =
        |name: &str| -> Option<Vec<Value>> { serde_json::from_str(annotations?.get(name)?.as_str()?).ok() };
    let others = annotated("autoscaling.alpha.kubernetes.io/metrics");
    let field = |path| at(object, path).and_then(Value::as_i64);
    let (cpu, now) =
        (field("spec.targetCPUUtilizationPercentage"), field("status.currentCPUUtilizationPercentage"));
    if text(object, "apiVersion") == Some("autoscaling/v2") || at(object, "spec.metrics").is_some() {
        return None;
    }
    let resource = |place: &str, percent: i64| json!({"type": "Resource", "resource": {"name": "cpu", place: {"averageUtilization": percent}}});
    let mut wanted: Vec<Value> = others.iter().flatten().map(|metric| in_v2(metric, "target")).collect();
    wanted.extend(cpu.map(|percent| resource("target", percent)));
    let measured = match annotated("autoscaling.alpha.kubernetes.io/current-metrics") {
        Some(measured) => measured.iter().map(|metric| in_v2(metric, "current")).collect(),
        None => now.map(|percent| resource("current", percent)).into_iter().collect(),
    };
    Some((wanted, measured))
}

/// Converts a metric in an annotation of `v1` to `v2`. `v1` prefixes the names of values with `target` or `current`.
fn in_v2(metric: &Value, place: &str) -> Value {
    let kind = text_or_empty(metric, "type");
    let mut source = kind.to_owned();
    if let Some(first) = source.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let old = &metric[&source];
    let prefix = |name: &str| {
        let mut name = name.to_owned();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        at(old, &format!("{place}{name}")).cloned().unwrap_or_default()
    };
    // The average of an Object metric has no prefix.
    let average = match prefix("averageValue") {
        Value::Null => at(old, "averageValue").cloned().unwrap_or_default(),
        average => average,
    };
    let utilization = prefix("averageUtilization");
    let value = prefix("value");
    json!({"type": kind, source: {
        "name": text_or_empty(old, "name"),
        place: {"averageValue": average, "averageUtilization": utilization, "value": value},
    }})
}
