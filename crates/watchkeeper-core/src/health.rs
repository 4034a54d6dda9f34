//! Health: `/livez`, `/readyz` and `/healthz`, each of several checks, told as kube-apiserver tells them.
//!
//! From: whoever knows whether a part works, as a [`Check`].
//! To:   whoever serves the pages: an API server, or a program of controllers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::Quoted;

/// A question that has to be answered well for a program to be alive, ready, or both.
#[derive(Clone)]
pub struct Check {
    name: String,
    ready_only: bool,
    ask: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Check {
    /// A check of `/livez`, `/readyz` and `/healthz`. `ask` must not block.
    pub fn new(
        name: impl Into<String>,
        ask: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), ready_only: false, ask: Arc::new(ask) }
    }

    /// Leaves the check to `/readyz` alone: a program that is not ready yet need not be killed.
    #[must_use]
    pub fn ready_only(mut self) -> Self {
        self.ready_only = true;
        self
    }
}

/// The checks of a program. `ping`, which is always well, is the first.
///
/// ```
/// use watchkeeper_core::{Check, Health};
///
/// let health = Health::default().check(Check::new("store", || Err("no store".to_owned())).ready_only());
/// assert!(health.answer("/livez", &[], false).unwrap().is_well);
/// let ready = health.answer("/readyz", &[], false).unwrap();
/// assert_eq!(ready.text, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n");
/// ```
#[derive(Debug, Clone)]
pub struct Health {
    checks: Vec<Check>,
    with_reasons: bool,
}

impl Default for Health {
    fn default() -> Self {
        Self { checks: vec![Check::new("ping", || Ok(()))], with_reasons: false }
    }
}

/// What a page of health says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthAnswer {
    /// Whether all is well: a code of 200, and 500 if not.
    pub is_well: bool,
    /// What there is to read.
    pub text: String,
    /// Whether a single check was asked for, as by `/readyz/ping`.
    pub is_single: bool,
}

const ENDPOINTS: [&str; 3] = ["livez", "readyz", "healthz"];

impl Health {
    /// Adds a check.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Reports why a check fails on the pages of all checks, too. By default the reason is only on the page of the check
    /// itself, as on kube-apiserver. Reasons must then be fit for everybody who can read the page.
    #[must_use]
    pub fn with_reasons(mut self) -> Self {
        self.with_reasons = true;
        self
    }

    /// The answer, if the path is one of health, without those checks that are excluded. That `verbose` was asked
    /// for is seen only when all is well.
    pub fn answer(&self, path: &str, excluded: &[&str], verbose: bool) -> Option<HealthAnswer> {
        let rest = path.strip_prefix('/')?;
        let (endpoint, one) =
            rest.split_once('/').map_or((rest, None), |(endpoint, one)| (endpoint, Some(one)));
        let endpoint = ENDPOINTS.into_iter().find(|it| *it == endpoint)?;
        let mut checks = self.checks.iter().filter(|check| endpoint == "readyz" || !check.ready_only);
        let Some(name) = one else { return Some(self.answer_all(endpoint, checks, excluded, verbose)) };
        let answer = (checks.find(|check| check.name == name)?.ask)();
        let is_well = answer.is_ok();
        let text = answer.map_or_else(|why| format!("internal server error: {why}\n"), |()| "ok".to_owned());
        Some(HealthAnswer { is_well, text, is_single: true })
    }

    fn answer_all<'a>(
        &self,
        endpoint: &str,
        checks: impl Iterator<Item = &'a Check>,
        asked: &[&str],
        verbose: bool,
    ) -> HealthAnswer {
        let mut excluded: BTreeSet<&str> = asked.iter().copied().collect();
        let mut text = String::new();
        let mut is_well = true;
        for Check { name, ask, .. } in checks {
            let line = if asked.contains(&name.as_str()) {
                excluded.remove(name.as_str());
                format!("[+]{name} excluded: ok\n")
            } else if let Err(reason) = ask() {
                is_well = false;
                // Everybody can read this page; the page of the check itself has the reason.
                let reason = if self.with_reasons { &reason } else { "reason withheld" };
                format!("[-]{name} failed: {reason}\n")
            } else {
                format!("[+]{name} ok\n")
            };
            text.push_str(&line);
        }
        if !excluded.is_empty() {
            let names: Vec<String> = excluded.iter().map(|name| Quoted(name).to_string()).collect();
            let names = names.join(",");
            text.push_str(&format!("warn: some health checks cannot be excluded: no matches for {names}\n"));
        }
        match (is_well, verbose) {
            (false, _) => text.push_str(&format!("{endpoint} check failed\n")),
            (true, true) => text.push_str(&format!("{endpoint} check passed\n")),
            (true, false) => "ok".clone_into(&mut text),
        }
        HealthAnswer { is_well, text, is_single: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn get(health: &Health, uri: &str) -> Option<(u16, String)> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let excluded: Vec<&str> = query.split('&').filter_map(|pair| pair.strip_prefix("exclude=")).collect();
        let answer = health.answer(path, &excluded, query.contains("verbose"))?;
        Some((if answer.is_well { 200 } else { 500 }, answer.text))
    }

    #[test]
    fn checks_are_told_as_the_real_server_tells_them() {
        let ready = Arc::new(AtomicBool::new(false));
        let asked = ready.clone();
        let store = move || asked.load(Ordering::Relaxed).then_some(()).ok_or_else(|| "no store".to_owned());
        let health = Health::default().check(Check::new("store", store).ready_only());
        let get = |uri: &str| get(&health, uri);
        let ok = |text: &str| Some((200, text.to_owned()));

        assert_eq!(get("/livez"), ok("ok"));
        assert_eq!(get("/livez?verbose"), ok("[+]ping ok\nlivez check passed\n"));
        let failed = "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n";
        assert_eq!(get("/readyz"), Some((500, failed.to_owned())));
        assert_eq!(get("/readyz/store"), Some((500, "internal server error: no store\n".to_owned())));
        assert_eq!(get("/readyz?exclude=store"), ok("ok"));
        let excluded = "[+]ping ok\n[+]store excluded: ok\nreadyz check passed\n";
        assert_eq!(get("/readyz?exclude=store&verbose"), ok(excluded));

        ready.store(true, Ordering::Relaxed);
        assert_eq!(get("/readyz?verbose"), ok("[+]ping ok\n[+]store ok\nreadyz check passed\n"));
        let unknown = "[+]ping ok\nwarn: some health checks cannot be excluded: no matches for \"x\",\"y\"\nhealthz check passed\n";
        assert_eq!(get("/healthz?exclude=y&exclude=x&verbose"), ok(unknown));
        assert_eq!(get("/readyz/ping"), ok("ok"));
        for path in ["/readyz/", "/livez/store", "/readyz/bogus", "/", "/livezz"] {
            assert_eq!(get(path), None, "{path}");
        }
    }
}
