//! `spec.conversion` of a definition.

use watchkeeper_core::Quoted;

use crate::rules::webhooks::{service, url};
use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::syntax::label_1035;

/// The versions of `ConversionReview` that kube-apiserver supports.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// Checks the strategy and its webhook.
pub(super) fn check(conversion: &Field<'_>, faults: &mut Faults) {
    if !conversion.is_set() {
        return;
    }
    let strategy = conversion.child("strategy");
    match strategy.text() {
        "" => faults.required(&strategy, ""),
        "None" | "Webhook" => {}
        _ => faults.not_supported(&strategy, &["None", "Webhook"]),
    }
    let webhook = conversion.child("webhook");
    let client = webhook.child("clientConfig");
    // kube-apiserver's internal type has these two outside of `webhook`.
    let client_at = Field::at(conversion.path_of("webhookClientConfig"), client.value());
    let reviews = webhook.child("conversionReviewVersions");
    let reviews_at = Field::at(conversion.path_of("conversionReviewVersions"), reviews.value());
    if strategy.text() != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if client.is_set() {
            faults.forbidden(&client_at, why);
        }
        if !reviews.is_empty() {
            faults.forbidden(&reviews_at, why);
        }
        return;
    }
    if client.is_set() {
        match (client_at.child("url").is_set(), client_at.child("service").is_set()) {
            (true, false) => url(&client_at.child("url"), faults),
            (false, true) => service(&client_at.child("service"), faults),
            _ => faults.required(&client_at, "exactly one of url or service is required"),
        }
    } else {
        faults.required(&client_at, "required when strategy is set to Webhook");
    }
    review_versions(&reviews_at, faults);
}

fn review_versions(list: &Field<'_>, faults: &mut Faults) {
    if list.is_empty() {
        faults.required(list, "");
        return;
    }
    let mut seen = Vec::new();
    for item in list.items() {
        if seen.contains(&item.text()) {
            faults.invalid_value(&item, Quoted(item.text()), "duplicate version");
            continue;
        }
        seen.push(item.text());
        for why in label_1035(item.text()) {
            faults.invalid_value(&item, Quoted(item.text()), &why);
        }
    }
    if !seen.iter().any(|version| REVIEWS.contains(version)) {
        faults.invalid(list, &format!("must include at least one of {}", REVIEWS.join(", ")));
    }
}
