//! Workloads: deployments, replica sets, stateful sets, daemon sets and what they make pods of.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::claim;
use super::faults::{Faults, json};
use super::field::{Field, Object};
use super::form::{label, percent};
use super::metadata::annotations;
use super::pod::{Owner, template};
use super::selector::{is_without_content, json_text, labels, parsed, selector, selects, shown};

const IMMUTABLE: &str = "field is immutable";

/// The spec of a deployment.
pub(super) fn deployment(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    faults.negative(&spec.child("replicas"));
    selected_template(&spec, faults);
    strategy(&spec.child("strategy"), faults);
    let (ready, deadline) = (spec.child("minReadySeconds"), spec.child("progressDeadlineSeconds"));
    faults.negative(&ready);
    faults.negative(&spec.child("revisionHistoryLimit"));
    faults.negative(&deadline);
    if deadline.number().is_some_and(|deadline| deadline <= ready.count()) {
        faults.invalid(&deadline, "must be greater than minReadySeconds");
    }
}

/// The spec of a replica set.
pub(super) fn replica_set(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    faults.negative(&spec.child("replicas"));
    faults.negative(&spec.child("minReadySeconds"));
    selected_template(&spec, faults);
}

/// The spec of a replication controller.
pub(super) fn replication_controller(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    // Where there is no selector, the labels of the template are one.
    if selected.is_empty() && pods.child("metadata").child("labels").is_empty() {
        faults.required(&selected, "");
    }
    if pods.is_set() {
        let labels = pods.child("metadata").child("labels");
        let is_selected =
            selected.entries().all(|(key, value)| labels.value().get(key) == Some(value.value()));
        if !is_selected {
            faults.invalid(&labels, "`selector` does not match template `labels`");
        }
        template(&pods, Owner::TEMPLATE, faults);
        always(&pods, "ReplicationController", faults);
    } else {
        faults.required(&pods, "");
    }
    faults.declared(|faults| {
        faults.negative(&spec.child("replicas"));
        faults.negative(&spec.child("minReadySeconds"));
    });
}

/// The spec of a daemon set.
pub(super) fn daemon_set(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    selector(&selected, faults);
    matching(&selected, &pods, faults);
    if is_without_content(&selected) {
        faults.invalid_value(&selected, shown(&selected), "empty selector is invalid for daemonset");
    }
    template(&pods, Owner::TEMPLATE, faults);
    always(&pods, "DaemonSet", faults);
    faults.negative(&spec.child("minReadySeconds"));
    let strategy = spec.child("updateStrategy");
    match strategy.child("type").text() {
        "" | "OnDelete" => {}
        "RollingUpdate" => rolling_daemons(&strategy.child("rollingUpdate"), faults),
        _ => faults.not_supported_value(
            &strategy,
            internal_strategy(&strategy),
            &["RollingUpdate", "OnDelete"],
        ),
    }
    faults.negative(&spec.child("revisionHistoryLimit"));
}

/// The spec of a stateful set.
pub(super) fn stateful_set(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let spec = object.field("spec");
    let policy = spec.child("podManagementPolicy");
    if !matches!(policy.text(), "" | "OrderedReady" | "Parallel") {
        faults.invalid_value(&policy, json(policy.value()), "must be 'OrderedReady' or 'Parallel'");
    }
    stateful_strategy(&spec.child("updateStrategy"), faults);
    let retention = spec.child("persistentVolumeClaimRetentionPolicy");
    for when in ["whenDeleted", "whenScaled"] {
        faults.one_of(&retention.child(when), &["Retain", "Delete"]);
    }
    // What may not change later is looked at only once.
    for template in spec.child("volumeClaimTemplates").items().filter(|_| old.is_none()) {
        claim::spec(&template.child("spec"), faults);
    }
    faults.negative(&spec.child("replicas"));
    faults.negative(&spec.child("minReadySeconds"));
    let first = spec.child("ordinals").child("start");
    faults.negative(&first);
    let service = spec.child("serviceName");
    if !service.is_empty() && old.is_none() {
        faults.malformed(&service, label(service.text()));
    }
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    if !selected.is_set() {
        faults.required(&selected, "");
    }
    selector(&selected, faults);
    if is_without_content(&selected) {
        faults.invalid_value(&selected, shown(&selected), "empty selector is invalid for statefulset");
    }
    if selected.is_set() && parsed(&selected).is_none() {
        faults.invalid_value(&selected, shown(&selected), "");
    } else {
        matching(&selected, &pods, faults);
        let templates = spec.child("volumeClaimTemplates");
        let claims: Vec<&str> = templates
            .items()
            .map(|claim| claim.value()["metadata"]["name"].as_str().unwrap_or_default())
            .collect();
        let owner = Owner { claims: &claims, names_hosts: true, ..Owner::TEMPLATE };
        template(&pods, owner, faults);
        // The real server looks at these twice.
        let metadata = pods.child("metadata");
        labels(&Field::at(pods.path_of("labels"), metadata.child("labels").value()), faults);
        annotations(&Field::at(pods.path_of("annotations"), metadata.child("annotations").value()), faults);
    }
    always(&pods, "StatefulSet", faults);
}

/// What of a stateful set may not change.
pub(super) fn changed_stateful_set(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, spec) = (old.field("spec"), new.field("spec"));
    same_selector(&before.child("selector"), &spec.child("selector"), faults);
    for name in ["volumeClaimTemplates", "serviceName"] {
        faults.immutable(&spec.child(name), &before.child(name));
    }
    faults.immutable_given(&spec.child("podManagementPolicy"), &before.child("podManagementPolicy"));
}

/// A selector that may not change.
pub(super) fn same_selector(before: &Field<'_>, now: &Field<'_>, faults: &mut Faults) {
    if before.value() != now.value() {
        faults.invalid_value(now, shown(now), IMMUTABLE);
    }
}

/// A controller revision.
pub(super) fn revision(object: Object<'_>, faults: &mut Faults) {
    faults.negative(&object.field("revision"));
    let data = object.field("data");
    if !data.is_set() {
        faults.required(&data, "data is mandatory");
    } else if !data.value().is_object() {
        faults.required(&data, "data must be a valid JSON object");
    }
}

/// A selector that must be there, and a template that it must select.
fn selected_template(spec: &Field<'_>, faults: &mut Faults) {
    let (selected, pods) = (spec.child("selector"), spec.child("template"));
    if !selected.is_set() {
        faults.required(&selected, "");
    }
    selector(&selected, faults);
    if is_without_content(&selected) {
        faults.invalid_value(&selected, shown(&selected), "empty selector is invalid for deployment");
    }
    if selected.is_set() && parsed(&selected).is_none() {
        faults.invalid_value(&selected, shown(&selected), "invalid label selector");
        return;
    }
    matching(&selected, &pods, faults);
    template(&pods, Owner::TEMPLATE, faults);
    always(&pods, "ReplicaSet", faults);
}

fn matching(selected: &Field<'_>, pods: &Field<'_>, faults: &mut Faults) {
    let labels = pods.child("metadata").child("labels");
    if !is_without_content(selected) && selects(selected, labels.value()) == Some(false) {
        faults.invalid(&labels, "`selector` does not match template `labels`");
    }
}

/// Pods that are run for ever.
fn always(pods: &Field<'_>, kind: &str, faults: &mut Faults) {
    let spec = pods.child("spec");
    faults.one_of(&spec.child("restartPolicy"), &["Always"]);
    let deadline = spec.child("activeDeadlineSeconds");
    if deadline.is_set() {
        faults.forbidden(&deadline, &format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}

fn strategy(field: &Field<'_>, faults: &mut Faults) {
    let rolling = field.child("rollingUpdate");
    match field.child("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                faults.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "" | "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            share(&unavailable, faults);
            share(&surge, faults);
            if is_nothing(&unavailable) && is_nothing(&surge) {
                faults.invalid(&unavailable, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(&unavailable, faults);
        }
        _ => {
            let shown = internal_strategy(field);
            faults.not_supported_value(field, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn rolling_daemons(field: &Field<'_>, faults: &mut Faults) {
    let (unavailable, surge) = (field.child("maxUnavailable"), field.child("maxSurge"));
    share(&unavailable, faults);
    share(&surge, faults);
    at_most_all(&unavailable, faults);
    at_most_all(&surge, faults);
    // By default one may be unavailable and there is no surge.
    let (has_unavailable, has_surge) = (!is_nothing(&unavailable), surge.is_set() && !is_nothing(&surge));
    match (has_unavailable, has_surge) {
        (true, true) if unavailable.is_set() => {
            faults.invalid(&surge, "may not be set when maxUnavailable is non-zero");
        }
        (false, false) => faults.required(&unavailable, "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

fn stateful_strategy(field: &Field<'_>, faults: &mut Faults) {
    let rolling = field.child("rollingUpdate");
    match field.child("type").text() {
        "OnDelete" => {
            if rolling.is_set() {
                let shown = internal_rolling(&rolling);
                faults.invalid_value(&rolling, shown, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "" | "RollingUpdate" => {
            faults.negative(&rolling.child("partition"));
            let unavailable = rolling.child("maxUnavailable");
            if unavailable.is_set() {
                share(&unavailable, faults);
                if is_nothing(&unavailable) {
                    faults.invalid(&unavailable, "cannot be 0");
                }
                at_most_all(&unavailable, faults);
            }
        }
        _ => {
            let rolling = match rolling.is_set() {
                true => internal_rolling(&rolling),
                false => "null".to_owned(),
            };
            let shown =
                format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", json_text(field.child("type").text()));
            faults.invalid_value(field, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// How a stateful set is rolled, as Go shows its own type.
fn internal_rolling(field: &Field<'_>) -> String {
    let (partition, unavailable) = (field.child("partition").count(), field.child("maxUnavailable"));
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{}}}", json(unavailable.value()))
}

/// A strategy as Go shows its own type, which has no tags.
fn internal_strategy(field: &Field<'_>) -> String {
    let rolling = field.child("rollingUpdate");
    let rolling = match rolling.value() {
        Value::Null => "null".to_owned(),
        _ => format!(
            "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
            json(rolling.child("maxUnavailable").value()),
            json(rolling.child("maxSurge").value())
        ),
    };
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", json_text(field.child("type").text()))
}

/// So many, or such a part of all.
pub(super) fn share(field: &Field<'_>, faults: &mut Faults) {
    match field.value() {
        Value::String(text) => {
            for why in percent(text) {
                faults.invalid_value(field, json_text(text), &why);
            }
        }
        _ => faults.negative(field),
    }
}

/// A part that is not more than all.
pub(super) fn at_most_all(field: &Field<'_>, faults: &mut Faults) {
    if parts(field).is_some_and(|parts| parts > 100) {
        faults.invalid_value(field, Quoted(field.text()), "must not be greater than 100%");
    }
}

fn parts(field: &Field<'_>) -> Option<u64> {
    let digits = field.text().strip_suffix('%').filter(|_| percent(field.text()).is_empty())?;
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Whether it is there and comes to none. A text that is no part counts as none, as on the real server.
fn is_nothing(field: &Field<'_>) -> bool {
    match field.value() {
        Value::Null => false,
        Value::String(text) => parts(field).or_else(|| text.parse().ok()).unwrap_or_default() == 0,
        _ => field.count() == 0,
    }
}
