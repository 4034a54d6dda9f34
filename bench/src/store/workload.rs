//! Workload: several threads read while one writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use watchkeeper_core::{Object, ObjectKey, ObjectMetaBuilder};
use watchkeeper_wire::{ReadOptions, json};

use super::SharedStore;
use crate::pods::Pods;
use crate::server::Outcome;

/// Interval between replacements of all objects.
const RELIST: Duration = Duration::from_millis(500);

/// The objects, and the rate and duration of the load.
#[derive(Debug)]
pub struct Workload {
    /// Two states of each object, with different resource versions.
    states: [Vec<Object>; 2],
    /// Puts per second.
    pub puts: u32,
    /// Duration of a run.
    pub duration: Duration,
}

/// Sorted latencies of an operation.
#[derive(Debug, Default, Clone)]
pub struct Samples {
    times: Vec<Duration>,
}

impl Samples {
    /// Returns a percentile, given in thousandths; `None` if there are no samples.
    pub fn percentile(&self, per_thousand: usize) -> Option<Duration> {
        self.times
            .get((self.times.len() * per_thousand / 1000).min(self.times.len().checked_sub(1)?))
            .copied()
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.times.len()
    }

    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = std::hint::black_box(work());
        self.times.push(start.elapsed());
        done
    }

    fn merge(all: impl IntoIterator<Item = Self>) -> Self {
        let mut times: Vec<_> = all.into_iter().flat_map(|samples| samples.times).collect();
        times.sort_unstable();
        Self { times }
    }
}

/// The latencies of all operations.
#[derive(Debug, Default, Clone)]
pub struct Measurements {
    /// Get by key.
    pub gets: Samples,
    /// List by label or by index.
    pub lists: Samples,
    /// Iterate over all objects.
    pub scans: Samples,
    /// Put an object.
    pub puts: Samples,
    /// Replace all objects.
    pub relists: Samples,
}

impl Workload {
    /// Generates `objects` pods.
    ///
    /// # Errors
    /// Only if [`Pods`] generates invalid JSON.
    pub fn new(objects: usize, puts: u32, duration: Duration) -> Outcome<Self> {
        let (pods, read_options) = (Pods::seeded(11), ReadOptions::default());
        let mut builder = ObjectMetaBuilder::default();
        let mut state = |digit: &str| -> Outcome<Vec<Object>> {
            let version = format!(r#""resourceVersion":"{digit}"#);
            let item = |index| pods.item(index).replacen(r#""resourceVersion":""#, &version, 1);
            (0..objects)
                .map(|index| Ok(json::read_object(item(index).as_bytes(), &read_options, &mut builder)?))
                .collect()
        };
        Ok(Self { states: [state("1")?, state("2")?], puts, duration })
    }

    /// Puts all objects into a store.
    pub fn fill(&self, store: &impl SharedStore) {
        store.replace(self.states[0].clone());
    }

    /// Reads on `readers` threads while another one writes.
    ///
    /// # Panics
    /// If a get does not find its object.
    pub fn run(&self, store: &impl SharedStore, readers: usize) -> Measurements {
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let reading: Vec<_> =
                (0..readers).map(|reader| scope.spawn(move || self.read(store, reader, stop))).collect();
            let writing = scope.spawn(|| self.write(store, stop));
            thread::sleep(self.duration);
            stop.store(true, Ordering::Relaxed);
            let read: Vec<Measurements> =
                reading.into_iter().map(|thread| thread.join().expect("a reader panicked")).collect();
            let wrote = writing.join().expect("the writer panicked");
            let all =
                |of: fn(&Measurements) -> &Samples| Samples::merge(read.iter().map(|read| of(read).clone()));
            Measurements {
                gets: all(|read| &read.gets),
                lists: all(|read| &read.lists),
                scans: all(|read| &read.scans),
                puts: Samples::merge([wrote.puts]),
                relists: Samples::merge([wrote.relists]),
            }
        })
    }

    /// Reads until `stop` is set: of 100 operations, 90 are gets, 9 are lists and one is a scan. The thread sleeps between
    /// rounds of 100; without that, the latencies would mostly show how often the scheduler preempts it.
    fn read(&self, store: &impl SharedStore, reader: usize, stop: &AtomicBool) -> Measurements {
        let keys: Vec<ObjectKey> =
            self.states[0].iter().map(|object| object.metadata.key().clone()).collect();
        let mut next = reader * 7919;
        let mut measured = Measurements::default();
        while !stop.load(Ordering::Relaxed) {
            for turn in 0..100 {
                next = (next + 104_729) % keys.len();
                let object = &self.states[0][next];
                let hash = object.metadata.label("pod-template-hash").unwrap_or_default();
                match turn {
                    0 => drop(measured.scans.time(|| store.scan())),
                    1..=5 => drop(measured.lists.time(|| store.with_label("pod-template-hash", hash))),
                    6..=9 => drop(measured.lists.time(|| store.with_value(&hash[..2]))),
                    _ => {
                        let got: Option<Arc<Object>> = measured.gets.time(|| store.get(&keys[next]));
                        assert!(got.is_some(), "{} not found", keys[next]);
                    }
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
        measured
    }

    fn write(&self, store: &impl SharedStore, stop: &AtomicBool) -> Measurements {
        let mut measured = Measurements::default();
        let start = Instant::now();
        let mut relist = start + RELIST / 2;
        for turn in 0_u32.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let state = &self.states[(turn as usize / self.states[0].len() + 1) % 2];
            let object = state[turn as usize * 31 % state.len()].clone();
            let due = start + Duration::from_secs(u64::from(turn)) / self.puts;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            measured.puts.time(|| store.put(object));
            if Instant::now() >= relist {
                let all = self.states[turn as usize % 2].clone();
                measured.relists.time(|| store.replace(all));
                relist = Instant::now() + RELIST;
            }
        }
        measured
    }
}
