//! The live page in Chromium, over the embedded cluster, while kubectl changes it.
//!
//! Needs `chromium` and `chromedriver` on the PATH. With `WATCHKEEPER_PICTURES` set to a directory, pictures of the page
//! are put there; with `WATCHKEEPER_PAGE_PODS` set to a number, the page is measured with as many pods.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "browser/details.rs"]
mod details;
#[path = "browser/driver.rs"]
mod driver;
#[path = "browser/site.rs"]
mod site;

use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use watchkeeper_oracle::testdata;
use watchkeeper_testkit::{Direction, NetworkFault};

use driver::Browser;
use site::Site;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const DOWN: &str = "\u{e015}";

/// One browser at a time: they are what is slow here.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A cluster, its page, and a browser that shows it.
struct Stage {
    site: Site,
    browser: Browser,
    _turn: tokio::sync::MutexGuard<'static, ()>,
}

impl Stage {
    async fn set() -> Outcome<Self> {
        Self::with(Site::start()).await
    }

    async fn with(site: impl Future<Output = Outcome<Site>>) -> Outcome<Self> {
        let turn = TURN.lock().await;
        Ok(Self { site: site.await?, browser: Browser::start().await?, _turn: turn })
    }

    /// Opens an address of the page.
    async fn open(&self, fragment: &str) -> Outcome {
        self.browser.open(&self.site.url(fragment)).await
    }

    /// Waits until the table has exactly these rows in sight.
    async fn rows(&self, names: &[&str]) -> Outcome {
        let condition = format!("JSON.stringify({ROWS}) === {:?}", json!(names).to_string());
        self.browser.until(&condition).await.map(drop)
    }

    /// Waits until an element has a text.
    async fn text(&self, selector: &str, text: &str) -> Outcome {
        let condition = format!("document.querySelector({selector:?})?.textContent.includes({text:?})");
        self.browser.until(&condition).await.map(drop)
    }

    /// Nothing may have gone wrong in the browser, except what contains one of these.
    async fn end(self, expected: &[&str]) -> Outcome {
        let complaints = self.browser.complaints().await?;
        let unexpected = complaints.iter().filter(|said| !expected.iter().any(|part| said.contains(part)));
        assert_eq!(unexpected.collect::<Vec<_>>(), Vec::<&String>::new());
        self.browser.quit().await?;
        self.site.stop().await;
        Ok(())
    }
}

/// The names of the rows in sight, in order, but for what every namespace has.
const ROWS: &str = "[...document.querySelectorAll('.row:not([hidden])')]
    .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
    .map((row) => row.querySelector('.name').textContent).filter((name) => name !== 'kube-root-ca.crt')";

fn config_map(name: &str, labels: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {labels}\ndata: {data}\n")
}

const SHOP: &str = "
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

#[tokio::test(flavor = "multi_thread")]
async fn modules_do_what_they_say() -> Outcome {
    let stage = Stage::set().await?;
    stage.open("").await?;
    let mut written = Vec::new();
    for sample in testdata()? {
        let sample = sample?;
        written.push((String::from_utf8(sample.json)?, String::from_utf8(sample.yaml)?));
    }
    let odd = r#"{"empty":"","yes":"yes","number":"012","time":"2026-01-01","colon":"a: b","lines":"a\n  b\n","open":"a\nb",
        "blank":"\n","tab":"a\tb","wave":"~","list":[[],{},[1,"two",null]],"a10":1,"a9":2,"face":"\ud83d\ude00",
        "long":"word word word word word word word word word word word word word word word word word word word"}"#;
    let data: Value = serde_json::from_str(odd)?;
    let texts: serde_json::Map<String, Value> = data
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.is_string())
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    stage.site.kubectl_with("create -f -", &config_map("odd", "{}", &Value::from(texts).to_string())).await?;
    let outputs = ["-o json --show-managed-fields", "-o yaml --show-managed-fields"];
    let [json, yaml] = [
        stage.site.kubectl(&format!("get configmap odd {}", outputs[0])).await?,
        stage.site.kubectl(&format!("get configmap odd {}", outputs[1])).await?,
    ];
    written.push((json, yaml));
    assert!(written.len() > 100);

    let wrong = stage.browser.wait_for(include_str!("browser/modules.js"), &json!([written])).await?;

    assert_eq!(wrong, json!([]));
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_follows_the_cluster() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.open("#/r/core/v1/configmaps?ns=shop").await?;
    stage.text("#state", "Live").await?;
    stage.browser.until("document.querySelector('#count').textContent !== ''").await?;

    for (name, labels) in [("apple", "{fruit: 'yes'}"), ("bread", "{}"), ("cherry", "{fruit: 'yes'}")] {
        stage.site.kubectl_with("create -n shop -f -", &config_map(name, labels, "{a: b}")).await?;
    }
    stage.rows(&["apple", "bread", "cherry"]).await?;
    stage.text("#count", "4").await?;

    // Changes are drawn into the row that is there, which shows that it has changed.
    stage
        .site
        .kubectl_with("patch -n shop configmap bread --patch-file /dev/stdin", "data: {more: x, most: z}")
        .await?;
    let data = "[...document.querySelectorAll('.row:not([hidden])')].find((row) => row.dataset.key === 'shop/bread')";
    stage
        .browser
        .until(&format!("{data}.textContent.startsWith('bread3') && {data}.classList.contains('flash')"))
        .await?;
    stage.site.kubectl("delete -n shop configmap bread").await?;
    stage.rows(&["apple", "cherry"]).await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("bread", "{}", "{a: b}")).await?;
    stage.rows(&["apple", "bread", "cherry"]).await?;

    // Free text, over names, cells and labels; and as things change.
    stage.browser.press("/").await?;
    stage.browser.press("fruit=yes").await?;
    stage.rows(&["apple", "cherry"]).await?;
    stage.text("#count", "2 of 4").await?;
    stage.site.kubectl("label -n shop configmap bread fruit=yes").await?;
    stage.rows(&["apple", "bread", "cherry"]).await?;
    stage.browser.press(" !app").await?;
    stage.rows(&["bread", "cherry"]).await?;
    stage.browser.press(ESCAPE).await?;
    stage.rows(&["apple", "bread", "cherry"]).await?;
    stage.browser.press("/nothing").await?;
    stage.text("#notice", "Nothing matches").await?;
    stage.browser.press(ESCAPE).await?;

    // Order, by a click on the head of a column: ascending first.
    stage.browser.click("[data-column=Name]").await?;
    stage.browser.until("document.querySelector('[aria-sort=ascending]')").await?;
    stage.rows(&["apple", "bread", "cherry"]).await?;
    stage.browser.click("[data-column=Name]").await?;
    stage.rows(&["cherry", "bread", "apple"]).await?;

    // Labels are matched by the server; what it cannot read, it says.
    stage.browser.press("l").await?;
    stage.browser.press(&format!("fruit=no{ENTER}")).await?;
    stage.text("#notice", "No configmaps match these labels").await?;
    stage.open("#/r/core/v1/configmaps?ns=shop&l=a%20b%20c").await?;
    stage.text("#notice", "Invalid request").await?;
    stage.browser.until("document.querySelector('#labels').getAttribute('aria-invalid') === 'true'").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_updates_back_and_counts_them() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    stage.open("#/r/core/v1/configmaps?ns=shop").await?;
    stage.rows(&["apple"]).await?;

    stage.browser.press("p").await?;
    stage.text("#state", "Paused").await?;
    stage.site.kubectl("delete -n shop configmap apple").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("bread", "{}", "{}")).await?;
    stage.text("#pause", "2 held").await?;
    stage.rows(&["apple"]).await?;

    stage.browser.click("#pause").await?;
    stage.rows(&["bread"]).await?;
    stage.text("#state", "Live").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_shows_what_it_is_and_what_becomes_of_it() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -f -", SHOP).await?;
    stage.site.kubectl("rollout status -n shop deployment/web --timeout=60s").await?;
    stage.open("#/r/apps/v1/deployments?ns=shop").await?;
    stage.rows(&["web"]).await?;

    // YAML, as kubectl has it.
    stage.browser.click(".row:not([hidden])").await?;
    stage.text("#object h2", "Deployment").await?;
    let yaml = stage.site.kubectl("get -n shop deployment web -o yaml").await?;
    let shown = "[...document.querySelectorAll('#object .code .l')].map((line) => line.textContent).join('')";
    stage.browser.until(&format!("{shown} === {}", Value::from(yaml))).await?;

    // Changes, as they arrive.
    stage.browser.press("2").await?;
    stage.text("#panel", "No changes yet").await?;
    stage.site.kubectl("set image -n shop deployment/web main=example.org/web:2").await?;
    stage.browser.until(&lines("minus", "- image: example.org/web:1")).await?;
    stage.browser.until(&lines("plus", "- image: example.org/web:2")).await?;
    stage.site.kubectl("rollout status -n shop deployment/web --timeout=60s").await?;

    // Events, of the deployment itself.
    stage.browser.press("3").await?;
    stage.text("#panel .events", "ScalingReplicaSet").await?;

    // The tree, from the topmost owner down, with the pods of the newer replica set.
    stage.browser.press("4").await?;
    let node = |kind: &str, health: &str| {
        format!("[role=treeitem][aria-label^='{kind} web'][aria-label*='{health}']")
    };
    let ready = format!(
        "document.querySelectorAll(\"{}\").length === 1 && document.querySelectorAll(\"{}\").length === 2",
        node("Deployment", "healthy"),
        node("Pod", "healthy")
    );
    stage.browser.until(&ready).await?;
    stage.site.kubectl("scale -n shop deployment/web --replicas=3").await?;
    stage
        .browser
        .until(&format!("document.querySelectorAll(\"{}\").length === 3", node("Pod", "healthy")))
        .await?;

    // The pods of the workload.
    stage.browser.press("5").await?;
    stage.text("#panel", "3 of 3 ready").await?;
    stage.text("#panel .pods", "1/1 ready").await?;

    // From a pod of the tree to the same tree.
    stage.browser.press("4").await?;
    stage
        .browser
        .until(&format!("document.querySelectorAll(\"{}\").length === 3", node("Pod", "healthy")))
        .await?;
    stage.browser.click("[aria-label^='Pod web'] a").await?;
    stage.text("#object h2", "Pod").await?;
    stage.browser.until("document.querySelector('.tree [aria-current=true]')?.getAttribute('aria-label').startsWith('Pod')").await?;
    stage.browser.until("document.querySelector('.tree > [role=treeitem]').getAttribute('aria-label').startsWith('Deployment web')").await?;

    // Gone, while somebody looks.
    stage.site.kubectl("delete -n shop deployment web --wait=false").await?;
    stage.text("#object .facts", "Deleted").await?;
    stage.text("#object .deletion:not([hidden])", "was deleted at").await?;
    stage.browser.until(&is_dimmed("#object .panel")).await?;
    stage.end(&["404 (Not Found)"]).await // its tree may have been asked for in between
}

/// That a line of a diff says this.
fn lines(sign: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('.hunk .{sign}')].some((line) => line.textContent.includes({text:?}))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_is_taken_up_again_when_the_server_is_back() -> Outcome {
    let mut stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    for name in ["apple", "bread"] {
        stage.site.kubectl_with("create -n shop -f -", &config_map(name, "{}", "{}")).await?;
    }
    stage.open("#/o/core/v1/configmaps/shop/apple?ns=shop&tab=diff").await?;
    stage.rows(&["apple", "bread"]).await?;
    stage.text("#panel", "No changes yet").await?;

    stage.site.crash().await;
    stage.text("#state", "Reconnecting").await?;
    stage.text("#outage", "Watchkeeper service unreachable for").await?;
    stage.browser.until(&format!("{} && {}", is_dimmed(".body"), is_dimmed("#object .panel"))).await?;
    stage.site.kubectl("delete -n shop configmap bread").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("cherry", "{}", "{}")).await?;
    stage.site.kubectl("label -n shop configmap apple while=away").await?;
    stage.rows(&["apple", "bread"]).await?;
    stage.site.serve().await?;

    stage.text("#state", "Live").await?;
    stage.browser.until(&is_current()).await?;
    stage.rows(&["apple", "cherry"]).await?;
    stage.browser.until(&lines("plus", "while: away")).await?;
    stage.site.kubectl("delete -n shop configmap cherry").await?;
    stage.rows(&["apple"]).await?;
    stage
        .end(&[
            "ERR_CONNECTION_REFUSED",
            "ERR_INCOMPLETE_CHUNKED_ENCODING",
            "ERR_EMPTY_RESPONSE",
            "ERR_CONNECTION_RESET",
        ])
        .await
}

/// That an element is shown as something that is not current.
fn is_dimmed(selector: &str) -> String {
    format!("getComputedStyle(document.querySelector({selector:?})).opacity < 0.9")
}

/// That nothing is.
fn is_current() -> String {
    format!("document.querySelector('#outage').hidden && !({})", is_dimmed(".body"))
}

/// The promises: how soon an outage is shown, and how soon its end.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);
const CURRENT_WITHIN: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_away_is_shown_with_what_is_old_until_it_is_back() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -f -", SHOP).await?;
    stage.site.kubectl("rollout status -n shop deployment/web --timeout=60s").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    stage.open("#/o/apps/v1/deployments/shop/web?tab=tree").await?;
    stage.browser.until("document.querySelectorAll('.tree .node').length >= 4").await?;
    stage.open("#/r/core/v1/configmaps?ns=shop").await?;
    stage.rows(&["apple"]).await?;
    let ages = "[...document.querySelectorAll('.row:not([hidden]) [data-label=Age]')].map((cell) => cell.textContent).join()";
    let mut names = vec!["apple"];

    for (how, next) in [("killed", "bread"), ("stopped", "cherry")] {
        let wire = &stage.site.api_wire;
        if how == "killed" {
            wire.refuse().await?;
            wire.inject(NetworkFault::reset());
        } else {
            wire.inject_on_connect(NetworkFault::stall(Direction::Both));
            wire.inject(NetworkFault::stall(Direction::Both));
        }
        let begun = Instant::now();
        stage.browser.until(r"/^API server unreachable for \d+s/.test(document.querySelector('#outage:not([hidden])')?.textContent)").await?;
        let shown = begun.elapsed();
        stage.browser.until(&is_dimmed(".body")).await?;
        stage.text("#state", "Out of date").await?;
        let stopped = stage.browser.run(&format!("return {ages}")).await?;
        let count = "Number(/for (\\d+)s/.exec(document.querySelector('#outage').textContent)[1])";
        let counted = stage.browser.run(&format!("return {count}")).await?;
        stage.browser.until(&format!("{count} >= {counted} + 3")).await?;
        assert_eq!(stage.browser.run(&format!("return {ages}")).await?, stopped, "ages stand still");
        if how == "killed" {
            pictures(&stage, "unreachable", "#/r/core/v1/configmaps?ns=shop").await?;
            pictures(&stage, "unreachable-tree", "#/o/apps/v1/deployments/shop/web?tab=tree").await?;
            size(&stage, 1440, 900).await?;
            stage.open("#/r/core/v1/configmaps?ns=shop").await?;
        }
        stage.site.kubectl_with("create -n shop -f -", &config_map(next, "{}", "{}")).await?;
        names.push(next);

        let wire = &stage.site.api_wire;
        wire.accept().await?;
        wire.heal();
        let begun = Instant::now();
        stage.rows(&names).await?;
        stage.browser.until(&is_current()).await?;
        let current = begun.elapsed();
        stage.text("#state", "Live").await?;
        stage.browser.until(&format!("{ages} !== {stopped}")).await?;
        println!("API server {how}: shown after {shown:.1?}, current {current:.1?} after its return");
        assert!(shown < SHOWN_WITHIN && current < CURRENT_WITHIN, "{how}: {shown:?}, {current:?}");
    }
    stage.end(&["503", "502", "504"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_falls_silent_is_shown_as_unreachable() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    let wire = stage.site.wire().await?;
    stage.browser.open(&format!("http://{}/#/r/core/v1/configmaps?ns=shop", wire.address())).await?;
    stage.rows(&["apple"]).await?;

    wire.inject_on_connect(NetworkFault::stall(Direction::Both));
    wire.inject(NetworkFault::stall(Direction::Both));
    let begun = Instant::now();
    stage.text("#outage:not([hidden])", "Watchkeeper service unreachable for").await?;
    let shown = begun.elapsed();
    stage.browser.until(&is_dimmed(".body")).await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("bread", "{}", "{}")).await?;
    wire.heal();
    stage.rows(&["apple", "bread"]).await?;
    stage.browser.until(&is_current()).await?;
    println!("service stopped: shown after {shown:.1?}");
    assert!(shown < SHOWN_WITHIN, "{shown:?}");
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_tabs_load_and_follow_the_cluster() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    let view = "#/r/core/v1/configmaps?ns=shop";
    stage.open(view).await?;
    let mut tabs = vec![stage.browser.tab().await?];
    stage.rows(&["apple"]).await?;
    for number in 2..=12 {
        tabs.push(stage.browser.open_tab(&stage.site.url(&format!("?tab={number}{view}"))).await?);
        stage.rows(&["apple"]).await?;
        stage.text("#state", "Live").await?;
        // Whatever is asked for besides the stream gets its turn, too.
        stage.browser.until("document.querySelector('#cluster').textContent.includes('Kubernetes')").await?;
    }
    stage.site.kubectl_with("create -n shop -f -", &config_map("bread", "{}", "{}")).await?;
    for tab in &tabs {
        stage.browser.go_to_tab(tab).await?;
        stage.rows(&["apple", "bread"]).await?;
    }

    // The first tab, which has started the worker, goes; the others stay live.
    stage.browser.go_to_tab(&tabs.remove(0)).await?;
    stage.browser.close_tab().await?;
    stage.browser.go_to_tab(&tabs[0]).await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("cherry", "{}", "{}")).await?;
    for tab in &tabs {
        stage.browser.go_to_tab(tab).await?;
        stage.rows(&["apple", "bread", "cherry"]).await?;
        stage.text("#state", "Live").await?;
    }
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_shared_workers_follows_the_cluster_too() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    let without = json!({"source": "delete globalThis.SharedWorker"});
    stage.browser.chromium("Page.addScriptToEvaluateOnNewDocument", &without).await?;
    stage.open("#/r/core/v1/configmaps?ns=shop").await?;
    stage.rows(&["apple"]).await?;
    assert_eq!(stage.browser.run("return typeof SharedWorker").await?, "undefined");
    // Hidden, it releases its connection; shown again, it goes on where it was.
    let visibility = |hidden: bool| {
        format!(
            "Object.defineProperty(document, 'hidden', {{ value: {hidden}, configurable: true }});
             document.dispatchEvent(new Event('visibilitychange'));"
        )
    };
    stage.browser.run(&visibility(true)).await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("bread", "{}", "{}")).await?;
    stage.browser.run(&visibility(false)).await?;
    stage.rows(&["apple", "bread"]).await?;
    stage.text("#state", "Live").await?;
    stage.site.kubectl("delete -n shop configmap apple").await?;
    stage.rows(&["bread"]).await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_reach_everything() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl("create namespace store").await?;
    for name in ["apple", "bread", "cherry"] {
        stage.site.kubectl_with("create -n shop -f -", &config_map(name, "{}", "{}")).await?;
    }
    stage.open("").await?;
    stage.text("#state", "Live").await?;

    // The resource and the namespace, by their names.
    stage.browser.until("document.querySelector('#cluster').textContent.includes('Kubernetes')").await?;
    stage.browser.press("r").await?;
    stage.browser.press("cm").await?;
    stage.text(".picker:popover-open .pointed", "configmaps").await?;
    stage.browser.press(ENTER).await?;
    stage.text("#resource .value", "configmaps").await?;
    stage.browser.press("n").await?;
    stage.browser.press("sho").await?;
    stage.browser.press(ENTER).await?;
    stage.rows(&["apple", "bread", "cherry"]).await?;

    // Rows, and the object of one.
    let current =
        |name: &str| format!("document.querySelector('.row.current .name')?.textContent === '{name}'");
    stage.browser.press("jj").await?;
    stage.browser.until(&current("bread")).await?;
    stage.browser.press(DOWN).await?;
    stage.browser.until(&current("cherry")).await?;
    stage.browser.press("k").await?;
    stage.browser.until(&current("bread")).await?;
    stage.browser.until("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.dataset.key === 'shop/bread'").await?;
    stage.browser.press(ENTER).await?;
    stage.text("#object h2", "bread").await?;
    stage.browser.press(ESCAPE).await?;
    stage.browser.until("!document.querySelector('#object') && document.activeElement.id === 'grid'").await?;

    // A dialog keeps the focus, and gives it back.
    stage.browser.press("?").await?;
    stage.text("dialog[open]", "Search cells and labels").await?;
    stage.browser.until("document.querySelector('dialog').contains(document.activeElement)").await?;
    stage.browser.press(ESCAPE).await?;
    stage.browser.until("!document.querySelector('dialog') && document.activeElement.id === 'grid'").await?;

    // Columns: one more, and it stays in the address.
    stage.browser.press("c").await?;
    stage.browser.click("dialog input[value=Namespace]").await?;
    stage.browser.press(ESCAPE).await?;
    stage.browser.until("document.querySelector('.head').textContent.includes('Namespace') && location.hash.includes('cols=')").await?;

    // Two keys in a row.
    stage.browser.press("gd").await?;
    stage.text("#resource .value", "deployments").await?;
    stage.text("#namespace .value", "shop").await?;
    stage.text("#notice", "No deployments in namespace shop").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_has_an_address_to_come_back_to() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    for name in ["apple", "bread"] {
        stage.site.kubectl_with("create -n shop -f -", &config_map(name, "{}", "{}")).await?;
    }
    stage.open("#/r/core/v1/configmaps?ns=shop&q=bread").await?;
    stage.rows(&["bread"]).await?;
    stage.browser.until("document.querySelector('#search').value === 'bread'").await?;
    stage.browser.click(".row:not([hidden])").await?;
    stage.text("#object h2", "bread").await?;
    let address = stage.browser.run("return location.hash").await?;
    assert_eq!(address, "#/o/core/v1/configmaps/shop/bread?ns=shop&q=bread");
    stage.browser.back().await?;
    stage.browser.until("!document.querySelector('#object')").await?;
    stage.rows(&["bread"]).await?;

    stage.open("#/o/core/v1/configmaps/shop/apple?tab=tree").await?;
    stage.text("#panel .tree", "apple").await?;
    stage.open("#/o/core/v1/configmaps/shop/missing").await?;
    stage.text("#panel", "Not found").await?;
    stage.open("#/r/example.org/v1/nothings").await?;
    stage.text("#notice", "Not found").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn light_and_dark_wide_and_narrow() -> Outcome {
    let stage = Stage::set().await?;
    let pods = town(&stage).await?;
    stage.open("#/r/core/v1/pods").await?;
    stage.browser.until(&format!("{ROWS}.length === {pods}")).await?;
    let ground = "getComputedStyle(document.body).backgroundColor";

    scheme(&stage, "light").await?;
    let light = stage.browser.run(&format!("return {ground}")).await?;
    scheme(&stage, "dark").await?;
    stage.browser.until(&format!("{ground} !== {light}")).await?;
    let dark = stage.browser.run(&format!("return {ground}")).await?;

    // What the user has chosen goes before what the system has, and is remembered.
    stage.browser.press("t").await?;
    stage.browser.until(&format!("{ground} === {light}")).await?;
    stage.open("?again").await?;
    stage.browser.until(&format!("{ground} === {light}")).await?;
    stage.browser.press("tt").await?;
    stage.browser.until(&format!("{ground} === {dark}")).await?;

    let views = [
        ("pods", "#/r/core/v1/pods".to_owned(), format!("{ROWS}.length === {pods}")),
        (
            "yaml",
            "#/o/apps/v1/deployments/shop/web".to_owned(),
            "document.querySelector('.code .l')".to_owned(),
        ),
        (
            "tree",
            "#/o/apps/v1/deployments/shop/cart?tab=tree".to_owned(),
            "document.querySelector('.tree .node')".to_owned(),
        ),
    ];
    for (width, height) in [(1440, 900), (390, 844)] {
        size(&stage, width, height).await?;
        for name in ["light", "dark"] {
            scheme(&stage, name).await?;
            for (view, fragment, shown) in &views {
                stage.open(fragment).await?;
                stage.text("#state", "Live").await?;
                stage.browser.until(shown).await?;
                let wide =
                    "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]";
                assert_eq!(stage.browser.run(wide).await?, json!([width, width, width]), "{view}");
                picture(&stage, &format!("page-{view}-{width}-{name}.png")).await?;
            }
        }
    }
    stage.open("#/r/core/v1/pods").await?;
    let seen =
        "[...document.querySelectorAll('.row:not([hidden])')].every((row) => ['Ready', 'Status', 'Age']
        .every((label) => row.querySelector(`[data-label=${label}]`).getBoundingClientRect().right <= 390))";
    stage.browser.until(&format!("{ROWS}.length > 0 && {seen}")).await?;

    // Every control has a name.
    let nameless = "return [...document.querySelectorAll('button, input, select, [role=grid], [role=tree]')]
        .filter((each) => !(each.getAttribute('aria-label') || each.innerText?.trim() || each.labels?.length))
        .map((each) => each.outerHTML)";
    assert_eq!(stage.browser.run(nameless).await?, json!([]));
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_in_sees_what_there_is_and_the_token_is_nowhere_to_be_read() -> Outcome {
    let stage = Stage::with(Site::guarded()).await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    stage.site.kubectl("create serviceaccount visitor").await?;
    let token = stage.site.kubectl("create token visitor").await?.trim().to_owned();
    stage.open("#/r/core/v1/configmaps?ns=shop").await?;
    stage.text("dialog[open]", "The server requires a token").await?;
    stage.browser.until("document.activeElement.type === 'password'").await?;
    stage.rows(&[]).await?;

    stage.browser.press(&format!("guessed{ENTER}")).await?;
    let refused = "Sign-in failed: the API server rejected the token: invalid bearer token";
    stage.text("dialog[open] [role=alert]:not([hidden])", refused).await?;
    stage.rows(&[]).await?;

    stage.browser.run("document.activeElement.select()").await?;
    stage.browser.press(&format!("{token}{ENTER}")).await?;
    stage.rows(&["apple"]).await?;
    stage.text("#state", "Live").await?;
    stage.browser.until("document.querySelector('dialog[open]') === null").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("bread", "{}", "{}")).await?;
    stage.rows(&["apple", "bread"]).await?;

    // Neither in an address, of the page or of anything it has asked for, nor where scripts could read it.
    let readable =
        "return [location.href, ...performance.getEntries().map((entry) => entry.name), document.cookie,
        JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.documentElement.outerHTML]";
    let readable = stage.browser.run(readable).await?;
    let readable: Vec<&str> =
        readable.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert!(readable.iter().any(|text| text.ends_with("/v1/login")), "{readable:?}");
    for text in readable {
        assert!(!text.contains(&token), "{text}");
    }

    // Who comes back is still known.
    stage.open("?again#/r/core/v1/configmaps?ns=shop").await?;
    stage.rows(&["apple", "bread"]).await?;
    assert_eq!(stage.browser.run("return document.querySelector('dialog[open]')").await?, Value::Null);
    stage.end(&["401"]).await
}

/// A few deployments, of which one cannot run; returns how many pods they have.
async fn town(stage: &Stage) -> Outcome<usize> {
    let mut pods = 0;
    for (namespace, name, replicas, annotations) in [
        ("shop", "web", 4, "{}"),
        ("shop", "cart", 3, "{}"),
        ("shop", "search", 2, "{watchkeeper.dev/ready-after: never}"),
        ("mail", "inbox", 3, "{}"),
        ("mail", "outbox", 2, "{watchkeeper.dev/exit-code: '1'}"),
        ("ledger", "billing", 3, "{}"),
        ("ledger", "invoices", 2, "{watchkeeper.dev/pull: fail}"),
    ] {
        let _ = stage.site.kubectl(&format!("create namespace {namespace}")).await; // it may be there
        let manifest = SHOP
            .replace("namespace: shop", &format!("namespace: {namespace}"))
            .replace("web", name)
            .replace("replicas: 2", &format!("replicas: {replicas}"))
            .replace("metadata: {labels", &format!("metadata: {{annotations: {annotations}, labels"));
        stage.site.kubectl_with("create -f -", &manifest).await?;
        pods += replicas;
    }
    for (namespace, name) in [("shop", "web"), ("shop", "cart"), ("mail", "inbox"), ("ledger", "billing")] {
        stage.site.kubectl(&format!("rollout status -n {namespace} deployment/{name} --timeout=60s")).await?;
    }
    Ok(pods)
}

/// Keeps what is on the screen, if pictures are wanted.
async fn picture(stage: &Stage, name: &str) -> Outcome {
    let Some(directory) = std::env::var_os("WATCHKEEPER_PICTURES") else { return Ok(()) };
    stage.browser.run("getSelection().removeAllRanges(); document.activeElement.blur()").await?;
    let picture = base64::engine::general_purpose::STANDARD.decode(stage.browser.picture().await?)?;
    std::fs::write(std::path::Path::new(&directory).join(name), picture)?;
    Ok(())
}

/// How long it takes until there is something to see, and until a keystroke has narrowed it.
///
/// Two thousand pods, or as many as `WATCHKEEPER_PAGE_PODS` says. What is printed is what `performance.now()` measures in
/// the browser: from the beginning of the navigation to the first rows and to all of them, and from a keystroke to the
/// frame that shows what it found. Starting the browser and the informers is not counted.
#[tokio::test(flavor = "multi_thread")]
async fn first_content_and_keystroke_with_many_pods() -> Outcome {
    let count = std::env::var("WATCHKEEPER_PAGE_PODS").map_or(Ok(2_000), |count| count.parse())?;
    let stage = Stage::set().await?;
    stage.site.crowd(count).await?;
    let whole =
        format!("document.querySelector('#count').textContent === '{count}'.replace(/(?=(\\d{{3}})$)/, ',')");
    stage.open("#/r/core/v1/pods").await?;
    stage.browser.until(&whole).await?;

    stage.open("?again#/r/core/v1/pods").await?;
    stage.browser.until(&whole).await?;
    let first = stage.browser.run("return performance.getEntriesByName('first-rows')[0].startTime").await?;
    let all = stage.browser.run("return performance.now()").await?;
    println!(
        "{count} pods: first rows after {:.0} ms, all of them after {:.0} ms",
        first.as_f64().unwrap(),
        all.as_f64().unwrap()
    );
    assert!(
        stage.browser.run("return document.querySelectorAll('.row').length").await?.as_u64().unwrap() < 100
    );

    let typed = "
        const search = document.getElementById('search');
        const times = [];
        for (const text of ['w', 'we', 'web', 'web-0', 'web-00', '', 'zone=z3', 'zone=z3 app=mail', '!web', '']) {
            const begun = performance.now();
            search.value = text;
            search.dispatchEvent(new Event('input'));
            await new Promise((seen) => requestAnimationFrame(() => setTimeout(seen, 0)));
            times.push([text, performance.now() - begun, document.getElementById('count').textContent]);
        }
        return times;";
    let times = stage.browser.wait_for(typed, &json!([])).await?;
    for time in times.as_array().unwrap() {
        println!("{count} pods: {} shows {} after {:.1} ms", time[0], time[2], time[1].as_f64().unwrap());
    }
    let found =
        |text: &str| times.as_array().unwrap().iter().find(|time| time[0] == text).unwrap()[2].clone();
    assert!(found("web").as_str().unwrap().contains(" of "));
    stage.end(&[]).await
}

/// Keeps what an address shows, wide and narrow, light and dark, if pictures are wanted.
async fn pictures(stage: &Stage, name: &str, fragment: &str) -> Outcome {
    if std::env::var_os("WATCHKEEPER_PICTURES").is_none() {
        return Ok(());
    }
    stage.open(fragment).await?;
    for (width, height) in [(1440, 900), (390, 844)] {
        size(stage, width, height).await?;
        for colours in ["light", "dark"] {
            scheme(stage, colours).await?;
            picture(stage, &format!("page-{name}-{width}-{colours}.png")).await?;
        }
    }
    Ok(())
}

async fn scheme(stage: &Stage, name: &str) -> Outcome {
    let features = json!({"features": [{"name": "prefers-color-scheme", "value": name}]});
    stage.browser.chromium("Emulation.setEmulatedMedia", &features).await.map(drop)
}

async fn size(stage: &Stage, width: u32, height: u32) -> Outcome {
    let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
    stage.browser.chromium("Emulation.setDeviceMetricsOverride", &metrics).await.map(drop)
}
