//! Volume mounts and devices.

use super::volume::{Volumes, descending, has_backsteps};
use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// Checks volume mounts.
pub(super) fn mounts(container: &Field<'_>, volumes: &Volumes<'_>, faults: &mut Faults) {
    let list = container.child("volumeMounts");
    let devices = container.child("volumeDevices");
    let mut paths = Vec::new();
    for mount in list.items() {
        let (name, path) = (mount.child("name"), mount.child("mountPath"));
        if name.is_empty() {
            faults.required(&name, "");
        }
        if !volumes.has(name.text()) {
            faults.not_found(&name, name.text(), "");
        }
        if path.is_empty() {
            faults.required(&path, "");
        }
        if paths.contains(&path.text()) {
            faults.invalid(&path, "must be unique");
        }
        paths.push(path.text());
        if devices.items().any(|device| device.child("name").text() == name.text()) {
            faults.invalid(&name, "must not already exist in volumeDevices");
        }
        if devices.items().any(|device| device.child("devicePath").text() == path.text()) {
            faults.invalid(&path, "must not already exist as a path in volumeDevices");
        }
        let (part, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
        descending(&Field::at(list.path_of("subPath"), part.value()), faults);
        if !expression.is_empty() {
            if !part.is_empty() {
                faults.invalid(&expression, "subPathExpr and subPath are mutually exclusive");
            }
            descending(&Field::at(list.path_of("subPathExpr"), expression.value()), faults);
        }
        propagation(&list, &mount, container, faults);
    }
}

fn propagation(list: &Field<'_>, mount: &Field<'_>, container: &Field<'_>, faults: &mut Faults) {
    let mode = Field::at(list.path_of("mountPropagation"), mount.child("mountPropagation").value());
    faults.one_of_set(&mode, &["Bidirectional", "HostToContainer", "None"]);
    if mode.text() == "Bidirectional" && !container.child("securityContext").child("privileged").is_true() {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        faults.forbidden(&mode, why);
    }
    let recursive = Field::at(list.path_of("recursiveReadOnly"), mount.child("recursiveReadOnly").value());
    faults.one_of_set(&recursive, &["Disabled", "Enabled", "IfPossible"]);
    if matches!(recursive.text(), "Enabled" | "IfPossible") {
        if !mount.child("readOnly").is_true() {
            faults.forbidden(&recursive, "may only be specified when readOnly is true");
        }
        if !matches!(mode.text(), "" | "None") {
            let why = "may only be specified when mountPropagation is None or not specified";
            faults.forbidden(&recursive, why);
        }
    }
}

/// Checks block devices.
pub(super) fn devices(container: &Field<'_>, volumes: &Volumes<'_>, faults: &mut Faults) {
    let (mut names, mut paths) = (Vec::new(), Vec::new());
    for device in container.child("volumeDevices").items() {
        let (name, path) = (device.child("name"), device.child("devicePath"));
        if name.is_empty() {
            faults.required(&name, "");
        }
        if names.contains(&name.text()) {
            faults.invalid(&name, "must be unique");
        }
        if !volumes.has(name.text()) {
            faults.not_found(&name, name.text(), "");
        } else if !volumes.is_claim(name.text()) {
            let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            faults.invalid(&name, why);
        }
        if path.is_empty() {
            faults.required(&path, "");
        }
        if paths.contains(&path.text()) {
            faults.invalid(&path, "must be unique");
        }
        if has_backsteps(path.text()) {
            faults.invalid(&path, "can not contain backsteps ('..')");
        } else {
            paths.push(path.text());
        }
        let mounts = container.child("volumeMounts");
        if mounts.items().any(|mount| mount.child("name").text() == name.text()) {
            faults.invalid(&name, "must not already exist in volumeMounts");
        }
        if mounts.items().any(|mount| mount.child("mountPath").text() == path.text()) {
            faults.invalid(&path, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.push(name.text());
        }
    }
}
