//! Random ownership graphs and deletions, checked against a model.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};
use watchkeeper_client::dynamic::{DeleteOptions, Propagation};
use watchkeeper_core::ObjectKey;

use crate::living::{CONFIG_MAPS, Living, Of};

const SECRETS: Of = Of("v1/secrets", "Secret");
const SHOP: &str = "shop";
const OBJECTS: usize = 14;
const DELETIONS: usize = 6;

/// Objects with their owners.
type Objects = BTreeMap<String, BTreeSet<String>>;

/// Returns what is left after an object is deleted.
fn delete(objects: &Objects, name: &str, propagation: Propagation) -> Objects {
    let mut gone = BTreeSet::from([name.to_owned()]);
    if propagation != Propagation::Orphan {
        let is_lost =
            |owners: &BTreeSet<String>, gone: &BTreeSet<String>| !owners.is_empty() && owners.is_subset(gone);
        while let Some((lost, _)) =
            objects.iter().find(|(name, owners)| !gone.contains(*name) && is_lost(owners, &gone))
        {
            gone.insert(lost.clone());
        }
    }
    let left = objects.iter().filter(|(name, _)| !gone.contains(*name));
    left.map(|(name, owners)| (name.clone(), owners.difference(&gone).cloned().collect())).collect()
}

/// Returns the resource of a name: config maps and secrets are mixed.
fn of(name: &str) -> &'static Of {
    if name.ends_with('m') { &CONFIG_MAPS } else { &SECRETS }
}

/// Returns the objects of a resource.
fn seen(all: &[(ObjectKey, Value)]) -> Objects {
    let ours = all.iter().filter(|(key, _)| key.namespace() == Some(SHOP) && key.name().starts_with('o'));
    ours.map(|(key, object)| {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let owners = owners.map(|owner| owner["name"].as_str().unwrap().to_owned()).collect();
        (key.name().to_owned(), owners)
    })
    .collect()
}

async fn until_left(living: &Living, objects: &Objects) {
    for resource in [&CONFIG_MAPS, &SECRETS] {
        let expected = objects.iter().filter(|(name, _)| of(name).0 == resource.0);
        let expected: Objects = expected.map(|(name, owners)| (name.clone(), owners.clone())).collect();
        living.until_all(resource, |all| seen(all) == expected).await;
    }
}

async fn play(living: &Living, seed: u64) {
    let mut choices = Rng::with_seed(seed);
    let mut objects = Objects::new();
    let mut references: Vec<(String, Value)> = Vec::new();
    for number in 0..OBJECTS {
        let name = format!("o{number}{}", if choices.usize(..2) == 0 { 'm' } else { 's' });
        let mut owners = Vec::new();
        for _ in 0..choices.usize(..3).min(references.len()) {
            let (_, mut owner) = references[choices.usize(..references.len())].clone();
            owner["blockOwnerDeletion"] = (choices.usize(..2) == 0).into();
            if owners.iter().all(|other: &Value| other["uid"] != owner["uid"]) {
                owners.push(owner);
            }
        }
        let names = owners.iter().map(|owner| owner["name"].as_str().unwrap().to_owned()).collect();
        let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
        let created = living.create(of(&name), SHOP, object).await;
        let reference = json!({
            "apiVersion": "v1", "kind": of(&name).1, "name": name, "uid": created["metadata"]["uid"],
        });
        references.push((name.clone(), reference));
        objects.insert(name, names);
    }
    for _ in 0..DELETIONS.min(objects.len()) {
        if objects.is_empty() {
            break;
        }
        let name = objects.keys().nth(choices.usize(..objects.len())).unwrap().clone();
        let propagation =
            [Propagation::Background, Propagation::Foreground, Propagation::Orphan][choices.usize(..3)];
        let options = DeleteOptions { propagation: Some(propagation), ..Default::default() };
        eprintln!("seed {seed}: deletes {name}, {propagation:?}, of {objects:?}");
        living.delete(of(&name), SHOP, &name, &options).await;
        objects = delete(&objects, &name, propagation);
        until_left(living, &objects).await;
    }
    // The rest stays, and is deleted at last.
    for name in objects.keys() {
        let options = DeleteOptions { propagation: Some(Propagation::Orphan), ..Default::default() };
        living.delete(of(name), SHOP, name, &options).await;
    }
    until_left(living, &Objects::new()).await;
}

#[tokio::test]
async fn random_deletions_of_random_graphs_leave_what_the_model_leaves() {
    let living = Living::start().await;
    living.namespace(SHOP).await;
    for seed in 0..12 {
        play(&living, seed).await;
    }
    living.stop().await;
}
