//! Driver: a headless Chromium, controlled over WebDriver.
//!
//! Input: commands of the tests.
//! Output: requests to `chromedriver`, which must be on the PATH together with `chromium`.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Outcome;

const MISSING: &str =
    "chromium and chromedriver are needed on the PATH (on Debian: apt-get install chromium chromium-driver)";

/// Time limit for a condition to be met.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits in the browser until an expression is true. Evaluates it whenever the document changes, and every 50 ms for
/// conditions that do not depend on the document.
const WAIT_UNTIL: &str = "
    const [condition, done] = arguments;
    const evaluate = new Function(`return ${condition}`);
    const check = () => {
        let value;
        try { value = evaluate(); } catch { value = false; }
        if (!value) return;
        observer.disconnect();
        clearInterval(timer);
        done(value);
    };
    const observer = new MutationObserver(check);
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const timer = setInterval(check, 50);
    check();";

/// A browser with one tab, and those that [`open_tab`](Browser::open_tab) opened.
#[derive(Debug)]
pub(crate) struct Browser {
    /// Killed on drop.
    _driver: Child,
    /// The process ID of Chromium, until it has quit.
    chromium: Option<u64>,
    http: Client<HttpConnector, Full<Bytes>>,
    session: String,
}

impl Browser {
    /// Starts `chromedriver` and a Chromium with an empty profile.
    pub(crate) async fn start() -> Outcome<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                if error.kind() == io::ErrorKind::NotFound { MISSING.into() } else { error.to_string() }
            })?;
        let mut output = BufReader::new(driver.stdout.take().ok_or("chromedriver has no stdout")?).lines();
        let port = loop {
            let line = output.next_line().await?.ok_or("chromedriver exited before it listened")?;
            if let Some((_, port)) = line.split_once("successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = output.next_line().await {} });
        let http = Client::builder(TokioExecutor::new()).build_http();
        let mut browser = Self {
            _driver: driver,
            chromium: None,
            http,
            session: format!("http://127.0.0.1:{port}/session"),
        };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1440,900",
        ];
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "acceptInsecureCerts": true, // the certificate of the service is self-signed
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments},
            "timeouts": {"script": TIMEOUT.as_millis()},
        }}});
        let session = browser.post("", capabilities).await.map_err(|error| format!("{error}; {MISSING}"))?;
        let id = session["sessionId"].as_str().ok_or("session without an ID")?;
        browser.session = format!("{}/{id}", browser.session);
        browser.chromium = session["capabilities"]["goog:processID"].as_u64();
        Ok(browser)
    }

    async fn command(&self, method: Method, path: &str, body: Option<Value>) -> Outcome<Value> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.session))
            .header("content-type", "application/json")
            .body(Full::from(body))?;
        let response = self.http.request(request).await?;
        let is_success = response.status().is_success();
        let mut body: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
        let value = body["value"].take();
        if is_success { Ok(value) } else { Err(format!("{}: {}", value["error"], value["message"]).into()) }
    }

    async fn post(&self, path: &str, body: Value) -> Outcome<Value> {
        self.command(Method::POST, path, Some(body)).await
    }

    /// Opens a URL, and returns once it is loaded.
    pub(crate) async fn open(&self, url: &str) -> Outcome {
        self.post("/url", json!({"url": url})).await.map(drop)
    }

    /// Opens a URL in a new tab, switches to it, and returns its handle.
    pub(crate) async fn open_tab(&self, url: &str) -> Outcome<String> {
        let tab = self.post("/window/new", json!({"type": "tab"})).await?;
        let handle = tab["handle"].as_str().ok_or("tab without a handle")?.to_owned();
        self.switch_to_tab(&handle).await?;
        self.open(url).await?;
        Ok(handle)
    }

    /// Returns the handle of the current tab.
    pub(crate) async fn current_tab(&self) -> Outcome<String> {
        let handle = self.command(Method::GET, "/window", None).await?;
        Ok(handle.as_str().ok_or("tab without a handle")?.to_owned())
    }

    /// Makes another tab the current one.
    pub(crate) async fn switch_to_tab(&self, handle: &str) -> Outcome {
        self.post("/window", json!({"handle": handle})).await.map(drop)
    }

    /// Closes the current tab.
    pub(crate) async fn close_tab(&self) -> Outcome {
        self.command(Method::DELETE, "/window", None).await.map(drop)
    }

    /// Goes back in the history, like the browser's button.
    pub(crate) async fn back(&self) -> Outcome {
        self.post("/back", json!({})).await.map(drop)
    }

    /// Runs `script` as the body of a function, and returns its result.
    pub(crate) async fn run(&self, script: &str) -> Outcome<Value> {
        self.post("/execute/sync", json!({"script": script, "args": []})).await
    }

    /// Runs `script` as the body of an asynchronous function, with `arguments` in the array `given`, and returns its result.
    pub(crate) async fn run_async(&self, script: &str, arguments: &Value) -> Outcome<Value> {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             (async (...given) => {{ {script} }})(...arguments).then(done, (error) => done({{failed: String(error.stack)}}));"
        );
        let value = self.post("/execute/async", json!({"script": script, "args": arguments})).await?;
        match value["failed"].as_str() {
            Some(failed) => Err(failed.into()),
            None => Ok(value),
        }
    }

    /// Waits until a JavaScript expression is true, and returns its value.
    pub(crate) async fn wait_until(&self, condition: &str) -> Outcome<Value> {
        let met = self.post("/execute/async", json!({"script": WAIT_UNTIL, "args": [condition]})).await;
        match met {
            Ok(value) => Ok(value),
            Err(error) => {
                let shown = self.run("return document.body.innerText").await?;
                Err(format!("condition not met: {condition}: {error}\nThe page shows: {shown}").into())
            }
        }
    }

    /// Presses keys, one after the other.
    pub(crate) async fn press(&self, keys: &str) -> Outcome {
        let actions =
            keys.chars().flat_map(|key| ["keyDown", "keyUp"].map(|act| json!({"type": act, "value": key})));
        let actions: Vec<Value> = actions.collect();
        self.post("/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}))
            .await
            .map(drop)
    }

    /// Clicks the first element that matches a selector, at the position a mouse would.
    pub(crate) async fn click(&self, selector: &str) -> Outcome {
        let found = self.post("/element", json!({"using": "css selector", "value": selector})).await?;
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        let id = id.ok_or("element without an ID")?;
        self.post(&format!("/element/{id}/click"), json!({})).await.map(drop)
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub(crate) async fn devtools(&self, command: &str, parameters: &Value) -> Outcome<Value> {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await
    }

    /// Returns a screenshot as PNG in base64.
    pub(crate) async fn screenshot(&self) -> Outcome<String> {
        let png = self.command(Method::GET, "/screenshot", None).await?;
        Ok(png.as_str().ok_or("screenshot is not a string")?.to_owned())
    }

    /// Returns the errors and warnings logged to the console since the last call.
    pub(crate) async fn console_errors(&self) -> Outcome<Vec<String>> {
        let log = self.post("/se/log", json!({"type": "browser"})).await?;
        let entries = log.as_array().cloned().unwrap_or_default().into_iter();
        let bad = entries.filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        Ok(bad.map(|entry| entry["message"].to_string()).collect())
    }

    /// Closes the browser.
    pub(crate) async fn quit(mut self) -> Outcome {
        self.command(Method::DELETE, "", None).await?;
        self.chromium = None;
        Ok(())
    }
}

impl Drop for Browser {
    /// Kills Chromium unless it has quit: a `chromedriver` that is killed leaves it running.
    fn drop(&mut self) {
        if let Some(id) = self.chromium.take() {
            let _ = std::process::Command::new("kill").arg(id.to_string()).status();
        }
    }
}
