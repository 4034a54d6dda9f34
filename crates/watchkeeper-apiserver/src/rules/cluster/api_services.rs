//! API services.

use serde_json::json;

use crate::apply::Reset;
use crate::clock::now;
use crate::registry::Resource;
use crate::rules::KindRules;
use crate::validate::syntax::NameRule;
use crate::write::Draft;

#[derive(Debug)]
pub(in crate::rules) struct ApiServices;

impl KindRules for ApiServices {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    /// A service that this server serves itself is available at once.
    fn prepare_for_create(&self, _resource: &Resource, new: &mut Draft) {
        let is_local = new.part("spec").is_none_or(|spec| spec.get("service").is_none());
        if is_local {
            let available = json!({
                "type": "Available",
                "status": "True",
                "lastTransitionTime": now().to_string(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            });
            new.set_in("status", "conditions", Some(json!([available])));
        }
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn reset_fields(&self, subresource: Option<&str>, has_status: bool) -> Reset {
        Reset::outside_status(subresource, has_status)
    }
}
