//! Defaults of autoscalers.

use serde_json::{Value, json};

use crate::defaults::{Fields, is_empty};

/// The default metric is 80 % CPU utilization.
pub(crate) fn metrics(spec: &mut Fields) {
    if is_empty(spec, "metrics") {
        let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}});
        spec.insert("metrics".to_owned(), json!([{"type": "Resource", "resource": cpu}]));
    }
}

/// Completes both scaling rules if `behavior` is set.
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
        if let (Some(Value::Object(given)), Value::Object(rules)) = (behavior.get(name), &mut rules) {
            rules.extend(given.clone());
        }
        behavior.insert(name.to_owned(), rules);
    }
}
