//! Strain: readers on several threads while one writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use watchkeeper_core::{Object, ObjectKey, ObjectMetaBuilder};
use watchkeeper_wire::{ReadOptions, json};

use super::Shelf;
use crate::pods::Pods;
use crate::server::Outcome;

/// How often all objects are replaced.
const RELIST: Duration = Duration::from_millis(500);

/// What is done to a shelf.
#[derive(Debug)]
pub struct Strain {
    /// Two states of each object, which differ in their version.
    states: [Vec<Object>; 2],
    /// How many are put a second.
    pub puts: u32,
    /// For how long.
    pub time: Duration,
}

/// How long single operations took, sorted.
#[derive(Debug, Default, Clone)]
pub struct Latencies {
    times: Vec<Duration>,
}

impl Latencies {
    /// So many of a thousand took no longer.
    pub fn at(&self, per_thousand: usize) -> Option<Duration> {
        self.times
            .get((self.times.len() * per_thousand / 1000).min(self.times.len().checked_sub(1)?))
            .copied()
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.times.len()
    }

    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = std::hint::black_box(work());
        self.times.push(begun.elapsed());
        done
    }

    fn merge(all: impl IntoIterator<Item = Self>) -> Self {
        let mut times: Vec<_> = all.into_iter().flat_map(|latencies| latencies.times).collect();
        times.sort_unstable();
        Self { times }
    }
}

/// How long everything took.
#[derive(Debug, Default, Clone)]
pub struct Strained {
    /// Getting an object by its key.
    pub gets: Latencies,
    /// Listing by a label or by the index.
    pub lists: Latencies,
    /// Going through all objects.
    pub scans: Latencies,
    /// Putting an object.
    pub puts: Latencies,
    /// Replacing all objects.
    pub relists: Latencies,
}

impl Strain {
    /// With so many pods.
    ///
    /// # Errors
    /// Never, unless [`Pods`] are not JSON.
    pub fn new(objects: usize, puts: u32, time: Duration) -> Outcome<Self> {
        let (pods, read_options) = (Pods::seeded(11), ReadOptions::default());
        let mut head = ObjectMetaBuilder::default();
        let mut state = |digit: &str| -> Outcome<Vec<Object>> {
            let version = format!(r#""resourceVersion":"{digit}"#);
            let item = |index| pods.item(index).replacen(r#""resourceVersion":""#, &version, 1);
            (0..objects)
                .map(|index| Ok(json::read_object(item(index).as_bytes(), &read_options, &mut head)?))
                .collect()
        };
        Ok(Self { states: [state("1")?, state("2")?], puts, time })
    }

    /// Fills a shelf.
    pub fn fill(&self, shelf: &impl Shelf) {
        shelf.replace(self.states[0].clone());
    }

    /// Reads on so many threads while one writes.
    ///
    /// # Panics
    /// Where a reader finds nothing.
    pub fn on(&self, shelf: &impl Shelf, readers: usize) -> Strained {
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let reading: Vec<_> =
                (0..readers).map(|reader| scope.spawn(move || self.read(shelf, reader, stop))).collect();
            let writing = scope.spawn(|| self.write(shelf, stop));
            thread::sleep(self.time);
            stop.store(true, Ordering::Relaxed);
            let read: Vec<Strained> = reading
                .into_iter()
                .map(|thread| thread.join().expect("a reader finds what is there"))
                .collect();
            let wrote = writing.join().expect("a writer writes");
            let all =
                |of: fn(&Strained) -> &Latencies| Latencies::merge(read.iter().map(|read| of(read).clone()));
            Strained {
                gets: all(|read| &read.gets),
                lists: all(|read| &read.lists),
                scans: all(|read| &read.scans),
                puts: Latencies::merge([wrote.puts]),
                relists: Latencies::merge([wrote.relists]),
            }
        })
    }

    /// Of 100 operations 90 are gets, 9 lists and one goes through all; a thread that never rests would say how
    /// often it loses its processor, so it rests between two rounds.
    fn read(&self, shelf: &impl Shelf, reader: usize, stop: &AtomicBool) -> Strained {
        let keys: Vec<ObjectKey> =
            self.states[0].iter().map(|object| object.metadata.key().clone()).collect();
        let mut next = reader * 7919;
        let mut strained = Strained::default();
        while !stop.load(Ordering::Relaxed) {
            for turn in 0..100 {
                next = (next + 104_729) % keys.len();
                let object = &self.states[0][next];
                let hash = object.metadata.label("pod-template-hash").unwrap_or_default();
                match turn {
                    0 => drop(strained.scans.time(|| shelf.scan())),
                    1..=5 => drop(strained.lists.time(|| shelf.with_label("pod-template-hash", hash))),
                    6..=9 => drop(strained.lists.time(|| shelf.with_value(&hash[..2]))),
                    _ => {
                        let got: Option<Arc<Object>> = strained.gets.time(|| shelf.get(&keys[next]));
                        assert!(got.is_some(), "{} is not there", keys[next]);
                    }
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
        strained
    }

    fn write(&self, shelf: &impl Shelf, stop: &AtomicBool) -> Strained {
        let mut strained = Strained::default();
        let begun = Instant::now();
        let mut relist = begun + RELIST / 2;
        for turn in 0_u32.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let state = &self.states[(turn as usize / self.states[0].len() + 1) % 2];
            let object = state[turn as usize * 31 % state.len()].clone();
            let due = begun + Duration::from_secs(u64::from(turn)) / self.puts;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            strained.puts.time(|| shelf.put(object));
            if Instant::now() >= relist {
                let all = self.states[turn as usize % 2].clone();
                strained.relists.time(|| shelf.replace(all));
                relist = Instant::now() + RELIST;
            }
        }
        strained
    }
}
