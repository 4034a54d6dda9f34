//! Priority classes.

use crate::rules::{KindRules, Update};
use crate::validate::faults::{Faults, json};
use crate::validate::field::Object;
use crate::write::Draft;

const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;

#[derive(Debug)]
pub(in crate::rules) struct PriorityClasses;

impl KindRules for PriorityClasses {
    /// The generation stays 1.
    fn is_new_generation(&self, _call: Update<'_>, _old: &Draft, _new: &Draft) -> bool {
        false
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_class(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        validate_class_update(old, new, faults);
    }
}

/// Checks a priority class, except for its metadata.
fn validate_class(object: Object<'_>, faults: &mut Faults) {
    let (name, value) = (object.name(), object.field("value"));
    if name.starts_with("system-") {
        let known = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
        let why = match known.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, wanted)) if *wanted != value.count() => {
                Some(format!("value of {name} PriorityClass must be {wanted}"))
            }
            Some(_) if object.field("globalDefault").is_true() => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            faults.forbidden(&object.field("metadata").child("name"), &why);
        }
    } else if value.count() > HIGHEST_USER_PRIORITY {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        faults.forbidden(&value, &why);
    }
    let policy = object.field("preemptionPolicy");
    if policy.is_set() && policy.is_empty() {
        faults.required(&policy, "");
    }
    faults.one_of(&policy, &["PreemptLowerPriority", "Never"]);
}

/// Checks the immutable fields.
fn validate_class_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    if old.field("value").count() != new.field("value").count() {
        faults.forbidden(&new.field("value"), "may not be changed in an update.");
    }
    let policy = new.field("preemptionPolicy");
    if policy.value() != old.field("preemptionPolicy").value() {
        faults.invalid_value(&policy, json(policy.value()), "field is immutable");
    }
}
