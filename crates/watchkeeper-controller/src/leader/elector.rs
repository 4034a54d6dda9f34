//! Elector: acquires, renews and releases the lease.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use watchkeeper_core::{ErrorChain, HealthCheck, Timestamp};
use watchkeeper_metrics::{RegisterError, Registry};

use super::leadership::{Leadership, State};
use super::record::{Held, LeaseError, LeaseStore, Record};
use super::reports::Reports;
use super::timing::Timing;
use crate::events::EventRecorder;
use crate::random::Jitter;

/// A candidate for leadership, client-go's `LeaderElector`.
#[derive(Debug)]
pub struct Elector<S> {
    store: S,
    identity: String,
    timing: Timing,
    releases: bool,
    /// Maximum time to keep renewing while the led work shuts down.
    ending: Duration,
    /// The record last read or written, and when this process first saw that version (`leader.L1`).
    observed: Option<(Held, Instant)>,
    reports: Reports,
    /// Jitter of the retry delay.
    jitter: Jitter,
}

/// Why an elector is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidElector {
    /// Every candidate needs an identity of its own.
    #[error("identity is empty")]
    NoIdentity,
    /// A leader would not notice in time that it has lost the lease.
    #[error(
        "invalid timings: lease duration {lease:?} must exceed renew deadline {renew:?}, which must exceed 1.2 times the retry period {retry:?}"
    )]
    Times {
        /// The lease duration.
        lease: Duration,
        /// The renew deadline.
        renew: Duration,
        /// The retry period.
        retry: Duration,
    },
}

impl<S: LeaseStore> Elector<S> {
    /// Creates an elector with client-go's defaults: a lease of 15 s, a renew deadline of 10 s, a retry
    /// period of 2 s, and a release at the end. Identities must be unique among the candidates.
    ///
    /// # Errors
    /// Returns an error if the identity is empty.
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
            jitter: Jitter::of(identity),
        })
    }

    /// Sets the lease duration, the renew deadline and the retry period.
    ///
    /// # Errors
    /// Returns an error unless `lease > renew > 1.2 * retry`.
    pub fn times(
        mut self,
        lease: Duration,
        renew: Duration,
        retry: Duration,
    ) -> Result<Self, InvalidElector> {
        self.timing = Timing { lease, renew, retry };
        if self.timing.is_sound() { Ok(self) } else { Err(InvalidElector::Times { lease, renew, retry }) }
    }

    /// Lets the lease expire at the end instead of releasing it, for work that outlives the process.
    #[must_use]
    pub fn keep_at_end(mut self) -> Self {
        self.releases = false;
        self
    }

    /// Keeps renewing the lease after `stop` until the led work has ended, for at most `at_most`. By default it is not
    /// renewed, so the work has the rest of the lease.
    #[must_use]
    pub fn renewed_at_end(mut self, at_most: Duration) -> Self {
        self.ending = at_most;
        self
    }

    /// Registers `leader_election_master_status` and `leader_election_slowpath_total`, labelled with `name`.
    ///
    /// # Errors
    /// Returns an error if a metric of the same name but another type is registered.
    pub fn metrics(mut self, registry: &Registry, name: &str) -> Result<Self, RegisterError> {
        self.reports.count(registry, name)?;
        Ok(self)
    }

    /// Calls `callback` with the leader's identity whenever a different leader is observed: also for this
    /// process, and with an empty string when the lease is released. It must not block.
    #[must_use]
    pub fn on_change(mut self, callback: impl FnMut(&str) + Send + Sync + 'static) -> Self {
        self.reports.on_change(Box::new(callback));
        self
    }

    /// Records events with reason `LeaderElection` on the lease when this process starts and stops leading.
    /// Requires a store with a [reference](LeaseStore::reference).
    #[must_use]
    pub fn events(mut self, recorder: &EventRecorder) -> Self {
        self.reports.events(recorder);
        self
    }

    /// Returns a health check that fails if this process leads and has not renewed for `tolerance` longer
    /// than the lease duration, which means that it hangs. Set the [times](Self::times) first.
    pub fn check(&self, tolerance: Duration) -> HealthCheck {
        self.reports.check(self.timing.lease, tolerance)
    }

    /// Waits for the lease, then runs `lead` once, until it returns, the lease is lost, or `stop` resolves.
    /// Returns whether this process led at all. [`Leadership::lost`] asks `lead` to stop; at the latest it is
    /// dropped when the lease expires. If the future of `run` is dropped, the lease is not released and
    /// expires.
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
            // Work that does not stop when asked is dropped (`leader.L2`).
            let _ = timeout_at(until, &mut lead).await;
        }
        drop(lead); // before the lease is released, when another process may lead
        self.reports.leads(false, &self.identity, self.store.reference().as_ref());
        if self.releases {
            self.release().await;
        }
        true
    }

    /// Retries until the lease is acquired, and returns when it expires.
    async fn acquire(&mut self) -> Instant {
        loop {
            let sent = Instant::now();
            match timeout_at(sent + self.timing.request(), self.try_once()).await {
                Ok(Ok(true)) => return sent + self.timing.lease,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => self.warn(&error),
                Err(_) => {}
            }
            // Jitter keeps candidates from retrying at the same time.
            let wait = self.timing.retry.mul_f64(1.0 + 1.2 * self.jitter.draw());
            sleep_until(Instant::now() + wait).await;
        }
    }

    /// Renews until the renew deadline has passed (`leader.L2`) or another process has the lease.
    async fn renew(&mut self, state: &tokio::sync::watch::Sender<State>) {
        // When the request that acquired the lease was sent.
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
                Ok(Ok(false)) => return, // another process has it
                Ok(Err(error)) => self.warn(&error),
                Err(_) => {} // the next request may be answered
            }
        }
    }

    /// Acquires or renews the lease. Returns false if another process has it.
    async fn try_once(&mut self) -> Result<bool, LeaseError> {
        if let Some((held, _)) = self.observed.clone().filter(|(held, _)| held.record.holder == self.identity)
        {
            // Presumably still ours: renews without reading first.
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
        let is_held = since.is_some_and(|since| since.elapsed() < record.lasts);
        if !record.holder.is_empty() && !is_ours && is_held {
            return Ok(false);
        }
        let next = if is_ours {
            self.record(record.acquired, record.transitions)
        } else {
            self.record(Some(Timestamp::now()), record.transitions.saturating_add(1))
        };
        let held = self.store.replace(&held.version, &next).await?;
        self.observe(held);
        if is_ours {
            self.reports.slow();
        }
        Ok(true)
    }

    /// Releases the lease if this process holds it.
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
                tracing::warn!(identity = self.identity, "failed to release the lease; it will expire");
            }
        }
    }

    /// Stores the record and, if its version is new, the current time. Any new version counts as a sign of
    /// life: a leader whose clock is stopped renews with an identical record.
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
        let error = ErrorChain(error);
        tracing::warn!(identity = self.identity, %error, "failed to acquire or renew the lease; retrying");
    }
}
