//! The elector: takes the lease, renews it, gives it up.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use watchkeeper_core::{Check, Timestamp};
use watchkeeper_metrics::{RegisterError, Registry};

use super::leadership::{Leadership, State};
use super::record::{Held, LeaseError, LeaseStore, Record};
use super::reports::Reports;
use super::timing::Timing;
use crate::events::Recorder;
use crate::random::Chance;

/// One that wants to lead.
#[derive(Debug)]
pub struct Elector<S> {
    store: S,
    identity: String,
    timing: Timing,
    releases: bool,
    /// For how long it is renewed while what was led ends.
    ending: Duration,
    /// What was read or written last, and when that began to be so, by this process's own clock (L1).
    observed: Option<(Held, Instant)>,
    reports: Reports,
    /// Of waits.
    chance: Chance,
}

/// Why nobody can be elected so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidElector {
    /// Everybody needs a name of his own.
    #[error("the identity is empty")]
    NoIdentity,
    /// A leader has to notice in time that it is none any more.
    #[error("a lease of {lease:?}, renewed for {renew:?} every {retry:?}: each must be longer than the next")]
    Times {
        /// How long a lease lasts.
        lease: Duration,
        /// For how long it is tried to renew it.
        renew: Duration,
        /// How often.
        retry: Duration,
    },
}

impl<S: LeaseStore> Elector<S> {
    /// With client-go's times: a lease of 15 s, renewed for 10 s, every 2 s; released at the end. No other process
    /// may have the same identity.
    ///
    /// # Errors
    /// If the identity is empty.
    pub fn new(store: S, identity: &str) -> Result<Self, InvalidElector> {
        if identity.is_empty() {
            return Err(InvalidElector::NoIdentity);
        }
        Ok(Self {
            store,
            identity: identity.to_owned(),
            timing: Timing::default(),
            releases: true,
            ending: Duration::ZERO,
            observed: None,
            reports: Reports::default(),
            chance: Chance::of(identity),
        })
    }

    /// With other times: how long a lease lasts, for how long it is tried to renew it, and how often.
    ///
    /// # Errors
    /// Unless `lease > renew > 1.2 * retry`.
    pub fn times(
        mut self,
        lease: Duration,
        renew: Duration,
        retry: Duration,
    ) -> Result<Self, InvalidElector> {
        self.timing = Timing { lease, renew, retry };
        match self.timing.is_sound() {
            true => Ok(self),
            false => Err(InvalidElector::Times { lease, renew, retry }),
        }
    }

    /// The lease is left to run out at the end: for work that goes on after the process.
    #[must_use]
    pub fn keep_at_end(mut self) -> Self {
        self.releases = false;
        self
    }

    /// Once it is told to stop, the lease is renewed for so long at most until what was led has ended. Unless said, it
    /// is not, and so that has the rest of the lease.
    #[must_use]
    pub fn renewed_at_end(mut self, at_most: Duration) -> Self {
        self.ending = at_most;
        self
    }

    /// Counts under this name: `leader_election_master_status` and `leader_election_slowpath_total`.
    ///
    /// # Errors
    /// If one of these means something else in this registry.
    pub fn metrics(mut self, registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        self.reports.count(registry, name)?;
        Ok(self)
    }

    /// Calls this with the identity of whoever is seen to lead, whenever that is another than before: also when it is
    /// this process, and with an empty text when nobody does. It must not block.
    #[must_use]
    pub fn on_change(mut self, tell: impl FnMut(&str) + Send + Sync + 'static) -> Self {
        self.reports.on_change(Box::new(tell));
        self
    }

    /// Records on the lease that this process became leader, and that it stopped leading, with the reason
    /// `LeaderElection`. Only where the store [is an object](LeaseStore::reference).
    #[must_use]
    pub fn events(mut self, recorder: &Recorder) -> Self {
        self.reports.events(recorder);
        self
    }

    /// A check that is not well if this process leads and has not renewed for so much longer than its lease lasts:
    /// then it hangs, and better ends. Ask for it after the [times](Self::times) are set.
    pub fn check(&self, tolerance: Duration) -> Check {
        self.reports.check(self.timing.lease, tolerance)
    }

    /// Waits to lead, and then runs `lead` once, until it returns, the leadership is lost, or `stop`. Whether it has
    /// led at all is returned. `lead` is told to stop by [`Leadership::lost`], and is dropped when somebody else
    /// could lead. Dropped half-way, the lease is not released, and so runs out.
    pub async fn run<F, L>(mut self, lead: L, stop: impl Future<Output = ()>) -> bool
    where
        L: FnOnce(Leadership) -> F,
        F: Future<Output = ()>,
    {
        let mut stop = pin!(stop);
        let until = tokio::select! {
            biased;
            () = &mut stop => return false,
            until = self.acquire() => until,
        };
        let token = self.observed.as_ref().map_or(0, |(held, _)| held.record.transitions);
        let (state, leadership) = Leadership::new(token, until);
        self.reports.leads(true, &self.identity, self.store.reference().as_ref());
        let mut lead = Box::pin(lead(leadership));
        let (mut is_over, is_lost) = tokio::select! {
            biased;
            () = &mut lead => (true, false),
            () = &mut stop => (false, false),
            () = self.renew(&state) => (false, true),
        };
        state.send_modify(|state| state.is_lost = true);
        if !is_over && !is_lost {
            let at_most = self.ending;
            let ended = async {
                tokio::select! {
                    biased;
                    () = &mut lead => true,
                    () = self.renew(&state) => false,
                }
            };
            is_over = timeout(at_most, ended).await.unwrap_or(false);
        }
        if !is_over {
            let until = state.borrow().until;
            // Whoever does not stop when he is told is stopped (L2).
            let _ = timeout_at(until, &mut lead).await;
        }
        drop(lead); // before somebody else can lead, which may be as soon as the lease is released
        self.reports.leads(false, &self.identity, self.store.reference().as_ref());
        if self.releases {
            self.release().await;
        }
        true
    }

    /// Tries until it is ours, and returns until when.
    async fn acquire(&mut self) -> Instant {
        loop {
            let sent = Instant::now();
            match timeout_at(sent + self.timing.request(), self.try_once()).await {
                Ok(Ok(true)) => return sent + self.timing.lease,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => self.warn(&error),
                Err(_) => {}
            }
            // Not all who wait at the same times.
            let wait = self.timing.retry.mul_f64(1.0 + 1.2 * self.chance.draw());
            sleep_until(Instant::now() + wait).await;
        }
    }

    /// Renews until that has failed for too long (L2).
    async fn renew(&mut self, state: &tokio::sync::watch::Sender<State>) {
        // The lease was taken by a request that was sent so long before it ends.
        let mut sent = state.borrow().until - self.timing.lease;
        loop {
            let deadline = sent + self.timing.renew;
            let next = (Instant::now() + self.timing.retry).min(deadline);
            sleep_until(next).await;
            if next >= deadline {
                return;
            }
            let now = Instant::now();
            match timeout_at(deadline.min(now + self.timing.request()), self.try_once()).await {
                Ok(Ok(true)) => {
                    sent = now;
                    state.send_modify(|state| state.until = now + self.timing.lease);
                }
                Ok(Ok(false)) => return, // somebody else has it
                Ok(Err(error)) => self.warn(&error),
                Err(_) => {} // another may be answered
            }
        }
    }

    /// Takes or renews the lease; false if another has it.
    async fn try_once(&mut self) -> Result<bool, LeaseError> {
        if let Some((held, _)) = self.observed.clone().filter(|(held, _)| held.record.holder == self.identity)
        {
            // Ours, as far as is known: without looking first.
            let record = Record { renewed: Some(Timestamp::now()), lasts: self.timing.lease, ..held.record };
            if let Ok(held) = self.store.replace(&held.version, &record).await {
                self.observe(held);
                return Ok(true);
            }
        }
        let Some(held) = self.store.read().await? else {
            let record = self.record(Some(Timestamp::now()), 0);
            let held = self.store.create(&record).await?;
            self.observe(held);
            return Ok(true);
        };
        self.observe(held.clone());
        let since = self.observed.as_ref().map(|(_, since)| *since);
        let record = &held.record;
        let is_ours = record.holder == self.identity;
        let runs = since.is_some_and(|since| since.elapsed() < record.lasts);
        if !record.holder.is_empty() && !is_ours && runs {
            return Ok(false);
        }
        let next = match is_ours {
            true => self.record(record.acquired, record.transitions),
            false => self.record(Some(Timestamp::now()), record.transitions.saturating_add(1)),
        };
        let held = self.store.replace(&held.version, &next).await?;
        self.observe(held);
        if is_ours {
            self.reports.slow();
        }
        Ok(true)
    }

    /// Gives it up, if it is ours.
    async fn release(&mut self) {
        let deadline = Instant::now() + self.timing.renew;
        let released = async {
            loop {
                let Some(held) = self.store.read().await? else { return Ok(()) };
                if held.record.holder != self.identity {
                    self.observe(held);
                    return Ok(());
                }
                let record = Record {
                    holder: String::new(),
                    lasts: Duration::from_secs(1),
                    acquired: Some(Timestamp::now()),
                    renewed: Some(Timestamp::now()),
                    transitions: held.record.transitions,
                };
                match self.store.replace(&held.version, &record).await {
                    Err(LeaseError::Conflict) => {}
                    outcome => return outcome.map(|held| self.observe(held)),
                }
            }
        };
        match timeout_at(deadline, released).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.warn(&error),
            Err(_) => {
                tracing::warn!(identity = self.identity, "the lease could not be released, and will run out");
            }
        }
    }

    /// Remembers what the lease says, and since when if that is new. Any change counts as a sign of life: a holder
    /// whose clock stands still renews with the very same record.
    fn observe(&mut self, held: Held) {
        if self.observed.as_ref().is_none_or(|(known, _)| known.version != held.version) {
            let now = Instant::now();
            self.reports.observed(&held, now, &self.identity);
            self.observed = Some((held, now));
        }
    }

    fn record(&self, acquired: Option<Timestamp>, transitions: u32) -> Record {
        let (holder, lasts) = (self.identity.clone(), self.timing.lease);
        Record { holder, lasts, acquired, renewed: Some(Timestamp::now()), transitions }
    }

    fn warn(&self, error: &LeaseError) {
        let source = std::error::Error::source(error).map(ToString::to_string);
        tracing::warn!(identity = self.identity, %error, source, "the lease is tried again");
    }
}
