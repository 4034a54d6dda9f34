//! Page: the page under test, in a browser, and the JavaScript expressions that inspect it.

use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::Outcome;
use crate::driver::Browser;
use crate::environment::Environment;

pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const DOWN: &str = "\u{e015}";
pub(crate) const HOME: &str = "\u{e011}";
pub(crate) const END: &str = "\u{e010}";

/// Limits the tests to one browser at a time: several of them would slow each other down.
static BROWSER_LOCK: Mutex<()> = Mutex::const_new(());

/// A cluster with its web service, and a browser for its page.
pub(crate) struct Page {
    pub(crate) environment: Environment,
    pub(crate) browser: Browser,
    _lock: MutexGuard<'static, ()>,
}

impl Page {
    /// Starts a service that needs no token.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::start_in(Environment::start()).await
    }

    /// Starts a service with TLS that requires a token.
    pub(crate) async fn start_with_tokens() -> Outcome<Self> {
        Self::start_in(Environment::start_with_tokens()).await
    }

    async fn start_in(environment: impl Future<Output = Outcome<Environment>>) -> Outcome<Self> {
        let lock = BROWSER_LOCK.lock().await;
        Ok(Self { environment: environment.await?, browser: Browser::start().await?, _lock: lock })
    }

    /// Opens the page; `fragment` is the part of its URL after the host.
    pub(crate) async fn open(&self, fragment: &str) -> Outcome {
        self.browser.open(&self.environment.url(fragment)).await
    }

    /// Waits until the table shows exactly these rows.
    pub(crate) async fn wait_for_rows(&self, names: &[&str]) -> Outcome {
        let condition = format!("JSON.stringify({ROWS}) === {:?}", json!(names).to_string());
        self.browser.wait_until(&condition).await.map(drop)
    }

    /// Waits until an element contains a text.
    pub(crate) async fn wait_for_text(&self, selector: &str, text: &str) -> Outcome {
        let condition = format!("document.querySelector({selector:?})?.textContent.includes({text:?})");
        self.browser.wait_until(&condition).await.map(drop)
    }

    /// Runs kubectl, which must succeed, and returns its output.
    pub(crate) async fn kubectl(&self, arguments: &str) -> Outcome<String> {
        self.environment.kubectl(arguments, "").await
    }

    /// Runs kubectl with this standard input.
    pub(crate) async fn kubectl_stdin(&self, arguments: &str, input: &str) -> Outcome<String> {
        self.environment.kubectl(arguments, input).await
    }

    /// Creates an empty config map in the namespace `shop`.
    pub(crate) async fn create_config_map(&self, name: &str) -> Outcome {
        self.kubectl_stdin("create -n shop -f -", &config_map(name, "{}", "{}")).await.map(drop)
    }

    /// Creates the deployment `web` in the namespace `shop`, and waits until its pods run.
    pub(crate) async fn roll_out_web(&self) -> Outcome {
        self.kubectl_stdin("create -f -", WEB_DEPLOYMENT).await?;
        self.kubectl("rollout status -n shop deployment/web --timeout=60s").await.map(drop)
    }

    /// Stops everything. Panics if the browser has logged an error that contains none of the `expected` texts.
    pub(crate) async fn finish(self, expected: &[&str]) -> Outcome {
        let errors = self.browser.console_errors().await?;
        let unexpected = errors.iter().filter(|error| !expected.iter().any(|part| error.contains(part)));
        assert_eq!(unexpected.collect::<Vec<_>>(), Vec::<&String>::new());
        self.browser.quit().await?;
        self.environment.stop().await;
        Ok(())
    }
}

/// The names of the visible rows, in order, without the config map that every namespace has.
pub(crate) const ROWS: &str = "[...document.querySelectorAll('.row:not([hidden])')]
    .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
    .map((row) => row.querySelector('.name').textContent).filter((name) => name !== 'kube-root-ca.crt')";

/// The manifest of a config map; `labels` and `data` are YAML.
pub(crate) fn config_map(name: &str, labels: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {labels}\ndata: {data}\n")
}

pub(crate) const WEB_DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: 'example.org/web:1'}]}
";

/// The text of a cell in an object's row.
pub(crate) fn cell(key: &str, label: &str) -> String {
    format!(
        "[...document.querySelectorAll('.row:not([hidden])')].find((row) => row.dataset.key === '{key}')
            ?.querySelector('[data-label=\"{label}\"]').textContent"
    )
}

/// The health that the dot in an object's row shows.
pub(crate) fn health(key: &str) -> String {
    format!(
        "[...document.querySelectorAll('.row:not([hidden])')].find((row) => row.dataset.key === '{key}')
            ?.querySelector('.dot')?.getAttribute('aria-label')"
    )
}

/// Whether the row with this name is the current one.
pub(crate) fn is_current_row(name: &str) -> String {
    format!("document.querySelector('.row.current .name')?.textContent === '{name}'")
}

/// Whether an element is dimmed, which marks its content as stale.
pub(crate) fn is_dimmed(selector: &str) -> String {
    format!("getComputedStyle(document.querySelector({selector:?})).opacity < 0.9")
}

/// Whether a line of the shown diff with this sign (`plus` or `minus`) contains a text.
pub(crate) fn diff_contains(sign: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('.hunk .{sign}')].some((line) => line.textContent.includes({text:?}))"
    )
}
