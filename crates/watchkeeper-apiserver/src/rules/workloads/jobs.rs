//! Jobs.

use serde_json::{Map, Value};
use watchkeeper_core::Quoted;

use super::job_status;
use super::validate::same_selector;
use crate::registry::Resource;
use crate::rules::KindRules;
use crate::rules::pods::{Owner, template};
use crate::validate::faults::{Faults, json as shown_json};
use crate::validate::field::{Field, Object};
use crate::validate::selector::{json_text, selector, selects, shown};
use crate::validate::syntax::label;
use crate::write::{Draft, nested};

const MOST_INDEXED_AT_ONCE: i64 = 100_000;

const PROPAGATION_WARNING: &str = "child pods are preserved by default when jobs are deleted; set \
    propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

#[derive(Debug)]
pub(in crate::rules) struct Jobs;

impl KindRules for Jobs {
    fn name_use(&self) -> Option<&'static str> {
        Some("Pod names and hostnames")
    }

    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        select_pods(new);
    }

    /// A job without labels gets those of its pods.
    fn set_default_labels(&self, new: &mut Draft) {
        let labels = new.part("spec").and_then(|spec| spec.pointer("/template/metadata/labels").cloned());
        new.set_meta("labels", labels);
    }

    fn orphans_dependents(&self) -> bool {
        true
    }

    fn propagation_warning(&self) -> Option<&'static str> {
        Some(PROPAGATION_WARNING)
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_job(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        validate_job_update(old, new, faults);
    }

    fn validate_status_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        job_status::validate(old, new, faults);
    }
}

/// Labels the pod template with name and uid of the job, and selects by uid.
fn select_pods(job: &mut Draft) {
    let (name, uid) = (job.text("name").to_owned(), job.text("uid").to_owned());
    let spec = job.part_mut("spec");
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels = nested(spec, &["template", "metadata", "labels"]);
    for (key, value) in [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
    ] {
        labels.entry(key).or_insert_with(|| value.as_str().into());
    }
    labels.sort_keys();
    let selected = nested(spec, &["selector", "matchLabels"]);
    selected.entry("batch.kubernetes.io/controller-uid").or_insert_with(|| uid.into());
    selected.sort_keys();
}

/// Checks a job, except for its metadata.
fn validate_job(object: Object<'_>, faults: &mut Faults) {
    let field = object.field("spec");
    if !field.child("manualSelector").is_true() {
        generated(object, faults);
    }
    spec(&field, faults);
    selected_pods(&field, faults);
    name_of_pods(object, faults);
}

/// Checks a job that replaces another.
fn validate_job_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, now) = (old.field("spec"), new.field("spec"));
    spec(&now, faults);
    selected_pods(&now, faults);
    completions(&before, &now, faults);
    same_selector(&before.child("selector"), &now.child("selector"), faults);
    same_template(&before, &now, faults);
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        faults.immutable(&now.child(name), &before.child(name));
    }
    name_of_pods(new, faults);
}

/// Checks that the selector matches the template.
fn selected_pods(field: &Field<'_>, faults: &mut Faults) {
    let selected = field.child("selector");
    if !selected.is_set() {
        faults.required(&selected, "");
    }
    selector(&selected, faults);
    let labels = field.child("template").child("metadata").child("labels");
    if selects(&selected, labels.value()) == Some(false) {
        faults.invalid(&labels, "`selector` does not match template `labels`");
    }
}

/// Checks that the generated labels and selector have not been set to other values.
fn generated(job: Object<'_>, faults: &mut Faults) {
    let (uid, name) = (job.field("metadata").child("uid"), job.name());
    let labels = job.field("spec").child("template").child("metadata").child("labels");
    let given = [
        ("controller-uid", uid.text()),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid.text()),
        ("batch.kubernetes.io/job-name", name),
    ];
    for (key, wanted) in given {
        let label = labels.key(key);
        if label.is_set() && label.text() != wanted {
            faults.invalid_value(&label, shown_json(labels.value()), &format!("must be '{wanted}'"));
        }
    }
    let selected = job.field("spec").child("selector");
    let expected: Map<String, Value> =
        given.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    if selects(&selected, &Value::Object(expected)) == Some(false) {
        faults.invalid_value(&selected, shown(&selected), "`selector` not auto-generated");
    }
}

/// Checks that completions change only together with parallelism, in an indexed job.
fn completions(before: &Field<'_>, now: &Field<'_>, faults: &mut Faults) {
    let (was, is) = (before.child("completions"), now.child("completions"));
    if was.value() == is.value() {
        return;
    }
    if now.child("completionMode").text() != "Indexed" {
        faults.immutable(&is, &was);
    } else if is.is_set() && is.value() != now.child("parallelism").value() {
        faults.invalid(&is, "can only be modified in tandem with spec.parallelism");
    }
}

/// Checks that the template is unchanged. A suspended job may change all of it: kube-apiserver allows that for
/// scheduling fields only.
fn same_template(before: &Field<'_>, now: &Field<'_>, faults: &mut Faults) {
    let (was, is) = (before.child("template"), now.child("template"));
    if !before.child("suspend").is_true() {
        faults.immutable(&is, &was);
    }
}

fn name_of_pods(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    let count = spec.child("completions").count();
    if spec.child("completionMode").text() != "Indexed" || count <= 0 {
        return;
    }
    let last = format!("{}-{}", object.name(), count - 1);
    if !label(&last).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {last}");
        faults.invalid_value(&object.field("metadata").child("name"), Quoted(object.name()), &why);
    }
}

pub(super) fn spec(field: &Field<'_>, faults: &mut Faults) {
    let counts = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    for name in counts {
        faults.negative(&field.child(name));
    }
    let (per_index, failed) = (field.child("backoffLimitPerIndex"), field.child("maxFailedIndexes"));
    if failed.is_set() && !per_index.is_set() {
        faults.required(&per_index, "when maxFailedIndexes is specified");
    }
    let mode = field.child("completionMode");
    faults.one_of_set(&mode, &["NonIndexed", "Indexed"]);
    if mode.text() == "Indexed" {
        let (completions, parallelism) = (field.child("completions"), field.child("parallelism"));
        if !completions.is_set() {
            faults.required(&completions, "when completion mode is Indexed");
        }
        if parallelism.count() > MOST_INDEXED_AT_ONCE {
            let why = format!(
                "must be less than or equal to {MOST_INDEXED_AT_ONCE} when completion mode is Indexed"
            );
            faults.invalid(&parallelism, &why);
        }
        if failed.is_set() && completions.is_set() && failed.count() > completions.count() {
            faults.invalid(&failed, "must be less than or equal to completions");
        }
    } else if matches!(mode.text(), "" | "NonIndexed") {
        for name in [&per_index, &failed] {
            if name.is_set() {
                faults.invalid(name, "requires indexed completion mode");
            }
        }
    }
    let replacement = field.child("podReplacementPolicy");
    if field.child("podFailurePolicy").is_set() {
        faults.one_of_set(&replacement, &["Failed"]);
    } else {
        faults.one_of_set(&replacement, &["Failed", "TerminatingOrFailed"]);
    }
    let pods = field.child("template");
    template(&pods, Owner::TEMPLATE, faults);
    let restart = pods.child("spec").child("restartPolicy");
    match restart.text() {
        "OnFailure" if field.child("podFailurePolicy").is_set() => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            faults.invalid_value(&restart, json_text("OnFailure"), why);
        }
        "OnFailure" | "Never" => {}
        "" | "Always" => faults.required(&restart, "valid values: \"OnFailure\", \"Never\""),
        _ => faults.not_supported(&restart, &["OnFailure", "Never"]),
    }
}
