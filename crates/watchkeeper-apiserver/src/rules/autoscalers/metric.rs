//! Metrics in the annotations of `v1`.
//!
//! The order of the fields is that of the Go structs.

use serde_json::{Map, Value, json};

/// Formats an object with its fields in this order, without nulls.
fn object(fields: &[(&str, &Value)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| format!("{}:{}", Value::from(*name), ordered(name, value)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// Formats a field; the fields of two of them are not in alphabetical order.
fn ordered(name: &str, value: &Value) -> String {
    match name {
        "selector" | "metricSelector" => object(&[
            ("matchLabels", &value["matchLabels"]),
            ("matchExpressions", &value["matchExpressions"]),
        ]),
        "target" => object(&[
            ("kind", &value["kind"]),
            ("name", &value["name"]),
            ("apiVersion", &value["apiVersion"]),
        ]),
        _ => value.to_string(),
    }
}

/// Returns the amount; `0` if it is absent.
fn amount(value: &Value) -> Value {
    if value.is_null() { json!("0") } else { value.clone() }
}

/// Formats a list as Go does.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    go(&format!("[{}]", items.collect::<Vec<_>>().join(",")))
}

/// Escapes HTML characters as Go does; in JSON they occur only in strings.
pub(super) fn go(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Formats a metric spec for `v1`.
pub(super) fn old_spec(metric: &Value) -> String {
    let (object_of, pods, external) = (&metric["object"], &metric["pods"], &metric["external"]);
    let source = match metric["type"].as_str().unwrap_or_default() {
        "Object" => object(&[
            ("target", &object_of["describedObject"]),
            ("metricName", &object_of["metric"]["name"]),
            ("targetValue", &amount(&object_of["target"]["value"])),
            ("selector", &object_of["metric"]["selector"]),
            ("averageValue", &object_of["target"]["averageValue"]),
        ]),
        "Pods" => object(&[
            ("metricName", &pods["metric"]["name"]),
            ("targetAverageValue", &amount(&pods["target"]["averageValue"])),
            ("selector", &pods["metric"]["selector"]),
        ]),
        "External" => object(&[
            ("metricName", &external["metric"]["name"]),
            ("metricSelector", &external["metric"]["selector"]),
            ("targetValue", &external["target"]["value"]),
            ("targetAverageValue", &external["target"]["averageValue"]),
        ]),
        kind => {
            let source = &metric[field(kind)];
            object(&[
                ("name", &source["name"]),
                ("targetAverageUtilization", &source["target"]["averageUtilization"]),
                ("targetAverageValue", &source["target"]["averageValue"]),
                ("container", &source["container"]),
            ])
        }
    };
    with_type(metric, &source)
}

/// Formats a metric status for `v1`.
pub(super) fn old_status(metric: &Value) -> String {
    let (object_of, pods, external) = (&metric["object"], &metric["pods"], &metric["external"]);
    let source = match metric["type"].as_str().unwrap_or_default() {
        "Object" => object(&[
            ("target", &object_of["describedObject"]),
            ("metricName", &object_of["metric"]["name"]),
            ("currentValue", &amount(&object_of["current"]["value"])),
            ("selector", &object_of["metric"]["selector"]),
            ("averageValue", &object_of["current"]["averageValue"]),
        ]),
        "Pods" => object(&[
            ("metricName", &pods["metric"]["name"]),
            ("currentAverageValue", &amount(&pods["current"]["averageValue"])),
            ("selector", &pods["metric"]["selector"]),
        ]),
        "External" => object(&[
            ("metricName", &external["metric"]["name"]),
            ("metricSelector", &external["metric"]["selector"]),
            ("currentValue", &amount(&external["current"]["value"])),
            ("currentAverageValue", &external["current"]["averageValue"]),
        ]),
        kind => {
            let source = &metric[field(kind)];
            object(&[
                ("name", &source["name"]),
                ("currentAverageUtilization", &source["current"]["averageUtilization"]),
                ("currentAverageValue", &amount(&source["current"]["averageValue"])),
                ("container", &source["container"]),
            ])
        }
    };
    with_type(metric, &source)
}

/// Returns the field of a metric type.
fn field(kind: &str) -> &'static str {
    match kind {
        "Object" => "object",
        "Pods" => "pods",
        "External" => "external",
        "ContainerResource" => "containerResource",
        _ => "resource",
    }
}

fn with_type(metric: &Value, source: &str) -> String {
    let kind = metric["type"].as_str().unwrap_or_default();
    format!("{{\"type\":{},\"{}\":{source}}}", metric["type"], field(kind))
}

/// Converts a metric spec of `v1` to `v2`.
pub(super) fn new_spec(old: &Value) -> Value {
    let kind = old["type"].as_str().unwrap_or_default();
    let source = &old[field(kind)];
    let (value, average) = (&source["targetValue"], &source["targetAverageValue"]);
    let new = match kind {
        "Object" => {
            let average = &source["averageValue"];
            let form = if average.is_null() { "Value" } else { "AverageValue" };
            // `old_spec` writes `0` for an absent value.
            let has_value = average.is_null() || value != "0";
            let value = if has_value { value.clone() } else { Value::Null };
            filled(json!({
                "describedObject": source["target"],
                "metric": identifier(source, "selector"),
                "target": {"type": form, "value": value, "averageValue": average},
            }))
        }
        "Pods" => filled(json!({
            "metric": identifier(source, "selector"),
            "target": {"type": "AverageValue", "averageValue": average},
        })),
        "External" => {
            let form = if value.is_null() { "AverageValue" } else { "Value" };
            filled(json!({
                "metric": identifier(source, "metricSelector"),
                "target": {"type": form, "value": value, "averageValue": average},
            }))
        }
        _ => {
            let used = &source["targetAverageUtilization"];
            let form = if used.is_null() { "AverageValue" } else { "Utilization" };
            filled(json!({
                "name": source["name"],
                "container": source["container"],
                "target": {"type": form, "averageUtilization": used, "averageValue": average},
            }))
        }
    };
    json!({"type": kind, field(kind): new})
}

/// Converts a metric status of `v1` to `v2`.
pub(super) fn new_status(old: &Value) -> Value {
    let kind = old["type"].as_str().unwrap_or_default();
    let source = &old[field(kind)];
    let (value, average) = (&source["currentValue"], &source["currentAverageValue"]);
    let new = match kind {
        "Object" => filled(json!({
            "describedObject": source["target"],
            "metric": identifier(source, "selector"),
            "current": {"value": value, "averageValue": source["averageValue"]},
        })),
        "Pods" => filled(json!({
            "metric": identifier(source, "selector"),
            "current": {"averageValue": average},
        })),
        "External" => filled(json!({
            "metric": identifier(source, "metricSelector"),
            "current": {"value": value, "averageValue": average},
        })),
        _ => filled(json!({
            "name": source["name"],
            "container": source["container"],
            "current": {"averageUtilization": source["currentAverageUtilization"], "averageValue": average},
        })),
    };
    json!({"type": kind, field(kind): new})
}

fn identifier(source: &Value, selector: &str) -> Value {
    json!({"name": source["metricName"], "selector": source[selector]})
}

/// Removes nulls.
fn filled(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, filled(value))).collect::<Map<_, _>>())
        }
        other => other,
    }
}
