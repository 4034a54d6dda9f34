//! Driver: a Chromium without a window, told what to do over WebDriver.
//!
//! From: the tests.
//! To:   `chromedriver`, which is found on the PATH beside `chromium`.

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

/// Nothing that is waited for takes as long: a condition that does is never met.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits in the browser until an expression is true: it is looked at whenever the document changes, and now and then
/// for what is not in the document.
const UNTIL: &str = "
    const [condition, done] = arguments;
    const holds = new Function(`return ${condition}`);
    const look = () => {
        let value;
        try { value = holds(); } catch { value = false; }
        if (!value) return;
        observer.disconnect();
        clearInterval(timer);
        done(value);
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const timer = setInterval(look, 50);
    look();";

/// A browser with one tab, and as many more as are [opened](Browser::open_tab).
#[derive(Debug)]
pub(crate) struct Browser {
    /// Ends when it is dropped.
    _driver: Child,
    /// The process that the driver has started, until it has quit.
    chromium: Option<u64>,
    http: Client<HttpConnector, Full<Bytes>>,
    session: String,
}

impl Browser {
    /// Starts one.
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
        let mut said = BufReader::new(driver.stdout.take().ok_or("its stdout is a pipe")?).lines();
        let port = loop {
            let line = said.next_line().await?.ok_or("chromedriver ended")?;
            if let Some((_, port)) = line.split_once("successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
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
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "acceptInsecureCerts": true, // nobody vouches for the site but itself
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments},
            "timeouts": {"script": PATIENCE.as_millis()},
        }}});
        let session = browser.post("", wanted).await.map_err(|error| format!("{error}; {MISSING}"))?;
        let id = session["sessionId"].as_str().ok_or("a session has an id")?;
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
        let is_good = response.status().is_success();
        let mut answer: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
        let value = answer["value"].take();
        if is_good { Ok(value) } else { Err(format!("{}: {}", value["error"], value["message"]).into()) }
    }

    async fn post(&self, path: &str, body: Value) -> Outcome<Value> {
        self.command(Method::POST, path, Some(body)).await
    }

    /// Opens an address, and returns once it has been loaded.
    pub(crate) async fn open(&self, url: &str) -> Outcome {
        self.post("/url", json!({"url": url})).await.map(drop)
    }

    /// Opens an address in another tab, and goes there; its handle.
    pub(crate) async fn open_tab(&self, url: &str) -> Outcome<String> {
        let tab = self.post("/window/new", json!({"type": "tab"})).await?;
        let handle = tab["handle"].as_str().ok_or("a tab has a handle")?.to_owned();
        self.go_to_tab(&handle).await?;
        self.open(url).await?;
        Ok(handle)
    }

    /// The tab that is spoken with.
    pub(crate) async fn tab(&self) -> Outcome<String> {
        let handle = self.command(Method::GET, "/window", None).await?;
        Ok(handle.as_str().ok_or("a tab has a handle")?.to_owned())
    }

    /// Speaks with another tab from now on.
    pub(crate) async fn go_to_tab(&self, handle: &str) -> Outcome {
        self.post("/window", json!({"handle": handle})).await.map(drop)
    }

    /// Closes the tab that is spoken with.
    pub(crate) async fn close_tab(&self) -> Outcome {
        self.command(Method::DELETE, "/window", None).await.map(drop)
    }

    /// Goes back, as the button does.
    pub(crate) async fn back(&self) -> Outcome {
        self.post("/back", json!({})).await.map(drop)
    }

    /// Runs the body of a function.
    pub(crate) async fn run(&self, script: &str) -> Outcome<Value> {
        self.post("/execute/sync", json!({"script": script, "args": []})).await
    }

    /// Runs the body of an asynchronous function with these arguments, and waits for what it returns.
    pub(crate) async fn wait_for(&self, script: &str, arguments: &Value) -> Outcome<Value> {
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

    /// Waits until an expression is true, and returns what it is.
    pub(crate) async fn until(&self, condition: &str) -> Outcome<Value> {
        let met = self.post("/execute/async", json!({"script": UNTIL, "args": [condition]})).await;
        match met {
            Ok(value) => Ok(value),
            Err(error) => {
                let shown = self.run("return document.body.innerText").await?;
                Err(format!("{condition} is not met: {error}\nThe page shows: {shown}").into())
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

    /// Clicks the first element that a selector finds, where a mouse would.
    pub(crate) async fn click(&self, selector: &str) -> Outcome {
        let found = self.post("/element", json!({"using": "css selector", "value": selector})).await?;
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        let id = id.ok_or("an element has an id")?;
        self.post(&format!("/element/{id}/click"), json!({})).await.map(drop)
    }

    /// What only Chromium can do.
    pub(crate) async fn chromium(&self, command: &str, parameters: &Value) -> Outcome<Value> {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await
    }

    /// The picture that is on the screen, as PNG in base64.
    pub(crate) async fn picture(&self) -> Outcome<String> {
        let picture = self.command(Method::GET, "/screenshot", None).await?;
        Ok(picture.as_str().ok_or("a picture is a string")?.to_owned())
    }

    /// What the console says is wrong, since it was last asked.
    pub(crate) async fn complaints(&self) -> Outcome<Vec<String>> {
        let log = self.post("/se/log", json!({"type": "browser"})).await?;
        let entries = log.as_array().cloned().unwrap_or_default().into_iter();
        let bad = entries.filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        Ok(bad.map(|entry| entry["message"].to_string()).collect())
    }

    /// Closes it.
    pub(crate) async fn quit(mut self) -> Outcome {
        self.command(Method::DELETE, "", None).await?;
        self.chromium = None;
        Ok(())
    }
}

impl Drop for Browser {
    /// A driver that is killed leaves its Chromium behind, so that goes first; one that has quit has ended it.
    fn drop(&mut self) {
        if let Some(id) = self.chromium.take() {
            let _ = std::process::Command::new("kill").arg(id.to_string()).status();
        }
    }
}
