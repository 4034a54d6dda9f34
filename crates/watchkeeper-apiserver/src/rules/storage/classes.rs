//! Storage classes.

use watchkeeper_core::Quoted;

use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::validate::syntax::qualified_name;

#[derive(Debug)]
pub(in crate::rules) struct StorageClasses;

impl KindRules for StorageClasses {
    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_class(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
        validate_class_update(old, new, faults);
    }

    fn marks_default(&self) -> bool {
        true
    }
}

/// Checks a storage class, except for its metadata.
fn validate_class(object: Object<'_>, faults: &mut Faults) {
    let (provisioner, parameters) = (object.field("provisioner"), object.field("parameters"));
    if provisioner.is_empty() {
        faults.declared(|faults| faults.required(&provisioner, ""));
    } else {
        let low = provisioner.text().to_lowercase();
        for why in qualified_name(&low) {
            faults.invalid_value(&provisioner, Quoted(&low), &why);
        }
    }
    if parameters.len() > 512 {
        faults.too_long(&parameters, 512);
    }
    for (key, _) in parameters.entries().filter(|(key, _)| key.is_empty()) {
        faults.invalid_value(&parameters, Quoted(key), "field can not be empty.");
    }
    faults.one_of(&object.field("reclaimPolicy"), &["Delete", "Retain"]);
    faults.one_of_set(&object.field("volumeBindingMode"), &["Immediate", "WaitForFirstConsumer"]);
}

/// Checks the immutable fields.
fn validate_class_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    faults.declared(|faults| {
        for name in ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"] {
            if old.field(name).value() != new.field(name).value() {
                faults.invalid_value(&new.field(name), "null", "field is immutable");
            }
        }
    });
}
