//! Simulated rollouts with random bounds, random event order and delayed statuses.

use fastrand::Rng;

use super::bounds::Bounds;
use super::sizes::{Size, grown, shrunk};

/// A replica set: desired pods, actual pods, and the last reported status.
#[derive(Debug, Clone, Copy)]
struct Set {
    wanted: i64,
    ready: i64,
    starting: i64,
    reported_available: i64,
}

impl Set {
    fn size(self) -> Size {
        Size { wanted: self.wanted, available: self.reported_available }
    }

    /// Acts as the replica set controller: unavailable pods go first.
    fn settle(&mut self) {
        while self.ready + self.starting > self.wanted {
            if self.starting > 0 { self.starting -= 1 } else { self.ready -= 1 }
        }
        self.starting = self.wanted - self.ready;
    }

    fn report(&mut self) {
        self.reported_available = self.ready;
    }
}

/// A step of the simulation, with the index of its replica set.
#[derive(Debug, Clone, Copy)]
enum Step {
    Roll,
    Settle(usize),
    Report(usize),
    Start(usize),
}

/// The last set is the new one.
#[derive(Debug)]
struct Rollout {
    bounds: Bounds,
    sets: Vec<Set>,
}

impl Rollout {
    /// Acts as the deployment controller, and returns whether anything changed.
    fn roll(&mut self) -> bool {
        let wanted = |sets: &[Set]| sets.iter().map(|set| set.wanted).collect::<Vec<_>>();
        let before = wanted(&self.sets);
        let new = self.sets.len() - 1;
        let size = grown(&self.bounds, before.iter().sum(), before[new]);
        if size != before[new] {
            self.sets[new].wanted = size;
            return true;
        }
        let old: Vec<Size> = self.sets[..new].iter().map(|set| set.size()).collect();
        let sizes = shrunk(&self.bounds, &old, self.sets[new].size());
        for (set, size) in self.sets.iter_mut().zip(&sizes) {
            assert!((0..=set.wanted).contains(size), "{size} of {set:?}");
            set.wanted = *size;
        }
        wanted(&self.sets) != before
    }

    fn apply(&mut self, what: Step) {
        let count = self.sets.len();
        match what {
            Step::Roll => {
                self.roll();
            }
            Step::Settle(which) => self.sets[which % count].settle(),
            Step::Report(which) => self.sets[which % count].report(),
            Step::Start(which) => {
                let set = &mut self.sets[which % count];
                if set.starting > 0 {
                    set.starting -= 1;
                    set.ready += 1;
                }
            }
        }
    }

    fn check(&self, seed: u64) {
        let total: i64 = self.sets.iter().map(|set| set.wanted).sum();
        let ready: i64 = self.sets.iter().map(|set| set.ready).sum();
        assert!(total <= self.bounds.max(), "seed {seed}: too many: {self:?}");
        assert!(ready >= self.bounds.min_available(), "seed {seed}: too few available: {self:?}");
    }

    fn is_complete(&self) -> bool {
        let (new, old) = self.sets.split_last().expect("there is a new set");
        new.wanted == self.bounds.desired && old.iter().all(|set| set.wanted == 0)
    }
}

/// Random steps and deployments.
struct Random(Rng);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    fn number(&mut self, end: i64) -> i64 {
        self.below(end.unsigned_abs()) as i64
    }

    fn step(&mut self) -> Step {
        let which = self.below(3) as usize;
        match self.below(13) {
            0..3 => Step::Roll,
            3..6 => Step::Settle(which),
            6..9 => Step::Report(which),
            _ => Step::Start(which),
        }
    }

    /// Returns a fully available deployment with up to two old sets.
    fn rollout(&mut self) -> Rollout {
        let (desired, surge) = (self.number(20), self.number(8));
        let unavailable = self.number(8).max(i64::from(surge == 0)).min(desired);
        let first = self.number(desired + 1);
        let set = |ready| Set { wanted: ready, ready, starting: 0, reported_available: ready };
        let sets = vec![set(first), set(desired - first), set(0)];
        Rollout { bounds: Bounds { desired, surge, unavailable }, sets }
    }
}

#[test]
fn a_rollout_stays_within_its_bounds_and_completes() {
    for seed in 1..=20_000 {
        let mut random = Random(Rng::with_seed(seed));
        let mut rollout = random.rollout();
        rollout.check(seed);
        for _ in 0..random.below(120) {
            rollout.apply(random.step());
            rollout.check(seed);
        }
        // Once all pods are started and reported, every step makes progress until the rollout is complete.
        let steps = 4 * rollout.bounds.desired + 8;
        for _ in 0..steps {
            for set in &mut rollout.sets {
                set.settle();
                set.ready += std::mem::take(&mut set.starting);
                set.report();
            }
            let has_moved = rollout.roll();
            rollout.check(seed);
            assert!(has_moved || rollout.is_complete(), "seed {seed}: stuck: {rollout:?}");
        }
        assert!(rollout.is_complete(), "seed {seed}: not complete after {steps} steps: {rollout:?}");
    }
}
