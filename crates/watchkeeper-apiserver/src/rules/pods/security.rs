//! Security contexts.

use super::sysctl;
use super::volume::descending;
use crate::validate::faults::{Faults, json};
use crate::validate::field::Field;
use crate::validate::syntax::in_range;

const LARGEST_ID: i64 = 0x7fff_ffff;

/// Checks the security context of a pod.
pub(super) fn of_pod(spec: &Field<'_>, faults: &mut Faults) {
    let field = spec.child("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        identity(&field.child(name), faults);
    }
    for group in field.child("supplementalGroups").items() {
        identity(&group, faults);
    }
    sysctl::sysctls(spec, &field.child("sysctls"), faults);
    faults.one_of_set(&field.child("fsGroupChangePolicy"), &["Always", "OnRootMismatch"]);
    seccomp(&field.child("seccompProfile"), faults);
    app_armor(&field.child("appArmorProfile"), faults);
    faults.one_of_set(&field.child("supplementalGroupsPolicy"), &["Merge", "Strict"]);
    if spec.child("hostPID").is_true() && spec.child("shareProcessNamespace").is_true() {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        faults.invalid(&spec.child("shareProcessNamespace"), why);
    }
}

/// Checks the security context of a container.
pub(super) fn of_container(field: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    for name in ["runAsUser", "runAsGroup"] {
        identity(&field.child(name), faults);
    }
    let mount = field.child("procMount");
    faults.one_of_set(&mount, &["Default", "Unmasked"]);
    if mount.text() == "Unmasked" && spec.child("hostUsers").value().as_bool() != Some(false) {
        faults.invalid(&mount, "`hostUsers` must be false to use `Unmasked`");
    }
    seccomp(&field.child("seccompProfile"), faults);
    if field.child("allowPrivilegeEscalation").value().as_bool() == Some(false)
        && field.child("privileged").is_true()
    {
        faults.invalid_value(
            field,
            context(field),
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        );
    }
    app_armor(&field.child("appArmorProfile"), faults);
}

fn identity(field: &Field<'_>, faults: &mut Faults) {
    if let Some(number) = field.number() {
        faults.malformed(field, in_range(number, 0, LARGEST_ID));
    }
}

fn seccomp(field: &Field<'_>, faults: &mut Faults) {
    if !field.is_set() {
        return;
    }
    let (kind, profile) = (field.child("type"), field.child("localhostProfile"));
    if kind.is_empty() {
        faults.required(&kind, "type is required when seccompProfile is set");
    }
    faults.one_of(&kind, &["Localhost", "RuntimeDefault", "Unconfined"]);
    if kind.text() != "Localhost" {
        if profile.is_set() {
            faults.invalid_value(&profile, internal(field), "can only be set when seccomp type is Localhost");
        }
    } else if profile.is_set() {
        descending(&profile, faults);
    } else {
        faults.required(&profile, "must be set when seccomp type is Localhost");
    }
}

fn app_armor(field: &Field<'_>, faults: &mut Faults) {
    if !field.is_set() {
        return;
    }
    let (kind, profile) = (field.child("type"), field.child("localhostProfile"));
    match kind.text() {
        "Localhost" if profile.text().trim().is_empty() => {
            faults.required(&profile, "must be set when AppArmor type is Localhost");
        }
        "RuntimeDefault" | "Unconfined" if profile.is_set() => {
            faults.invalid(&profile, "can only be set when AppArmor type is Localhost");
        }
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => faults.required(&kind, "type is required when appArmorProfile is set"),
        _ => faults.not_supported(&kind, &["Localhost", "RuntimeDefault", "Unconfined"]),
    }
}

/// Formats a part of a security context as Go's internal type.
fn internal(field: &Field<'_>) -> String {
    let show = |parts: [(&str, &str); 2]| {
        let parts = parts.map(|(shown, name)| format!("\"{shown}\":{}", json(field.child(name).value())));
        format!("{{{}}}", parts.join(","))
    };
    if !field.value().is_object() {
        json(field.value())
    } else if field.child("type").is_set() {
        show([("Type", "type"), ("LocalhostProfile", "localhostProfile")])
    } else {
        show([("Add", "add"), ("Drop", "drop")])
    }
}

/// Formats a security context as Go's internal type, with all fields and without tags.
fn context(field: &Field<'_>) -> String {
    let names = [
        ("Capabilities", "capabilities"),
        ("Privileged", "privileged"),
        ("SELinuxOptions", "seLinuxOptions"),
        ("WindowsOptions", "windowsOptions"),
        ("RunAsUser", "runAsUser"),
        ("RunAsGroup", "runAsGroup"),
        ("RunAsNonRoot", "runAsNonRoot"),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
        ("ProcMount", "procMount"),
        ("SeccompProfile", "seccompProfile"),
        ("AppArmorProfile", "appArmorProfile"),
    ];
    let fields = names.map(|(shown, name)| format!("\"{shown}\":{}", internal(&field.child(name))));
    format!("{{{}}}", fields.join(","))
}
