//! Health endpoints: `/livez`, `/readyz` and `/healthz`, with kube-apiserver's response texts.
//!
//! Input: a [`HealthCheck`] from each component.
//! Output: responses for the server of the endpoints, an API server or a controller manager.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::Quoted;

/// A named health check.
#[derive(Clone)]
pub struct HealthCheck {
    name: String,
    ready_only: bool,
    check: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl fmt::Debug for HealthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthCheck").field("name", &self.name).finish_non_exhaustive()
    }
}

impl HealthCheck {
    /// Creates a check for `/livez`, `/readyz` and `/healthz`. `check` returns the reason for a failure, and must not block.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), ready_only: false, check: Arc::new(check) }
    }

    /// Limits the check to `/readyz`, so that a failure does not restart the process.
    #[must_use]
    pub fn ready_only(mut self) -> Self {
        self.ready_only = true;
        self
    }
}

/// A set of health checks. The first is `ping`, which always succeeds.
///
/// ```
/// use watchkeeper_core::{HealthCheck, Health};
///
/// let health = Health::default().check(HealthCheck::new("store", || Err("no store".to_owned())).ready_only());
/// assert!(health.answer("/livez", &[], false).unwrap().is_healthy);
/// let ready = health.answer("/readyz", &[], false).unwrap();
/// assert_eq!(ready.text, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n");
/// ```
#[derive(Debug, Clone)]
pub struct Health {
    checks: Vec<HealthCheck>,
    with_reasons: bool,
}

impl Default for Health {
    fn default() -> Self {
        Self { checks: vec![HealthCheck::new("ping", || Ok(()))], with_reasons: false }
    }
}

/// A response of a health endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthResponse {
    /// Whether all checks passed: HTTP status 200, otherwise 500.
    pub is_healthy: bool,
    /// The response body.
    pub text: String,
    /// Whether a single check was requested, as by `/readyz/ping`.
    pub is_single: bool,
}

const ENDPOINTS: [&str; 3] = ["livez", "readyz", "healthz"];

impl Health {
    /// Adds a check.
    #[must_use]
    pub fn check(mut self, check: HealthCheck) -> Self {
        self.checks.push(check);
        self
    }

    /// Includes the reasons of failures in the endpoints of all checks. By default, as on kube-apiserver, only the
    /// endpoint of a single check has the reason. All clients with access to the endpoint can then read the reasons.
    #[must_use]
    pub fn with_reasons(mut self) -> Self {
        self.with_reasons = true;
        self
    }

    /// Runs the checks of `path` except the excluded ones, and returns the response, or `None` if `path` is not a
    /// health endpoint. `verbose` only matters if all checks pass.
    pub fn answer(&self, path: &str, excluded: &[&str], verbose: bool) -> Option<HealthResponse> {
        let rest = path.strip_prefix('/')?;
        let (endpoint, one) =
            rest.split_once('/').map_or((rest, None), |(endpoint, one)| (endpoint, Some(one)));
        let endpoint = ENDPOINTS.into_iter().find(|it| *it == endpoint)?;
        let mut checks = self.checks.iter().filter(|check| endpoint == "readyz" || !check.ready_only);
        let Some(name) = one else { return Some(self.answer_all(endpoint, checks, excluded, verbose)) };
        let answer = (checks.find(|check| check.name == name)?.check)();
        let is_healthy = answer.is_ok();
        let text =
            answer.map_or_else(|reason| format!("internal server error: {reason}\n"), |()| "ok".to_owned());
        Some(HealthResponse { is_healthy, text, is_single: true })
    }

    fn answer_all<'a>(
        &self,
        endpoint: &str,
        checks: impl Iterator<Item = &'a HealthCheck>,
        asked: &[&str],
        verbose: bool,
    ) -> HealthResponse {
        let mut excluded: BTreeSet<&str> = asked.iter().copied().collect();
        let mut text = String::new();
        let mut is_healthy = true;
        for HealthCheck { name, check, .. } in checks {
            let line = if asked.contains(&name.as_str()) {
                excluded.remove(name.as_str());
                format!("[+]{name} excluded: ok\n")
            } else if let Err(reason) = check() {
                is_healthy = false;
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
        match (is_healthy, verbose) {
            (false, _) => text.push_str(&format!("{endpoint} check failed\n")),
            (true, true) => text.push_str(&format!("{endpoint} check passed\n")),
            (true, false) => "ok".clone_into(&mut text),
        }
        HealthResponse { is_healthy, text, is_single: false }
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
        Some((if answer.is_healthy { 200 } else { 500 }, answer.text))
    }

    #[test]
    fn responses_are_those_of_kube_apiserver() {
        let ready = Arc::new(AtomicBool::new(false));
        let asked = ready.clone();
        let store = move || asked.load(Ordering::Relaxed).then_some(()).ok_or_else(|| "no store".to_owned());
        let health = Health::default().check(HealthCheck::new("store", store).ready_only());
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
