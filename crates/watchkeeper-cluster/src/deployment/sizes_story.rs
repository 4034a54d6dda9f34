//! A rollout of any bounds, in any order of what happens, with statuses that are told late.

use super::bounds::Bounds;
use super::sizes::{Size, grown, shrunk};

/// A replica set: what is wanted, what there is, and what it last said of that.
#[derive(Debug, Clone, Copy)]
struct Set {
    wanted: i64,
    ready: i64,
    starting: i64,
    said_available: i64,
}

impl Set {
    fn size(self) -> Size {
        Size { wanted: self.wanted, available: self.said_available }
    }

    /// What its own controller does: what does not serve goes first.
    fn settle(&mut self) {
        while self.ready + self.starting > self.wanted {
            if self.starting > 0 { self.starting -= 1 } else { self.ready -= 1 }
        }
        self.starting = self.wanted - self.ready;
    }

    fn tell(&mut self) {
        self.said_available = self.ready;
    }
}

/// What may happen, and to which set.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Rolls,
    Settles(usize),
    Tells(usize),
    Starts(usize),
}

/// The last set is the new one.
#[derive(Debug)]
struct Rollout {
    bounds: Bounds,
    sets: Vec<Set>,
}

impl Rollout {
    /// What the deployment's controller does; whether anything changed.
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

    fn happens(&mut self, what: Happens) {
        let count = self.sets.len();
        match what {
            Happens::Rolls => {
                self.roll();
            }
            Happens::Settles(which) => self.sets[which % count].settle(),
            Happens::Tells(which) => self.sets[which % count].tell(),
            Happens::Starts(which) => {
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
        assert!(total <= self.bounds.most(), "seed {seed}: too many: {self:?}");
        assert!(ready >= self.bounds.least(), "seed {seed}: too few serve: {self:?}");
    }

    fn is_over(&self) -> bool {
        let (new, old) = self.sets.split_last().expect("there is a new set");
        new.wanted == self.bounds.desired && old.iter().all(|set| set.wanted == 0)
    }
}

/// Numbers that look like chance, and are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn number(&mut self, end: i64) -> i64 {
        self.below(end.unsigned_abs()) as i64
    }

    fn happening(&mut self) -> Happens {
        let which = self.below(3) as usize;
        match self.below(13) {
            0..3 => Happens::Rolls,
            3..6 => Happens::Settles(which),
            6..9 => Happens::Tells(which),
            _ => Happens::Starts(which),
        }
    }

    /// A deployment that serves in full, of two old sets at most.
    fn rollout(&mut self) -> Rollout {
        let (desired, surge) = (self.number(20), self.number(8));
        let unavailable = self.number(8).max(i64::from(surge == 0)).min(desired);
        let first = self.number(desired + 1);
        let set = |ready| Set { wanted: ready, ready, starting: 0, said_available: ready };
        let sets = vec![set(first), set(desired - first), set(0)];
        Rollout { bounds: Bounds { desired, surge, unavailable }, sets }
    }
}

#[test]
fn a_rollout_keeps_its_bounds_and_comes_to_an_end() {
    for seed in 1..=20_000 {
        let mut chance = Chance(seed);
        let mut rollout = chance.rollout();
        rollout.check(seed);
        for _ in 0..chance.below(120) {
            rollout.happens(chance.happening());
            rollout.check(seed);
        }
        // Once everything that has begun is done and told, there is a next step until there is none left.
        let steps = 4 * rollout.bounds.desired + 8;
        for _ in 0..steps {
            for set in &mut rollout.sets {
                set.settle();
                set.ready += std::mem::take(&mut set.starting);
                set.tell();
            }
            let has_moved = rollout.roll();
            rollout.check(seed);
            assert!(has_moved || rollout.is_over(), "seed {seed}: stuck: {rollout:?}");
        }
        assert!(rollout.is_over(), "seed {seed}: not over after {steps} steps: {rollout:?}");
    }
}
