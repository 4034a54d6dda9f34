//! Scale: maps the managers of an object's replicas to those of its scale, and back.
//!
//! A scale has no managers of its own.

use super::element::Element;
use super::field_set::FieldSet;
use super::managers::{Managers, Owned};

const SCALE_VERSION: &str = "autoscaling/v1";

/// The path of the replicas in a scale.
const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// Returns the managers of an object's replicas (at `path`) as managers of its scale.
pub(crate) fn managers_of_scale(object: &Managers, api_version: &str, path: &[&str]) -> Managers {
    let mut scale = Managers::default();
    for (manager, owned) in &object.owned {
        if owned.api_version == api_version && owns(owned, path) {
            let fields = FieldSet::of_fields(&[&REPLICAS]);
            scale.set(manager, Owned { fields, api_version: SCALE_VERSION.to_owned() });
            if let Some(time) = object.times.get(manager) {
                scale.times.insert(manager.clone(), *time);
            }
        }
    }
    scale
}

/// Returns the managers of an object after a write of its scale, given the managers of the scale.
pub(crate) fn managers_of_object(
    object: &Managers,
    scale: &Managers,
    api_version: &str,
    path: &[&str],
) -> Managers {
    let replicas = FieldSet::of_fields(&[path]);
    let mut after = Managers { owned: Default::default(), times: object.times.clone() };
    for (manager, owned) in object.owned.iter().filter(|(_, owned)| owned.api_version == api_version) {
        let has_lost_them = owns(owned, path) && !scale.owned.contains_key(manager);
        let fields = if has_lost_them { owned.fields.difference(&replicas) } else { owned.fields.clone() };
        after.set(manager, Owned { fields, ..owned.clone() });
    }
    for (manager, owned) in &scale.owned {
        let is_new = object.owned.get(manager).is_none_or(|owned| !owns(owned, path));
        if is_new && owns(owned, &REPLICAS) {
            after.set(manager, Owned { fields: replicas.clone(), api_version: api_version.to_owned() });
        }
    }
    after
}

fn owns(owned: &Owned, path: &[&str]) -> bool {
    owned.fields.contains(&path.iter().map(|name| Element::field(*name)).collect::<Vec<_>>())
}
