//! Autoscalers: what they look at, and how fast they go.

use serde_json::{Value, json};

use crate::defaults::{Fields, is_empty};

/// An autoscaler that looks at nothing looks at the use of processors.
pub(crate) fn metrics(spec: &mut Fields) {
    if is_empty(spec, "metrics") {
        let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}});
        spec.insert("metrics".to_owned(), json!([{"type": "Resource", "resource": cpu}]));
    }
}

/// Who says anything about how to scale has said all of it.
pub(crate) fn scaling_rules(behavior: &mut Fields) {
    let up = json!({
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    });
    let down = json!({
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    });
    for (name, mut rules) in [("scaleUp", up), ("scaleDown", down)] {
        if let (Some(Value::Object(said)), Value::Object(rules)) = (behavior.get(name), &mut rules) {
            rules.extend(said.clone());
        }
        behavior.insert(name.to_owned(), rules);
    }
}
