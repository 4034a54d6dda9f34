//! Health: `/livez`, `/readyz` and `/healthz`, each of several checks.
//!
//! From: whoever knows whether a part works, as a [`Check`].
//! To:   load balancers, `kubectl get --raw /readyz?verbose`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use http::StatusCode;

use super::query::Query;
use super::respond::Response;
use watchkeeper_core::Quoted;

/// A question that has to be answered well for the server to be alive, ready, or both.
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

    /// Leaves the check to `/readyz` alone: a server that is not ready yet need not be killed.
    #[must_use]
    pub fn ready_only(mut self) -> Self {
        self.ready_only = true;
        self
    }
}

/// The checks of a server. `ping`, which is always well, is the first.
#[derive(Debug, Clone)]
pub struct Health {
    checks: Vec<Check>,
}

impl Default for Health {
    fn default() -> Self {
        Self { checks: vec![Check::new("ping", || Ok(()))] }
    }
}

const ENDPOINTS: [&str; 3] = ["livez", "readyz", "healthz"];

impl Health {
    /// Adds a check.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// The answer, if the path is one of health.
    pub(crate) fn answer(&self, path: &str, query: &Query) -> Option<Response> {
        let rest = path.strip_prefix('/')?;
        let (endpoint, one) =
            rest.split_once('/').map_or((rest, None), |(endpoint, one)| (endpoint, Some(one)));
        let endpoint = ENDPOINTS.into_iter().find(|it| *it == endpoint)?;
        let mut checks = self.checks.iter().filter(|check| endpoint == "readyz" || !check.ready_only);
        match one {
            None => Some(answer_all(endpoint, checks, query)),
            Some(name) => checks.find(|check| check.name == name).map(|check| match (check.ask)() {
                Ok(()) => Response::sniffed(StatusCode::OK, "ok"),
                Err(why) => Response::text(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("internal server error: {why}\n"),
                ),
            }),
        }
    }
}

fn answer_all<'a>(endpoint: &str, checks: impl Iterator<Item = &'a Check>, query: &Query) -> Response {
    let mut excluded: BTreeSet<&str> = query.all("exclude").collect();
    let asked = excluded.clone();
    let mut report = String::new();
    let mut failed = false;
    for Check { name, ask, .. } in checks {
        let line = if asked.contains(name.as_str()) {
            excluded.remove(name.as_str());
            format!("[+]{name} excluded: ok\n")
        } else if ask().is_ok() {
            format!("[+]{name} ok\n")
        } else {
            failed = true;
            // Everybody can read this; the reason is for those who may read the check itself.
            format!("[-]{name} failed: reason withheld\n")
        };
        report.push_str(&line);
    }
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| Quoted(name).to_string()).collect();
        let names = names.join(",");
        report.push_str(&format!("warn: some health checks cannot be excluded: no matches for {names}\n"));
    }
    if failed {
        report.push_str(&format!("{endpoint} check failed\n"));
        return Response::text(StatusCode::INTERNAL_SERVER_ERROR, report);
    }
    if query.first("verbose").is_none() {
        return Response::text(StatusCode::OK, "ok");
    }
    report.push_str(&format!("{endpoint} check passed\n"));
    Response::text(StatusCode::OK, report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::respond::Ends;
    use http_body_util::BodyExt as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    async fn get(health: &Health, uri: &str) -> Option<(u16, String)> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let response = health.answer(path, &Query::parse(query))?;
        let response = response.into_http("id".parse().unwrap(), false, Ends::default());
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Some((code, String::from_utf8(body.to_vec()).unwrap()))
    }

    #[tokio::test]
    async fn checks_are_told_as_the_real_server_tells_them() {
        let ready = Arc::new(AtomicBool::new(false));
        let asked = ready.clone();
        let store = move || asked.load(Ordering::Relaxed).then_some(()).ok_or_else(|| "no store".to_owned());
        let health = Health::default().check(Check::new("store", store).ready_only());
        let get = async |uri: &str| get(&health, uri).await;
        let ok = |text: &str| Some((200, text.to_owned()));

        assert_eq!(get("/livez").await, ok("ok"));
        assert_eq!(get("/livez?verbose").await, ok("[+]ping ok\nlivez check passed\n"));
        let failed = "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n";
        assert_eq!(get("/readyz").await, Some((500, failed.to_owned())));
        assert_eq!(get("/readyz/store").await, Some((500, "internal server error: no store\n".to_owned())));
        assert_eq!(get("/readyz?exclude=store").await, ok("ok"));
        let excluded = "[+]ping ok\n[+]store excluded: ok\nreadyz check passed\n";
        assert_eq!(get("/readyz?exclude=store&verbose").await, ok(excluded));

        ready.store(true, Ordering::Relaxed);
        assert_eq!(get("/readyz?verbose=false").await, ok("[+]ping ok\n[+]store ok\nreadyz check passed\n"));
        let unknown = "[+]ping ok\nwarn: some health checks cannot be excluded: no matches for \"x\",\"y\"\nhealthz check passed\n";
        assert_eq!(get("/healthz?exclude=y&exclude=x&verbose").await, ok(unknown));
        assert_eq!(get("/readyz/ping").await, ok("ok"));
        for path in ["/readyz/", "/livez/store", "/readyz/bogus", "/", "/livezz"] {
            assert_eq!(get(path).await, None, "{path}");
        }
    }
}
