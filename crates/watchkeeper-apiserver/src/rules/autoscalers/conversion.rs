//! Conversion between the stored `v2` and `v1`, which has fields for CPU utilization only and keeps the rest in
//! annotations.

use serde_json::{Map, Value, json};

use super::metric;

type Fields = Map<String, Value>;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// Annotations that carry fields of another version. They are never stored.
pub(super) const CARRIERS: [&str; 6] = [
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];
/// The fields of scaling rules: name in the annotation, and name in `v2`; in the order of the annotation.
const RULES: [(&str, &str); 4] = [
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
    ("Policies", "policies"),
    ("Tolerance", "tolerance"),
];

/// Converts `v2` to `v1`; a `v1` object stays unchanged.
pub(crate) fn show_autoscaler(object: &mut Fields) {
    if object.get("spec").is_none_or(|spec| spec.get("metrics").is_none()) {
        return;
    }
    let mut carried: Vec<(&str, String)> = Vec::new();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let metrics = take_list(spec, "metrics");
        let used = metrics.iter().find(|metric| is_use_of_cpu(metric));
        if let Some(used) = used {
            let percent = used["resource"]["target"]["averageUtilization"].clone();
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent);
        }
        let others: Vec<&Value> = metrics.iter().filter(|metric| !is_use_of_cpu(metric)).collect();
        if !others.is_empty() {
            carried.push((METRICS, metric::list(others.into_iter().map(metric::old_spec))));
        }
        if let Some(behavior) = spec.remove("behavior") {
            let (up, down) = (old_rules(&behavior["scaleUp"]), old_rules(&behavior["scaleDown"]));
            carried.push((BEHAVIOR, metric::go(&format!("{{\"ScaleUp\":{up},\"ScaleDown\":{down}}}"))));
        }
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        let seen = take_list(status, "currentMetrics");
        let is_cpu = |seen: &&Value| seen["type"] == "Resource" && seen["resource"]["name"] == "cpu";
        let mut percent =
            seen.iter().filter(is_cpu).map(|cpu| &cpu["resource"]["current"]["averageUtilization"]);
        if let Some(percent) = percent.rfind(|percent| !percent.is_null()) {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        if !seen.is_empty() {
            carried.push((CURRENT_METRICS, metric::list(seen.iter().map(metric::old_status))));
        }
        let conditions = take_list(status, "conditions");
        if !conditions.is_empty() {
            carried.push((CONDITIONS, metric::list(conditions.iter().map(old_condition))));
        }
        status.entry("currentReplicas").or_insert_with(|| 0.into());
    }
    for (name, text) in carried {
        object.entry("metadata").or_insert_with(|| json!({}))["annotations"][name] = text.into();
    }
}

/// Converts `v1` to `v2`.
pub(crate) fn store_autoscaler(object: &mut Fields) {
    let annotations = object.get("metadata").map(|metadata| metadata["annotations"].clone());
    let annotations = annotations.unwrap_or_default();
    // As in kube-apiserver, an annotation that cannot be parsed is ignored.
    let carried = |name: &str| serde_json::from_str::<Value>(annotations[name].as_str()?).ok();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let mut metrics: Vec<Value> = list_of(carried(METRICS)).iter().map(metric::new_spec).collect();
        let percent = spec.remove("targetCPUUtilizationPercentage");
        if percent.is_some() || metrics.is_empty() {
            metrics.push(use_of_cpu(&percent.unwrap_or_else(|| 80.into())));
        }
        spec.insert("metrics".to_owned(), metrics.into());
        if let Some(behavior) = carried(BEHAVIOR).and_then(|behavior| new_behavior(&behavior)) {
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        if let Some(percent) = status.remove("currentCPUUtilizationPercentage") {
            let cpu = json!({"name": "cpu", "current": {"averageUtilization": percent}});
            status.insert("currentMetrics".to_owned(), json!([{"type": "Resource", "resource": cpu}]));
        }
        if let Some(Value::Array(seen)) = carried(CURRENT_METRICS) {
            let seen: Vec<Value> = seen.iter().map(metric::new_status).collect();
            status.insert("currentMetrics".to_owned(), seen.into());
        }
        if let Some(conditions @ Value::Array(_)) = carried(CONDITIONS) {
            status.insert("conditions".to_owned(), conditions);
        }
    }
    drop_carriers(object);
}

/// Removes the annotations that only `v1` has.
pub(crate) fn drop_carriers(object: &mut Fields) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|name, _| !CARRIERS.contains(&name.as_str()));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

fn take_list(fields: &mut Fields, name: &str) -> Vec<Value> {
    list_of(fields.remove(name))
}

fn list_of(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn is_use_of_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && !metric["resource"]["target"]["averageUtilization"].is_null()
}

fn use_of_cpu(percent: &Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

fn old_rules(rules: &Value) -> String {
    if rules.is_null() {
        return "null".to_owned();
    }
    let fields = RULES.map(|(old, new)| match (new, &rules[new]) {
        ("policies", Value::Array(policies)) => {
            let policies: Vec<String> = policies
                .iter()
                .map(|policy| {
                    let (kind, value, period) = (&policy["type"], &policy["value"], &policy["periodSeconds"]);
                    format!("{{\"Type\":{kind},\"Value\":{value},\"PeriodSeconds\":{period}}}")
                })
                .collect();
            format!("\"{old}\":[{}]", policies.join(","))
        }
        (_, value) => format!("\"{old}\":{value}"),
    });
    format!("{{{}}}", fields.join(","))
}

fn new_behavior(old: &Value) -> Option<Value> {
    let mut behavior = Map::new();
    for (old_name, name) in [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")] {
        let Value::Object(_) = &old[old_name] else { continue };
        let mut rules = Map::new();
        for (old_rule, rule) in RULES {
            let value = match &old[old_name][old_rule] {
                Value::Null => continue,
                Value::Array(policies) => policies.iter().map(new_policy).collect(),
                value => value.clone(),
            };
            rules.insert(rule.to_owned(), value);
        }
        behavior.insert(name.to_owned(), rules.into());
    }
    (!behavior.is_empty()).then(|| behavior.into())
}

fn new_policy(old: &Value) -> Value {
    json!({"type": old["Type"], "value": old["Value"], "periodSeconds": old["PeriodSeconds"]})
}

fn old_condition(condition: &Value) -> String {
    let names = ["type", "status", "lastTransitionTime", "reason", "message"];
    let fields: Vec<String> = names
        .into_iter()
        .filter(|name| !condition[*name].is_null() || *name == "lastTransitionTime")
        .map(|name| format!("\"{name}\":{}", condition[name]))
        .collect();
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_carries_other_metrics_in_annotations() {
        let stored = json!({
            "metadata": {"name": "a"},
            "spec": {
                "maxReplicas": 3,
                "metrics": [
                    {"type": "Pods", "pods": {
                        "metric": {"name": "q", "selector": {"matchLabels": {"a": "b"}}},
                        "target": {"type": "AverageValue", "averageValue": "500m"},
                    }},
                    {"type": "Object", "object": {
                        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "s"},
                        "metric": {"name": "r"},
                        "target": {"type": "Value", "value": "10"},
                    }},
                    {"type": "External", "external": {
                        "metric": {"name": "e"},
                        "target": {"type": "AverageValue", "averageValue": "1"},
                    }},
                    {"type": "ContainerResource", "containerResource": {
                        "name": "memory", "container": "c",
                        "target": {"type": "Utilization", "averageUtilization": 5},
                    }},
                    {"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
                    }},
                ],
                "behavior": {"scaleDown": {
                    "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}],
                }},
            },
            "status": {"currentReplicas": 1, "conditions": [
                {"type": "ScalingActive", "status": "True", "lastTransitionTime": "2026-11-15T10:00:00Z", "message": "<>"},
            ]},
        });
        let mut object = stored.as_object().unwrap().clone();
        show_autoscaler(&mut object);
        assert_eq!(object["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}));
        assert_eq!(object["status"], json!({"currentReplicas": 1}));
        let behavior = &object["metadata"]["annotations"][BEHAVIOR];
        let expected = "{\"ScaleUp\":null,\"ScaleDown\":{\"StabilizationWindowSeconds\":null,\"SelectPolicy\":\"Max\",\
            \"Policies\":[{\"Type\":\"Pods\",\"Value\":1,\"PeriodSeconds\":9}],\"Tolerance\":null}}";
        assert_eq!(behavior, expected);
        let shown = object.clone();
        show_autoscaler(&mut object);
        assert_eq!(object, shown, "shown already");
        store_autoscaler(&mut object);
        assert_eq!(Value::from(object), stored, "converted to `v1` and back");
    }

    #[test]
    fn v1_scales_by_cpu_by_default() {
        let mut object = json!({"spec": {}}).as_object().unwrap().clone();
        store_autoscaler(&mut object);
        assert_eq!(object["spec"]["metrics"], json!([use_of_cpu(&json!(80))]));
    }
}
