use std::collections::BTreeMap;

use proptest::prelude::*;
use watchkeeper_core::{Encoded, GroupVersionKind, GroupVersionResource, ObjectMetaBuilder, OwnerReference};

use super::*;

/// A short description of an object: kind, name, namespace, and owners by UID; `*` marks the controller.
#[derive(Debug, Clone)]
struct Sketch {
    kind: &'static str,
    name: String,
    namespace: &'static str,
    uid: String,
    owners: Vec<(String, bool)>,
}

fn sketch(kind: &'static str, name: &str, owners: &[&str]) -> Sketch {
    let owner = |owner: &&str| (owner.trim_end_matches('*').to_owned(), owner.ends_with('*'));
    let owners = owners.iter().map(owner).collect();
    Sketch { kind, name: name.to_owned(), namespace: "shop", uid: format!("u-{name}"), owners }
}

fn member(of: &Sketch) -> Member {
    let mut head = ObjectMetaBuilder::default();
    head.name(&of.name).namespace(of.namespace).uid(&of.uid);
    for (uid, controller) in &of.owners {
        head.owner(&OwnerReference { uid, controller: *controller, ..OwnerReference::default() });
    }
    let mapping = Mapping {
        resource: GroupVersionResource::new("", "v1", "things"),
        kind: GroupVersionKind::new("", "v1", of.kind),
        singular: String::new(),
        namespaced: !of.namespace.is_empty(),
    };
    let object = Object { metadata: head.finish(), encoded: Encoded::json(b"{}".as_slice()) };
    Member { mapping: Arc::new(mapping), object: Arc::new(object) }
}

fn graph(of: &[Sketch]) -> OwnerGraph {
    OwnerGraph::new(of.iter().map(member))
}

/// Formats every object with a bar for each owner above it.
fn drawn(graph: &OwnerGraph) -> Vec<String> {
    fn draw(node: &Node, bars: &str, into: &mut Vec<String>) {
        into.push(format!("{bars}{}/{}", node.kind, node.name));
        node.children.iter().for_each(|child| draw(child, &format!("{bars}|"), into));
    }
    let mut lines = Vec::new();
    for root in graph.roots() {
        draw(&graph.tree(root, &mut |_| Condition::UNKNOWN), "", &mut lines);
    }
    lines
}

#[test]
fn children_are_below_their_owners_by_kind_and_name() {
    let of = [
        sketch("Pod", "b", &["u-set*"]),
        sketch("Pod", "a", &["u-set*"]),
        sketch("Lease", "z", &["u-set"]),
        sketch("ReplicaSet", "set", &["u-web*"]),
        sketch("Deployment", "web", &[]),
    ];
    let expected = ["Deployment/web", "|ReplicaSet/set", "||Lease/z", "||Pod/a", "||Pod/b"];
    assert_eq!(drawn(&graph(&of)), expected);
}

#[test]
fn controllers_precede_other_owners_and_missing_owners_are_skipped() {
    let of = [
        sketch("Node", "n", &[]),
        sketch("Set", "s", &[]),
        sketch("Pod", "both", &["u-n", "u-s*"]),
        sketch("Pod", "first", &["u-gone", "u-n", "u-s"]),
        sketch("Pod", "lost", &["u-gone*", "u-s"]),
        sketch("Pod", "orphan", &["u-gone*"]),
    ];
    let expected = ["Node/n", "|Pod/first", "Pod/orphan", "Set/s", "|Pod/both", "|Pod/lost"];
    assert_eq!(drawn(&graph(&of)), expected);
}

#[test]
fn owners_are_in_the_same_namespace_or_cluster_scoped() {
    let of = [
        Sketch { namespace: "other", ..sketch("Set", "far", &[]) },
        Sketch { namespace: "", ..sketch("Node", "n", &[]) },
        sketch("Pod", "a", &["u-far*"]),
        sketch("Pod", "b", &["u-n*"]),
    ];
    assert_eq!(drawn(&graph(&of)), ["Node/n", "|Pod/b", "Pod/a", "Set/far"]);
}

#[test]
fn cycles_are_broken_at_their_first_object() {
    let of = [
        sketch("B", "b", &["u-a"]),
        sketch("A", "a", &["u-c"]),
        sketch("C", "c", &["u-b"]),
        sketch("D", "d", &["u-b"]),
        sketch("Self", "s", &["u-s*"]),
    ];
    assert_eq!(drawn(&graph(&of)), ["A/a", "|B/b", "||C/c", "||D/d", "Self/s"]);
}

#[test]
fn deeper_objects_start_a_new_root() {
    let one = |at: usize| sketch("Link", &format!("{at:03}"), &[&format!("u-{:03}*", at.wrapping_sub(1))]);
    let line: Vec<Sketch> = (0..2 * MAX_DEPTH + 5).map(one).collect();
    let graph = graph(&line);
    let heights: Vec<usize> =
        graph.roots().map(|root| height(&graph.tree(root, &mut |_| Condition::UNKNOWN))).collect();
    assert_eq!(heights, [MAX_DEPTH, MAX_DEPTH, 5]);
}

#[test]
fn the_first_of_two_objects_with_the_same_uid_wins() {
    let twin = Sketch { kind: "Event2", ..sketch("Event", "e", &[]) };
    let no_uid = |name| Sketch { uid: String::new(), ..sketch("Metric", name, &[""]) };
    let of = [twin, sketch("Event", "e", &[]), no_uid("m"), no_uid("m")];
    assert_eq!(drawn(&graph(&of)), ["Event2/e", "Metric/m", "Metric/m"]);
}

#[test]
fn trees_can_start_anywhere_and_top_finds_the_root() {
    let of = [
        sketch("Deployment", "web", &[]),
        sketch("ReplicaSet", "set", &["u-web*"]),
        sketch("Pod", "p", &["u-set*"]),
    ];
    let graph = graph(&of);
    let pod = graph.find("u-p").unwrap();
    assert_eq!(graph.member(graph.top(pod)).object.metadata.uid(), "u-web");
    assert_eq!(graph.find(""), None);
    let set = graph.tree(graph.parent(pod).unwrap(), &mut |_| Condition::UNKNOWN);
    assert_eq!((&*set.name, set.children.len()), ("set", 1));
    assert_eq!(graph.descendants(graph.top(pod)).len(), 3);
}

#[test]
fn own_health_and_worst_descendant_are_separate() {
    let of = [
        sketch("Deployment", "web", &[]),
        sketch("ReplicaSet", "set", &["u-web*"]),
        sketch("Pod", "bad", &["u-set*"]),
        sketch("Pod", "good", &["u-set*"]),
    ];
    let graph = graph(&of);
    let mut own = |member: &Member| match member.object.metadata.key().name() {
        "web" => Condition { health: Health::Progressing, status: String::new() },
        "bad" => Condition { health: Health::Degraded, status: String::new() },
        "good" => Condition { health: Health::Healthy, status: String::new() },
        _ => Condition::UNKNOWN,
    };
    let web = graph.tree(graph.find("u-web").unwrap(), &mut own);
    let set = &web.children[0];
    assert_eq!((web.health, web.below), (Health::Progressing, Health::Degraded));
    assert_eq!((set.health, set.below), (Health::Unknown, Health::Degraded));
    assert_eq!((set.children[0].health, set.children[0].below), (Health::Degraded, Health::Unknown));
    assert_eq!((set.children[1].health, set.children[1].below), (Health::Healthy, Health::Unknown));
}

/// Computes the parent of each object as `tree.T2` to `tree.T4` define it, with a simple quadratic algorithm.
fn model(of: &[Sketch]) -> BTreeMap<String, Option<String>> {
    let find = |uid: &str| of.iter().find(|sketch| sketch.uid == uid);
    let fits = |child: &Sketch, uid: &str| {
        find(uid).is_some_and(|owner| owner.namespace.is_empty() || owner.namespace == child.namespace)
    };
    let mut parents: BTreeMap<String, Option<String>> = BTreeMap::new();
    for child in of {
        // If several owners claim to be the controller, the first is used.
        let controller = child.owners.iter().find(|(_, controller)| *controller).into_iter();
        let mut owners = controller.chain(&child.owners).map(|(uid, _)| uid);
        parents.insert(child.uid.clone(), owners.find(|uid| fits(child, uid)).cloned());
    }
    let up = |uid: &str, parents: &BTreeMap<String, Option<String>>| parents[uid].clone();
    let rank = |uid: &String| find(uid).map(|sketch| (sketch.kind, sketch.name.clone(), sketch.namespace));
    for child in of {
        let mut circle = vec![child.uid.clone()];
        let mut at = up(&child.uid, &parents);
        while let Some(uid) = at.filter(|_| circle.len() <= of.len()) {
            circle.push(uid.clone());
            at = (uid != child.uid).then(|| up(&uid, &parents)).flatten();
        }
        if circle.len() > 1 && circle.last() == Some(&child.uid) {
            let first = circle.into_iter().min_by_key(|uid| (rank(uid), uid.clone())).unwrap();
            parents.insert(first, None);
        }
    }
    fn depth(uid: &str, parents: &mut BTreeMap<String, Option<String>>) -> usize {
        let Some(parent) = parents[uid].clone() else { return 1 };
        let depth = depth(&parent, parents);
        if depth < MAX_DEPTH {
            return depth + 1;
        }
        parents.insert(uid.to_owned(), None);
        1
    }
    for child in of {
        depth(&child.uid, &mut parents);
    }
    parents
}

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let owners = prop::collection::vec((0..80usize, any::<bool>()), 0..3);
    let one = (0..3usize, 0..4usize, owners, prop::bool::weighted(0.8));
    prop::collection::vec(one, 0..80).prop_map(|all| {
        let count = all.len();
        let sketch = |(at, (kind, namespace, owners, chained))| {
            let index: usize = at;
            let mut owners: Vec<(String, bool)> = Vec::from_iter(owners)
                .into_iter()
                .map(|(owner, first): (usize, bool)| (format!("u{owner}"), first))
                .collect();
            if chained {
                owners = vec![(format!("u{}", (index + 1) % count.max(1)), true)]; // long chains, and cycles
            }
            Sketch {
                kind: ["A", "B", "C"][kind],
                name: format!("n{}", index % 7),
                namespace: ["", "shop", "shop", "shop"][namespace],
                uid: format!("u{index}"),
                owners,
            }
        };
        all.into_iter().enumerate().map(sketch).collect()
    })
}

/// Collects each object of a tree with its parent.
fn walk(node: &Node, parent: Option<&str>, into: &mut Vec<(String, Option<String>)>) {
    into.push((node.uid.clone(), parent.map(str::to_owned)));
    node.children.iter().for_each(|child| walk(child, Some(&node.uid), into));
}

fn height(node: &Node) -> usize {
    1 + node.children.iter().map(height).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn every_object_is_in_the_forest_once_below_the_parent_of_the_model(of in sketches()) {
        let graph = graph(&of);
        let forest: Vec<Node> =
            graph.roots().map(|root| graph.tree(root, &mut |_| Condition::UNKNOWN)).collect();
        let mut found = Vec::new();
        forest.iter().for_each(|root| walk(root, None, &mut found));
        prop_assert_eq!(found.len(), of.len()); // tree.T1
        let found: BTreeMap<_, _> = found.into_iter().collect();
        prop_assert_eq!(found, model(&of)); // tree.T2, tree.T3, tree.T4
        prop_assert!(forest.iter().all(|root| height(root) <= MAX_DEPTH));
    }

    #[test]
    fn input_order_does_not_matter(of in sketches(), turn in 0..80usize) {
        let mut turned = of.clone();
        turned.rotate_left(turn.min(of.len()));
        turned.reverse();
        prop_assert_eq!(drawn(&graph(&of)), drawn(&graph(&turned)));
    }
}
