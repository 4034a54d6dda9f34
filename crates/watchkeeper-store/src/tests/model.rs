//! A store against a model that keeps every state it ever had.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::*;
use crate::{HistoryLimits, RangeQuery, ReadError};

#[derive(Debug, Clone)]
enum Step {
    Put { collection: usize, key: usize, expect: Expectation },
    Delete { collection: usize, key: usize, right: bool },
    Get { collection: usize, key: usize },
    Range { collection: usize, namespace: Option<usize>, back: u64, start: Option<usize>, limit: usize },
    Watch { collection: usize, namespace: Option<usize>, back: u64 },
    Drain { watch: usize },
    Compact { back: u64 },
}

#[derive(Debug, Clone, Copy)]
enum Expectation {
    Absent,
    Right,
    Wrong,
    Any,
}

const COLLECTIONS: [&str; 2] = ["pods", "apps/deployments"];
const NAMESPACES: [&str; 3] = ["a", "a-b", "b"];
const KEYS: usize = 9;

fn key_text(key: usize) -> String {
    format!("{}/{}", NAMESPACES[key % 3], ["x", "x-1", "y"][key / 3])
}

fn step() -> impl Strategy<Value = Step> {
    let expect = prop_oneof![
        2 => Just(Expectation::Absent),
        3 => Just(Expectation::Right),
        1 => Just(Expectation::Wrong),
        4 => Just(Expectation::Any),
    ];
    let namespace = || prop::option::of(0..3_usize);
    prop_oneof![
        8 => (0..2_usize, 0..KEYS, expect).prop_map(|(collection, key, expect)| Step::Put { collection, key, expect }),
        3 => (0..2_usize, 0..KEYS, any::<bool>()).prop_map(|(collection, key, right)| Step::Delete { collection, key, right }),
        1 => (0..2_usize, 0..KEYS).prop_map(|(collection, key)| Step::Get { collection, key }),
        4 => (0..2_usize, namespace(), 0..30_u64, prop::option::of(0..KEYS), 0..5_usize)
            .prop_map(|(collection, namespace, back, start, limit)| Step::Range { collection, namespace, back, start, limit }),
        2 => (0..2_usize, namespace(), 0..20_u64).prop_map(|(collection, namespace, back)| Step::Watch { collection, namespace, back }),
        3 => (0..8_usize).prop_map(|watch| Step::Drain { watch }),
        1 => (0..20_u64).prop_map(|back| Step::Compact { back }),
    ]
}

type State = BTreeMap<String, Arc<Stored>>;

/// A collection that keeps everything, and knows what the store must have dropped.
struct Model {
    /// The state after each revision since the first.
    states: Vec<State>,
    /// Revision and key of each change, and whether the history has dropped it.
    events: Vec<(Revision, String)>,
    dropped: usize,
    floor: Revision,
}

impl Model {
    fn newest(&self) -> &State {
        self.states.last().unwrap()
    }

    fn change(&mut self, revision: Revision, key: String, limit: usize) {
        self.events.push((revision, key));
        if self.events.len() - self.dropped > limit {
            self.floor = self.floor.max(self.events[self.dropped].0);
            self.dropped += 1;
        }
    }

    fn compact(&mut self, revision: Revision) {
        self.floor = self.floor.max(revision);
        self.dropped = self.dropped.max(self.seen(revision));
    }

    /// Returns the number of changes up to a revision.
    fn seen(&self, revision: Revision) -> usize {
        self.events.iter().filter(|(other, _)| *other <= revision).count()
    }
}

struct OpenWatch {
    collection: usize,
    namespace: Option<usize>,
    cursor: usize,
    watch: BoxWatch,
}

struct Run<S> {
    store: S,
    limit: usize,
    models: [Model; 2],
    watches: Vec<OpenWatch>,
    current: Revision,
}

fn collection(index: usize) -> CollectionId {
    COLLECTIONS[index].into()
}

fn in_namespace(key: &str, namespace: Option<usize>) -> bool {
    namespace.is_none_or(|index| key.split_once('/').unwrap().0 == NAMESPACES[index])
}

impl<S: Subject> Run<S> {
    fn new(limit: usize) -> Self {
        let model =
            || Model { states: vec![State::new()], events: vec![], dropped: 0, floor: Revision::FIRST };
        let store = S::new(HistoryLimits { events: limit, ..HistoryLimits::default() });
        Self { store, limit, models: [model(), model()], watches: vec![], current: Revision::FIRST }
    }

    fn back(&self, back: u64) -> Revision {
        Revision::new(self.current.get().saturating_sub(back).max(1))
    }

    /// Applies one change to the model: all collections have a state at each revision.
    fn changed(&mut self, index: usize, key: String, state: Option<Arc<Stored>>) {
        self.current = Revision::new(self.current.get() + 1);
        for model in &mut self.models {
            let same = model.newest().clone();
            model.states.push(same);
        }
        let newest = self.models[index].states.last_mut().unwrap();
        match state {
            Some(stored) => drop(newest.insert(key.clone(), stored)),
            None => drop(newest.remove(&key)),
        }
        self.models[index].change(self.current, key, self.limit);
    }

    fn put(&mut self, index: usize, number: usize, expect: Expectation) {
        let text = key_text(number);
        let existing = self.models[index].newest().get(&text).cloned();
        let expect = match expect {
            Expectation::Absent => Precondition::Absent,
            Expectation::Right => {
                Precondition::At(existing.as_ref().map_or(self.current, |stored| stored.modified()))
            }
            Expectation::Wrong => {
                Precondition::At(existing.as_ref().map_or(self.current, |stored| stored.modified().before()))
            }
            Expectation::Any => Precondition::Any,
        };
        let allowed = match expect {
            Precondition::Absent => existing.is_none(),
            Precondition::At(revision) => {
                existing.as_ref().is_some_and(|stored| stored.modified() == revision)
            }
            Precondition::Any => true,
        };
        let result = now(self.store.put(&collection(index), value(&text, "d"), expect));
        if !allowed {
            return assert_eq!(conflict(result), existing);
        }
        let stored = result.unwrap();
        assert_eq!(stored.modified(), Revision::new(self.current.get() + 1), "store.T1");
        assert_eq!(stored.object().metadata.resource_version(), &stored.modified().into(), "store.T2");
        assert_eq!(stored.created(), existing.map_or(stored.modified(), |existing| existing.created()));
        self.changed(index, text, Some(stored));
    }

    fn delete(&mut self, index: usize, number: usize, right: bool) {
        let text = key_text(number);
        let existing = self.models[index].newest().get(&text).cloned();
        let at = existing
            .as_ref()
            .map(|stored| if right { stored.modified() } else { stored.modified().before() });
        let result = now(self.store.delete(&collection(index), &key(&text), at));
        match existing {
            Some(existing) if right => {
                assert_eq!(*result.unwrap(), existing.under(Revision::new(self.current.get() + 1)));
                self.changed(index, text, None);
            }
            existing => assert_eq!(conflict(result), existing),
        }
    }

    fn range(&self, index: usize, namespace: Option<usize>, back: u64, start: Option<usize>, limit: usize) {
        let model = &self.models[index];
        // Exactly this far back, or the newest without specifying a revision.
        let at = (back > 0).then(|| self.back(back - 1));
        let revision = at.unwrap_or(self.current);
        let start = start.map(key_text);
        let query = RangeQuery {
            collection: collection(index),
            namespace: namespace.map(|index| NAMESPACES[index].to_owned()),
            at,
            start: start.clone(),
            limit: NonZeroUsize::new(limit),
        };
        let result = now(self.store.range(query));
        if revision < model.floor {
            let Err(ReadError::Compacted { asked, oldest }) = result else { panic!("{result:?}") };
            return assert_eq!((asked, oldest), (revision, model.floor));
        }
        let state = &model.states[usize::try_from(revision.get() - 1).unwrap()];
        let all: Vec<_> = state
            .iter()
            .filter(|(key, _)| {
                in_namespace(key, namespace) && start.as_ref().is_none_or(|start| *key >= start)
            })
            .map(|(_, stored)| stored.clone())
            .collect();
        let count = if limit == 0 { all.len() } else { all.len().min(limit) };
        let range = result.unwrap();
        assert_eq!(range.items, all[..count], "store.T3");
        assert_eq!((range.revision, range.remaining), (revision, all.len() - count));
    }

    fn watch(&mut self, index: usize, namespace: Option<usize>, back: u64) {
        let after = self.back(back);
        let query = WatchQuery {
            collection: collection(index),
            namespace: namespace.map(|index| NAMESPACES[index].to_owned()),
            after,
        };
        let model = &self.models[index];
        match now(self.store.watch(query)) {
            Ok(watch) => {
                assert!(after >= model.floor);
                let cursor = model.seen(after);
                self.watches.push(OpenWatch { collection: index, namespace, cursor, watch });
            }
            Err(WatchError::Compacted { oldest, .. }) => {
                assert!(after < model.floor);
                assert_eq!(oldest, model.floor);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn drain(&mut self, number: usize) {
        let Some(open) = self.watches.get_mut(number) else { return };
        let model = &self.models[open.collection];
        if open.cursor < model.dropped {
            let mut open = self.watches.remove(number);
            assert!(
                matches!(now(open.watch.next()), Some(Err(WatchError::Compacted { oldest, .. })) if oldest == model.floor)
            );
            assert!(now(open.watch.next()).is_none());
            return;
        }
        let mut seen = Vec::new();
        while let Some(batch) = open.watch.next().now_or_never() {
            seen.extend(batch.unwrap().unwrap());
        }
        let expected: Vec<_> =
            model.events[open.cursor..].iter().filter(|(_, key)| in_namespace(key, open.namespace)).collect();
        assert_eq!(seen.len(), expected.len(), "store.T4");
        for (event, (revision, key)) in seen.iter().zip(expected) {
            let place = usize::try_from(revision.get() - 1).unwrap();
            let (before, after) = (model.states[place - 1].get(key), model.states[place].get(key));
            assert_eq!((event.revision(), event.key().as_str()), (*revision, key.as_str()), "store.T4");
            assert_eq!((event.previous(), event.current()), (before, after));
        }
        open.cursor = model.events.len();
        assert_eq!(open.watch.progress(), self.current);
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Put { collection, key, expect } => self.put(collection, key, expect),
            Step::Delete { collection, key, right } => self.delete(collection, key, right),
            Step::Get { collection: index, key: number } => {
                let text = key_text(number);
                let found = now(self.store.get(&collection(index), &key(&text))).unwrap();
                assert_eq!(found.as_ref(), self.models[index].newest().get(&text));
            }
            Step::Range { collection, namespace, back, start, limit } => {
                self.range(collection, namespace, back, start, limit);
            }
            Step::Watch { collection, namespace, back } => self.watch(collection, namespace, back),
            Step::Drain { watch } => self.drain(watch),
            Step::Compact { back } => {
                let revision = self.back(back);
                now(self.store.compact(revision)).unwrap();
                self.models.iter_mut().for_each(|model| model.compact(revision));
            }
        }
        for (index, model) in self.models.iter().enumerate() {
            let held = self.store.memory().history_len(&collection(index));
            assert_eq!(held, model.events.len() - model.dropped, "history.R1");
        }
    }
}

fn run<S: Subject>(limit: usize, steps: &[Step]) {
    let mut run = Run::<S>::new(limit);
    for step in steps {
        run.take(step);
    }
    for number in (0..run.watches.len()).rev() {
        run.drain(number);
    }
}

fn steps() -> impl Strategy<Value = (usize, Vec<Step>)> {
    (prop_oneof![Just(3_usize), Just(12), Just(10_000)], prop::collection::vec(step(), 1..160))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_memory_store_matches_a_model_that_keeps_every_state((limit, steps) in steps()) {
        run::<MemoryStore>(limit, &steps);
    }

    #[test]
    fn the_disk_store_matches_a_model_that_keeps_every_state((limit, steps) in steps()) {
        run::<DiskStore>(limit, &steps);
    }
}
