//! Pod-level resources, and the QoS class.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::amount::Amount;
use crate::validate::amount;

type Amounts = BTreeMap<String, Amount>;

/// Completes pod-level resources, if any are set: limits of huge pages from the containers, requests from the containers
/// or the limits, and limits from the containers if all of them have some.
pub(super) fn complete(spec: &mut Map<String, Value>) {
    let mut limits = given(spec, "limits");
    let mut requests = given(spec, "requests");
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    let (asked, limited) = (sum(spec, "requests"), sum(spec, "limits"));
    for (name, amount) in &limited {
        if is_huge(name) && !requests.contains_key(name) {
            limits.entry(name.clone()).or_insert(*amount);
        }
    }
    let asked = asked.into_iter().filter(|(name, _)| is_counted(name) && !is_huge(name));
    for (name, amount) in asked.chain(limits.clone().into_iter().filter(|(name, _)| is_counted(name))) {
        requests.entry(name).or_insert(amount);
    }
    for (name, request) in &requests {
        let is_limited = |container: &Value| !container["resources"]["limits"][name].is_null();
        if is_counted(name)
            && !limits.contains_key(name)
            && containers(spec).all(|(_, container)| is_limited(container))
            && let Some(amount) = limited.get(name)
        {
            limits.insert(name.clone(), amount.or_greater(*request));
        }
    }
    for (name, amounts) in [("limits", limits), ("requests", requests)] {
        if !amounts.is_empty() {
            let texts: Map<String, Value> =
                amounts.into_iter().map(|(name, amount)| (name, amount.text().into())).collect();
            spec.entry("resources").or_insert_with(|| json!({}))[name] = texts.into();
        }
    }
}

/// Returns the QoS class.
pub(super) fn quality_of_service(spec: Option<&Value>) -> &'static str {
    let Some(Value::Object(spec)) = spec else { return "BestEffort" };
    if !given(spec, "limits").is_empty() || !given(spec, "requests").is_empty() {
        return quality(&spec["resources"]);
    }
    let mut all = containers(spec).map(|(_, container)| quality(&container["resources"]));
    let first = all.next().unwrap_or("BestEffort");
    if all.all(|other| other == first) { first } else { "Burstable" }
}

fn quality(resources: &Value) -> &'static str {
    let amount = |kind: &str, name: &str| {
        amount::Amount::of(&resources[kind][name]).filter(|amount| amount.sign().is_ne())
    };
    let names = ["cpu", "memory"];
    if names.iter().all(|name| amount("requests", name).is_none() && amount("limits", name).is_none()) {
        return "BestEffort";
    }
    let is_sure = |name: &&str| {
        let limit = amount("limits", name);
        limit.is_some() && amount("requests", name).is_none_or(|request| Some(request) == limit)
    };
    if names.iter().all(is_sure) { "Guaranteed" } else { "Burstable" }
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Returns whether it can be a pod-level resource.
fn is_counted(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge(name)
}

fn given(spec: &Map<String, Value>, kind: &str) -> Amounts {
    spec.get("resources").map(|resources| amounts(resources, kind)).unwrap_or_default()
}

fn amounts(resources: &Value, kind: &str) -> Amounts {
    let amounts = resources[kind].as_object().into_iter().flatten();
    amounts.filter_map(|(name, text)| Some((name.clone(), Amount::read(text.as_str()?)?))).collect()
}

/// Returns the containers of a pod, and whether each is an init container.
fn containers(spec: &Map<String, Value>) -> impl Iterator<Item = (bool, &Value)> {
    let list = |name| spec.get(name).and_then(Value::as_array).into_iter().flatten();
    list("containers").map(|it| (false, it)).chain(list("initContainers").map(|it| (true, it)))
}

/// Returns the maximum that the containers use at once: all containers and sidecars, or an init container with the
/// sidecars started before it.
fn sum(spec: &Map<String, Value>, kind: &str) -> Amounts {
    let (mut lasting, mut started, mut worst) = (Amounts::new(), Amounts::new(), Amounts::new());
    for (is_first, container) in containers(spec) {
        let own = amounts(&container["resources"], kind);
        if !is_first {
            add(&mut lasting, &own);
            continue;
        }
        let mut moment = started.clone();
        add(&mut moment, &own);
        if container["restartPolicy"] == "Always" {
            add(&mut lasting, &own);
            started = moment.clone();
        }
        raise(&mut worst, moment);
    }
    raise(&mut lasting, worst);
    lasting
}

fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        to.entry(name.clone()).and_modify(|sum| *sum = sum.plus(*amount)).or_insert(*amount);
    }
}

fn raise(to: &mut Amounts, other: Amounts) {
    for (name, amount) in other {
        to.entry(name).and_modify(|most| *most = most.or_greater(amount)).or_insert(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(spec: Value) -> Value {
        let Value::Object(mut spec) = spec else { panic!("not an object") };
        complete(&mut spec);
        spec.remove("resources").into()
    }

    #[test]
    fn pod_level_resources_are_completed_from_containers() {
        let spec = json!({
            "resources": {"limits": {"cpu": "2", "memory": "4Gi"}},
            "containers": [
                {"resources": {"requests": {"cpu": "100m"}}},
                {"resources": {"requests": {"cpu": "200m"}}},
            ],
            "initContainers": [
                {"restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
                {"resources": {"requests": {"cpu": "400m"}}},
            ],
        });
        let expected = json!({
            "limits": {"cpu": "2", "memory": "4Gi"},
            "requests": {"cpu": "450m", "memory": "4Gi"},
        });
        assert_eq!(completed(spec), expected);
        let limited = json!({
            "resources": {"requests": {"cpu": "1"}},
            "containers": [{"resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}}],
        });
        assert_eq!(completed(limited), json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}));
        assert_eq!(completed(json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]})), Value::Null);
    }

    #[test]
    fn a_pod_is_guaranteed_if_all_of_its_containers_are() {
        let sure =
            json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m"}}});
        let spelled = json!({"resources": {
            "limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1073741824"},
        }});
        let none = json!({"resources": {"limits": {"cpu": "0"}, "requests": {"example.com/gpu": "1"}}});
        let some = json!({"resources": {"requests": {"cpu": "1"}}});
        for (containers, expected) in [
            (vec![&sure, &sure], "Guaranteed"),
            (vec![&none, &none], "BestEffort"),
            (vec![&sure, &none], "Burstable"),
            (vec![&some], "Burstable"),
            (vec![&spelled], "Guaranteed"),
        ] {
            let spec = json!({"containers": containers});
            assert_eq!(quality_of_service(Some(&spec)), expected, "{spec}");
        }
        let whole = json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "containers": [none]});
        assert_eq!(quality_of_service(Some(&whole)), "Guaranteed");
    }
}
