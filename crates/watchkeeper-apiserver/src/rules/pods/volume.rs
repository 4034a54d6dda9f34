//! Volumes and their sources.

use watchkeeper_core::Quoted;

use super::environment::{container_field, pod_field};
use super::validate::Owner;
use crate::rules::storage::validate_claim_spec;
use crate::validate::amount::Amount;
use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::metadata::annotations;
use crate::validate::selector::labels;
use crate::validate::syntax::{label, subdomain};

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const ONE_TYPE: &str = "may not specify more than 1 volume type";
/// Pod fields that a file may refer to.
const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// The sources, in the order of the checks.
const SOURCES: [&str; 29] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
];

/// The volumes that can be mounted.
pub(super) struct Volumes<'a> {
    /// Names, and whether each is a claim.
    known: Vec<(&'a str, bool)>,
}

impl Volumes<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.known.iter().any(|(known, _)| *known == name)
    }

    pub(super) fn is_claim(&self, name: &str) -> bool {
        self.known.contains(&(name, true))
    }
}

/// Checks the volumes of a spec, and returns the valid ones.
pub(super) fn volumes<'a>(list: &Field<'a>, owner: Owner<'a>, faults: &mut Faults) -> Volumes<'a> {
    let mut known: Vec<(&str, bool)> = Vec::new();
    let given = owner.claims.len();
    for (at, claim) in owner.claims.iter().enumerate() {
        let place = Field::at(format!("{}[{at}]", list.path()), list.value());
        let found = label(claim);
        if claim.is_empty() {
            faults.required(&place.child("persistentVolumeClaim").child("claimName"), "");
            faults.required(&place.child("name"), "");
        } else if found.is_empty() {
            known.push((*claim, true));
        } else {
            found.iter().for_each(|why| faults.invalid_value(&place.child("name"), Quoted(claim), why));
        }
    }
    let first = known.len();
    let items = list.items().filter(|volume| !owner.claims.contains(&volume.child("name").text()));
    for (at, volume) in items.enumerate() {
        // The claim templates of a stateful set come first in the numbering.
        let volume = Field::at(format!("{}[{}]", list.path(), at + given), volume.value());
        let count = faults.len();
        let name = volume.child("name");
        source(&volume, owner, faults);
        if name.is_empty() {
            faults.required(&name, "");
        } else {
            faults.malformed(&name, label(name.text()));
        }
        if known[first..].iter().any(|(known, _)| *known == name.text()) {
            faults.duplicate(&name);
        }
        if faults.len() == count {
            let is_claim =
                volume.child("persistentVolumeClaim").is_set() || volume.child("ephemeral").is_set();
            known.push((name.text(), is_claim));
        }
    }
    Volumes { known }
}

fn source(volume: &Field<'_>, owner: Owner<'_>, faults: &mut Faults) {
    let mut count = 0;
    for name in SOURCES.into_iter().chain(["image"]) {
        let field = volume.child(name);
        if !field.is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            // The field of a second source has another name for some sources.
            let called = match name {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                name => name,
            };
            faults.forbidden(&Field::at(volume.path_of(called), field.value()), ONE_TYPE);
            continue;
        }
        match name {
            "emptyDir" => empty_dir(&field, faults),
            "secret" => secret(&field, faults),
            "configMap" => config_map(&field, faults),
            "persistentVolumeClaim" => required(&field, &["claimName"], faults),
            "downwardAPI" => downward(&field, faults),
            "projected" => projected(&field, faults),
            "csi" => csi(&field, faults),
            "ephemeral" => ephemeral(volume, &field, owner, faults),
            "gitRepo" => {
                required(&field, &["repository"], faults);
                descending(&field.child("directory"), faults);
            }
            "gcePersistentDisk" => {
                required(&Field::at(volume.path_of("persistentDisk"), field.value()), &["pdName"], faults);
            }
            name => common_source(name, &field, faults),
        }
    }
    // Without a source it is an empty directory.
}

/// Checks a source that pods and persistent volumes share.
pub(in crate::rules) fn common_source(name: &str, field: &Field<'_>, faults: &mut Faults) {
    match name {
        "hostPath" => host_path(field, faults),
        "nfs" => {
            required(field, &["server", "path"], faults);
            let path = field.child("path");
            if !path.text().starts_with('/') {
                faults.invalid_value(&path, Quoted(path.text()), "must be an absolute path");
            }
        }
        "awsElasticBlockStore" => required(field, &["volumeID"], faults),
        "glusterfs" => required(field, &["endpoints", "path"], faults),
        "cinder" => required(field, &["volumeID"], faults),
        "cephfs" => required(field, &["monitors"], faults),
        "vsphereVolume" => required(field, &["volumePath"], faults),
        "flexVolume" => required(field, &["driver"], faults),
        _ => {}
    }
}

fn required(field: &Field<'_>, names: &[&str], faults: &mut Faults) {
    for name in names {
        if field.child(name).is_empty() {
            faults.required(&field.child(name), "");
        }
    }
}

/// Checks a host path.
fn host_path(field: &Field<'_>, faults: &mut Faults) {
    let path = field.child("path");
    if path.is_empty() {
        faults.required(&path, "");
        return;
    }
    backsteps(&path, faults);
    let types =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    faults.one_of(&field.child("type"), &types);
}

fn empty_dir(field: &Field<'_>, faults: &mut Faults) {
    let limit = field.child("sizeLimit");
    if Amount::of(limit.value()).is_some_and(|limit| limit.sign().is_lt()) {
        faults.forbidden(&limit, "SizeLimit field must be a valid resource quantity");
    }
}

fn secret(field: &Field<'_>, faults: &mut Faults) {
    required(field, &["secretName"], faults);
    files(field, faults);
}

fn config_map(field: &Field<'_>, faults: &mut Faults) {
    required(field, &["name"], faults);
    files(field, faults);
}

fn files(field: &Field<'_>, faults: &mut Faults) {
    mode(&field.child("defaultMode"), faults);
    for item in field.child("items").items() {
        file(&item, faults);
    }
}

fn file(item: &Field<'_>, faults: &mut Faults) {
    required(item, &["key", "path"], faults);
    own_path(&item.child("path"), faults);
    mode(&item.child("mode"), faults);
}

fn mode(field: &Field<'_>, faults: &mut Faults) {
    if field.number().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        faults.invalid(field, FILE_MODE);
    }
}

fn downward(field: &Field<'_>, faults: &mut Faults) {
    mode(&field.child("defaultMode"), faults);
    for item in field.child("items").items() {
        // kube-apiserver omits the index.
        downward_file(&Field::at(field.path(), item.value()), faults);
    }
}

fn downward_file(item: &Field<'_>, faults: &mut Faults) {
    required(item, &["path"], faults);
    own_path(&item.child("path"), faults);
    let (of_pod, of_container) = (item.child("fieldRef"), item.child("resourceFieldRef"));
    if of_pod.is_set() {
        pod_field(&of_pod, &FILE_FIELDS, faults);
        if of_container.is_set() {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            faults.invalid_value(item, "\"resource\"", why);
        }
    } else if of_container.is_set() {
        container_field(&of_container, true, faults);
    } else {
        faults.required(item, "one of fieldRef and resourceFieldRef is required");
    }
    mode(&item.child("mode"), faults);
}

fn projected(field: &Field<'_>, faults: &mut Faults) {
    mode(&field.child("defaultMode"), faults);
    let mut paths: Vec<&str> = Vec::new();
    for source in field.child("sources").items() {
        let mut count = 0;
        for name in [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ] {
            let part = source.child(name);
            if !part.is_set() {
                continue;
            }
            count += 1;
            if count > 1 {
                faults.forbidden(&part, ONE_TYPE);
                continue;
            }
            match name {
                "secret" | "configMap" => {
                    required(&part, &["name"], faults);
                    for item in part.child("items").items() {
                        file(&item, faults);
                        unique_path(field, &item, part.child("name").text(), &mut paths, faults);
                    }
                }
                "downwardAPI" => {
                    for item in part.child("items").items() {
                        downward_file(&Field::at(part.path(), item.value()), faults);
                        unique_path(field, &item, item.child("path").text(), &mut paths, faults);
                    }
                }
                "serviceAccountToken" => token(&part, faults),
                _ => {}
            }
        }
    }
}

/// Checks that the paths of a volume's files are unique.
fn unique_path<'a>(
    volume: &Field<'_>,
    item: &Field<'a>,
    shown: &str,
    paths: &mut Vec<&'a str>,
    faults: &mut Faults,
) {
    let path = item.child("path").text();
    if !path.is_empty() && paths.contains(&path) {
        faults.invalid_value(volume, Quoted(shown), "conflicting duplicate paths");
    }
    paths.push(path);
}

fn token(field: &Field<'_>, faults: &mut Faults) {
    let (seconds, path) = (field.child("expirationSeconds"), field.child("path"));
    if seconds.number().is_some_and(|seconds| seconds < 600) {
        faults.invalid(&seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds.number().is_some_and(|seconds| seconds > 1 << 32) {
        faults.invalid(&seconds, "may not specify a duration larger than 2^32 seconds");
    }
    if path.is_empty() {
        faults.required(&path, "");
    } else {
        own_path(&path, faults);
    }
}

fn csi(field: &Field<'_>, faults: &mut Faults) {
    driver(&field.child("driver"), faults);
    let reference = field.child("nodePublishSecretRef");
    if reference.is_set() {
        let name = reference.child("name");
        if name.is_empty() {
            faults.required(&name, "");
        } else {
            faults.malformed(&Field::at(field.path_of("name"), name.value()), subdomain(name.text()));
        }
    }
}

/// Checks the name of a driver.
pub(in crate::rules) fn driver(field: &Field<'_>, faults: &mut Faults) {
    if field.is_empty() {
        faults.required(field, "");
        return;
    }
    if field.len() > 63 {
        faults.too_long(field, 63);
    }
    faults.malformed(field, subdomain(&field.text().to_lowercase()));
}

fn ephemeral(volume: &Field<'_>, field: &Field<'_>, owner: Owner<'_>, faults: &mut Faults) {
    let template = field.child("volumeClaimTemplate");
    if !template.is_set() {
        faults.required(&template, "");
    } else {
        let metadata = template.child("metadata");
        annotations(&metadata.child("annotations"), faults);
        labels(&metadata.child("labels"), faults);
        validate_claim_spec(&template.child("spec"), faults);
    }
    let name = volume.child("name");
    if let Some(pod) = owner.pod.filter(|pod| !pod.is_empty() && !name.is_empty()) {
        let claim = format!("{pod}-{}", name.text());
        for why in subdomain(&claim) {
            faults.invalid(&name, &format!("PVC name {}: {why}", Quoted(&claim)));
        }
    }
}

/// Checks a relative path.
pub(super) fn descending(field: &Field<'_>, faults: &mut Faults) {
    if field.text().starts_with('/') {
        faults.invalid(field, "must be a relative path");
    }
    backsteps(field, faults);
}

/// Checks a relative path that does not start with `..`.
fn own_path(field: &Field<'_>, faults: &mut Faults) {
    descending(field, faults);
    let text = field.text();
    if text.starts_with("..") && !text.starts_with("../") {
        faults.invalid(field, "must not start with '..'");
    }
}

fn backsteps(field: &Field<'_>, faults: &mut Faults) {
    if has_backsteps(field.text()) {
        faults.invalid(field, "must not contain '..'");
    }
}

pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|step| step == "..")
}
