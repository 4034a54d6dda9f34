//! However objects change and connections break, a client converges to the server's state.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::reader::{Reader, View};
use crate::world::{World, maps};

const SEEDS: u64 = 6;
const STEPS: usize = 120;
const APPS: [&str; 3] = ["web", "db", "queue"];

/// A client: its view, and the last message that it has kept.
struct Tab {
    reader: Reader,
    view: View,
    /// Its view after each message, to go back to.
    kept: Vec<(String, View)>,
}

impl Tab {
    /// Reads until the view equals the server's state.
    async fn catch_up(&mut self, world: &World) {
        let mut wanted = world.served().await;
        wanted.retain(|_, map| app(map).is_some());
        while !has_expected_content(&self.view, &wanted) {
            let event = self.reader.next().await;
            self.view.see(&event);
            self.kept.push((self.reader.id(), self.view.clone()));
        }
    }

    /// Drops the connection and the last messages that were in flight.
    async fn disconnect(&mut self, world: &World, lost: usize) {
        let at = self.kept.len().saturating_sub(1 + lost);
        self.kept.truncate(at + 1);
        let (last, view) = self.kept[at].clone();
        self.reader = Reader::open(world.address, "", Some(&last)).await;
        assert!(self.reader.resumed);
        self.view = view;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_converge_to_the_servers_state() {
    let world = World::start().await;
    for seed in 0..SEEDS {
        run(&world, seed).await;
    }
    world.stop().await;
}

async fn run(world: &World, seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut whole = maps(world, "whole", "app");
    whole["as"] = "object".into();
    let subs = [maps(world, "all", "app"), maps(world, "web", "app=web"), whole];
    let reader = world.open(&subs).await;
    let kept = vec![(reader.id(), View::default())];
    let mut tab = Tab { reader, view: View::default(), kept };
    let mut there = BTreeSet::new();
    for step in 0..STEPS {
        let (name, app) = (format!("m-{}", random.usize(..8)), APPS[random.usize(..APPS.len())]);
        if there.insert(name.clone()) {
            world.create(&name, app).await;
        } else if random.usize(..4) == 0 {
            world.delete(&name).await;
            there.remove(&name);
        } else {
            world.merge(&name, &patch(app, step)).await;
        }
        match random.usize(..8) {
            0 | 1 => tab.disconnect(world, random.usize(..4)).await,
            2 => tab.catch_up(world).await,
            _ => {}
        }
    }
    tab.catch_up(world).await;
    println!("seed {seed}: {} objects after {} messages", there.len(), tab.reader.last);
    for name in there {
        world.delete(&name).await;
    }
}

fn patch(app: &str, step: usize) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "data": {"step": step.to_string()}})
}

fn app(map: &Value) -> Option<&str> {
    map["metadata"]["labels"]["app"].as_str()
}

/// Compares each subscription object by object.
fn has_expected_content(view: &View, wanted: &BTreeMap<String, Value>) -> bool {
    let empty = BTreeMap::new();
    let sub = |id: &str| view.subs.get(id).unwrap_or(&empty);
    let is_row = |(key, row): (&String, &Value)| {
        wanted.get(key).is_some_and(|map| row[2] == map["metadata"]["resourceVersion"])
    };
    let is_object = |(key, object): (&String, &Value)| {
        wanted.get(key).is_some_and(|map| {
            object["data"] == map["data"]
                && object["metadata"]["resourceVersion"] == map["metadata"]["resourceVersion"]
        })
    };
    let web = wanted.values().filter(|map| app(map) == Some("web")).count();
    (sub("all").len(), sub("whole").len(), sub("web").len()) == (wanted.len(), wanted.len(), web)
        && sub("all").iter().all(is_row)
        && sub("web").iter().all(is_row)
        && sub("whole").iter().all(is_object)
}
