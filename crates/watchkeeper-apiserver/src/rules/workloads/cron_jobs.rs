//! Cron jobs.

use super::{jobs, schedule};
use crate::rules::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::selector::shown;

const CRON_JOB_NAME_BYTES: usize = 52;

#[derive(Debug)]
pub(in crate::rules) struct CronJobs;

impl KindRules for CronJobs {
    fn name_use(&self) -> Option<&'static str> {
        Some("Pod names and hostnames")
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_cron_job(new, faults);
    }

    fn validate(&self, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(None, new, faults);
        validate_name(new, faults);
    }

    fn validates_metadata_of_subresources(&self) -> bool {
        false
    }
}

/// Checks the name of a new cron job, to which its jobs append.
fn validate_name(object: Object<'_>, faults: &mut Faults) {
    if object.name().len() > CRON_JOB_NAME_BYTES {
        let name = object.field("metadata").child("name");
        faults.invalid(&name, "must be no more than 52 characters");
    }
}

/// Checks a cron job, except for its metadata.
fn validate_cron_job(object: Object<'_>, faults: &mut Faults) {
    let field = object.field("spec");
    let (schedule, zone) = (field.child("schedule"), field.child("timeZone"));
    if schedule.is_empty() {
        faults.declared(|faults| faults.required(&schedule, ""));
    } else {
        if let Err(why) = schedule::check(schedule.text()) {
            faults.invalid(&schedule, &why);
        }
        if schedule.text().contains("TZ") {
            let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            faults.invalid(&schedule, why);
        }
    }
    faults.negative(&field.child("startingDeadlineSeconds"));
    if zone.is_set() {
        time_zone(&zone, faults);
    }
    faults.one_of(&field.child("concurrencyPolicy"), &["Allow", "Forbid", "Replace"]);
    let job = field.child("jobTemplate").child("spec");
    jobs::spec(&job, faults);
    let selected = job.child("selector");
    if selected.is_set() {
        faults.invalid_value(&selected, shown(&selected), "`selector` will be auto-generated");
    }
    if job.child("manualSelector").is_true() {
        faults.not_supported(&job.child("manualSelector"), &["nil", "false"]);
    }
    faults.negative(&field.child("successfulJobsHistoryLimit"));
    faults.negative(&field.child("failedJobsHistoryLimit"));
}

fn time_zone(zone: &Field<'_>, faults: &mut Faults) {
    if zone.is_empty() {
        faults.invalid(zone, "timeZone must be nil or non-empty string");
        return;
    }
    let is_odd = |part: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
        matches!(part, "." | "..")
            || part.starts_with('-')
            || !(1..=14).contains(&part.len())
            || !part.chars().all(is_known)
    };
    if zone.text().split('/').any(is_odd) {
        faults.invalid(zone, &format!("unknown time zone {}", zone.text()));
    } else if zone.text().eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        faults.invalid(zone, why);
    }
}
