//! Daemon sets.

use serde_json::Value;

use super::status::{collisions, counts};
use super::validate::{always, at_most_all, internal_strategy, is_nothing, matching, same_selector, share};
use crate::registry::Resource;
use crate::rules::KindRules;
use crate::rules::pods::{Owner, template};
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::selector::{is_without_content, selector, shown};
use crate::write::Draft;

/// The annotation that counts the changes of the pod template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const DAEMON_COUNTS: [&str; 9] = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
];

#[derive(Debug)]
pub(in crate::rules) struct DaemonSets;

impl KindRules for DaemonSets {
    fn version_annotations(&self) -> &'static [&'static str] {
        &[TEMPLATE_GENERATION]
    }

    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        let sent = template_generation(new).filter(|sent| *sent >= 1);
        new.set_pair("annotations", TEMPLATE_GENERATION, &sent.unwrap_or(1).to_string());
    }

    fn prepare_for_update(&self, subresource: Option<&str>, old: &Draft, new: &mut Draft) {
        if subresource.is_none() {
            let template = |draft: &Draft| draft.part("spec").and_then(|spec| spec.get("template").cloned());
            let before = template_generation(old).unwrap_or_default();
            let generation = before.saturating_add(i64::from(template(old) != template(new)));
            new.set_pair("annotations", TEMPLATE_GENERATION, &generation.to_string());
        }
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_spec(&new.field("spec"), faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        same_selector(&old.field("spec").child("selector"), &new.field("spec").child("selector"), faults);
        self.validate_content(Some(old), new, faults);
    }

    fn validate_status_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        let (was, is) = (old.field("status"), new.field("status"));
        counts(&is, &DAEMON_COUNTS, faults);
        collisions(&was, &is, faults);
    }

    fn complete_bookmark(&self, object: &mut Value) {
        object["metadata"]["annotations"][TEMPLATE_GENERATION] = "0".into();
    }
}

fn template_generation(draft: &Draft) -> Option<i64> {
    draft.meta("annotations")?.get(TEMPLATE_GENERATION)?.as_str()?.parse().ok()
}

fn validate_spec(spec: &Field<'_>, faults: &mut Faults) {
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

fn rolling_daemons(field: &Field<'_>, faults: &mut Faults) {
    let (unavailable, surge) = (field.child("maxUnavailable"), field.child("maxSurge"));
    share(&unavailable, faults);
    share(&surge, faults);
    at_most_all(&unavailable, faults);
    at_most_all(&surge, faults);
    // By default maxUnavailable is 1 and maxSurge 0.
    let (has_unavailable, has_surge) = (!is_nothing(&unavailable), surge.is_set() && !is_nothing(&surge));
    match (has_unavailable, has_surge) {
        (true, true) if unavailable.is_set() => {
            faults.invalid(&surge, "may not be set when maxUnavailable is non-zero");
        }
        (false, false) => faults.required(&unavailable, "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}
