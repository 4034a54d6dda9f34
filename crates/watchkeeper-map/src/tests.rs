//! The map against a model.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn check<K: Ord + std::fmt::Debug, V>(map: &OrdMap<K, V>) {
    fn depth<K: Ord + std::fmt::Debug, V>(node: &Node<K, V>, smallest: Option<&K>) -> usize {
        assert!((1..=WIDTH).contains(&node.width()), "map.M2");
        assert!(node.capacity() <= WIDTH, "map.M4");
        match node {
            Node::Leaf(entries) => {
                assert!(entries.is_sorted_by(|one, two| one.0 < two.0), "map.M1");
                assert!(smallest.is_none_or(|smallest| *smallest <= entries[0].0), "map.M1");
                1
            }
            Node::Branch(children) => {
                assert!(children.is_sorted_by(|one, two| one.first < two.first), "map.M1");
                assert!(children.iter().all(|child| child.len == child.node.len()), "map.M5");
                let depths: Vec<_> =
                    children.iter().map(|child| depth(&child.node, Some(&child.first))).collect();
                assert!(depths.iter().all(|depth| *depth == depths[0]), "map.M2");
                depths[0] + 1
            }
        }
    }
    assert_eq!(map.root.as_deref().map_or(0, Node::len), map.len, "map.M5");
    if let Some(root) = &map.root {
        depth(root, None);
    }
}

impl<K, V> Node<K, V> {
    fn capacity(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.capacity(),
            Self::Branch(children) => children.capacity(),
        }
    }
}

#[test]
fn random_insertion_order_wastes_little_capacity() {
    let mut map = OrdMap::default();
    for number in 0..10_000_u32 {
        map.insert(number.wrapping_mul(2_654_435_761), ());
    }
    fn room(node: &Node<u32, ()>) -> usize {
        match node {
            Node::Leaf(entries) => entries.capacity(),
            Node::Branch(children) => children.iter().map(|child| room(&child.node)).sum(),
        }
    }
    check(&map);
    let room = room(map.root.as_deref().unwrap());
    assert!(room < 10_000 + 10_000 / 4, "{room}");
}

#[test]
fn sorted_insertion_order_fills_the_nodes() {
    let mut map = OrdMap::default();
    for key in 0..10 * WIDTH {
        map.insert(key, ());
    }
    let Some(Node::Branch(children)) = map.root.as_deref() else { panic!("expected a branch") };
    assert_eq!(children.len(), 10);
    check(&map);
}

#[test]
fn a_map_shrinks_when_entries_are_removed() {
    let mut map: OrdMap<usize, usize> = OrdMap::default();
    for key in 0..20_000 {
        map.insert(key, key);
    }
    for key in (0..20_000).filter(|key| key % 100 != 7) {
        map.remove(&key);
    }
    check(&map);
    fn leaves(node: &Node<usize, usize>) -> usize {
        match node {
            Node::Leaf(_) => 1,
            Node::Branch(children) => children.iter().map(|child| leaves(&child.node)).sum(),
        }
    }
    assert_eq!(map.len(), 200);
    assert!(leaves(map.root.as_deref().unwrap()) <= 200 * 2 / MERGED + 1);
}

#[test]
fn an_emptied_map_has_no_nodes() {
    let mut map = OrdMap::default();
    for key in 0..10 * WIDTH {
        map.insert(key, ());
    }
    for key in 0..10 * WIDTH {
        map.remove(&key);
    }
    assert!(map.root.is_none() && map.is_empty());
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u16, u8),
    Remove(u16),
    Copy,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..700_u16, any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
        5 => (0..700_u16).prop_map(Step::Remove),
        1 => Just(Step::Copy),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_map_behaves_like_a_btree_map_and_clones_do_not_change(
        steps in prop::collection::vec(step(), 0..3000),
        from in 0..700_u16,
    ) {
        let (mut map, mut model) = (OrdMap::default(), BTreeMap::new());
        let mut copies = Vec::new();
        for step in steps {
            match step {
                Step::Insert(key, value) => {
                    prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                }
                Step::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                Step::Copy => copies.push((map.clone(), model.clone())),
            }
        }
        copies.push((map, model));
        for (map, model) in &copies {
            check(map);
            prop_assert_eq!(map.len(), model.len());
            prop_assert!(map.iter().eq(model.iter()));
            prop_assert!(map.iter_from(|key| *key < from).eq(model.range(from..)));
            let slices = map.slices_from(|key| *key < from).flatten().map(|(key, value)| (key, value));
            prop_assert!(slices.eq(model.range(from..)));
            prop_assert_eq!(map.rank(|key| *key < from), model.range(..from).count());
            prop_assert_eq!(map.get(&from), model.get(&from));
        }
    }
}
