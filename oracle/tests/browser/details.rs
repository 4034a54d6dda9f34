//! Stories about single details of the page: order, scope, verdicts, ages, keys, signing in and out.

use serde_json::{Value, json};

use super::{ENTER, ESCAPE, Outcome, ROWS, SHOP, Site, Stage, config_map, size};

const HOME: &str = "\u{e011}";
const END: &str = "\u{e010}";

/// The text of a cell of the row of an object.
fn cell(key: &str, label: &str) -> String {
    format!(
        "[...document.querySelectorAll('.row:not([hidden])')].find((row) => row.dataset.key === '{key}')
            ?.querySelector('[data-label=\"{label}\"]').textContent"
    )
}

/// The health that the dot of the row of an object shows.
fn verdict(key: &str) -> String {
    format!(
        "[...document.querySelectorAll('.row:not([hidden])')].find((row) => row.dataset.key === '{key}')
            ?.querySelector('.dot')?.getAttribute('aria-label')"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_does_not_empty_kinds_that_are_in_none() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.open("#/r/core/v1/nodes?ns=shop").await?;
    let nodes = stage.site.kubectl("get nodes -o name").await?.lines().count();
    assert!(nodes > 0);
    stage.browser.until(&format!("{ROWS}.length === {nodes}")).await?;
    stage.text("#namespace .value", "none").await?;
    stage.browser.until("document.querySelector('#namespace').disabled").await?;
    stage.browser.until("document.querySelector('#grid').getAttribute('aria-label') === 'nodes'").await?;
    // The namespace is kept for the next table that has one.
    stage.browser.press("gp").await?;
    stage.text("#namespace .value", "shop").await?;
    stage.text("#notice", "No pods in namespace shop").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_arrow_shows_the_order_that_there_is() -> Outcome {
    let stage = Stage::set().await?;
    for (namespace, name) in [("beach", "apple"), ("attic", "cherry"), ("attic", "bread")] {
        let _ = stage.site.kubectl(&format!("create namespace {namespace}")).await; // it may be there
        stage
            .site
            .kubectl_with(&format!("create -n {namespace} -f -"), &config_map(name, "{our: 'yes'}", "{}"))
            .await?;
    }
    let sorted = |column: &str, order: &str| {
        format!(
            "document.querySelector('[aria-sort]:has([data-column=\"{column}\"])').getAttribute('aria-sort') === '{order}'"
        )
    };
    // By namespace and name at first: that is the order of no single column.
    stage.open("#/r/core/v1/configmaps?l=our").await?;
    stage.rows(&["bread", "cherry", "apple"]).await?;
    stage.browser.until("!document.querySelector('[aria-sort=ascending], [aria-sort=descending]')").await?;
    for (column, order, rows) in [
        ("Name", "ascending", ["apple", "bread", "cherry"]),
        ("Name", "descending", ["cherry", "bread", "apple"]),
        ("Namespace", "ascending", ["bread", "cherry", "apple"]),
        ("Namespace", "descending", ["apple", "bread", "cherry"]),
        ("Age", "ascending", ["bread", "cherry", "apple"]),
    ] {
        stage.browser.click(&format!("[data-column={column}]")).await?;
        if column != "Age" {
            stage.rows(&rows).await?;
        }
        stage.browser.until(&sorted(column, order)).await?;
        let arrows =
            "document.querySelectorAll('[aria-sort=ascending], [aria-sort=descending]').length === 1";
        stage.browser.until(arrows).await?;
    }

    // The page names the unknown column and shows the others.
    stage.open("#/r/core/v1/configmaps?l=our&cols=Name,Colour&sort=-Weight").await?;
    stage
        .text("#problem", "Unknown column “Colour”, “Weight”: configmaps have Name, Namespace, Data, Age.")
        .await?;
    stage.rows(&["bread", "cherry", "apple"]).await?;
    stage.open("#/r/core/v1/configmaps?l=our&cols=Name,Data&sort=-Name").await?;
    stage.rows(&["cherry", "bread", "apple"]).await?;
    stage.browser.until("document.querySelector('#problem').hidden").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_verdict_on_a_crash_loop() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    let crashing = SHOP
        .replace("replicas: 2", "replicas: 1")
        .replace("metadata: {labels", "metadata: {annotations: {watchkeeper.dev/exit-code: '1'}, labels");
    stage.site.kubectl_with("create -f -", &crashing).await?;
    stage.open("#/r/core/v1/pods?ns=shop").await?;
    stage.browser.until(&format!("{ROWS}.length === 1")).await?;
    let name = stage.browser.run(&format!("return {ROWS}[0]")).await?;
    let key = format!("shop/{}", name.as_str().unwrap());
    stage.browser.until(&format!("{} === 'CrashLoopBackOff'", cell(&key, "Status"))).await?;
    stage.browser.until(&format!("{} === 'degraded'", verdict(&key))).await?;

    // Restarts as kubectl prints them, and they go on.
    let restarts = cell(&key, "Restarts");
    stage.browser.until(&format!("/^\\d+ \\(\\d+m?\\d*s ago\\)$/.test({restarts})")).await?;
    let before = stage.browser.run(&format!("return {restarts}")).await?;
    stage.browser.until(&format!("{restarts} !== {before}")).await?;

    // The deployment: not there yet by its own account, in the table and in the tree alike; its pod is degraded.
    stage.open("#/o/apps/v1/deployments/shop/web?tab=tree&ns=shop").await?;
    stage.browser.until(&format!("{} === 'progressing'", verdict("shop/web"))).await?;
    let node = |kind: &str, words: &str| {
        format!(
            "document.querySelector(\"[role=treeitem][aria-label^='{kind} web'][aria-label*='{words}']\")"
        )
    };
    stage.browser.until(&node("Deployment", "progressing, 0/1 ready, degraded below")).await?;
    stage.browser.until(&node("Pod", "degraded, 0/1 ready, CrashLoopBackOff")).await?;
    stage.browser.press("5").await?;
    stage
        .browser
        .until("document.querySelector('.pods .dot')?.getAttribute('aria-label') === 'degraded'")
        .await?;
    stage.text(".pods", "0/1 ready, CrashLoopBackOff").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_age_goes_on() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -f -", SHOP).await?;
    stage.site.kubectl("rollout status -n shop deployment/web --timeout=60s").await?;
    stage.open("#/o/apps/v1/deployments/shop/web?ns=shop&tab=events").await?;
    for (key, age) in [("3", ".events time"), ("4", ".tree .quiet"), ("5", ".pods [data-since]")] {
        stage.browser.press(key).await?;
        let text = format!("document.querySelector('#panel {age}').textContent");
        stage.browser.until(&format!("/\\ds/.test({text})")).await?;
        let before = stage.browser.run(&format!("return {text}")).await?;
        stage.browser.until(&format!("{text} !== {before}")).await?;
    }
    let text = "document.querySelector('.facts [data-since]').textContent";
    let before = stage.browser.run(&format!("return {text}")).await?;
    stage.browser.until(&format!("{text} !== {before}")).await?;

    // A cron job that was never scheduled, as kubectl prints it.
    let cron_job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: daily, namespace: shop}\nspec:\n  schedule: '0 3 * * *'\n  \
        jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}\n";
    stage.site.kubectl_with("create -f -", cron_job).await?;
    stage.open("#/r/batch/v1/cronjobs?ns=shop").await?;
    let last = cell("shop/daily", "Last Schedule");
    stage.browser.until(&format!("{last} === '<none>'")).await?;
    let scheduled = r#"{"status":{"lastScheduleTime":"2026-01-01T03:00:00Z"}}"#;
    stage
        .site
        .kubectl(&format!("patch cronjob -n shop daily --subresource=status --type=merge -p {scheduled}"))
        .await?;
    let printed = stage.site.kubectl("get cronjob -n shop daily --no-headers").await?;
    let printed = Value::from(printed.split_whitespace().nth(9).unwrap());
    stage.browser.until(&format!("{last} === {printed}")).await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_move_through_rows_and_the_open_object_follows() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    for number in 10..70 {
        stage.site.kubectl(&format!("create configmap -n shop m-{number}")).await?;
    }
    stage.open("#/r/core/v1/configmaps?ns=shop&q=m-").await?;
    stage.browser.until(&format!("{ROWS}[0] === 'm-10'")).await?;
    let current =
        |name: &str| format!("document.querySelector('.row.current .name')?.textContent === '{name}'");

    // From no row at all to the last, and to the first.
    stage.browser.press(END).await?;
    stage.browser.until(&current("m-69")).await?;
    stage.browser.press(HOME).await?;
    stage.browser.until(&current("m-10")).await?;
    stage.browser.press("j").await?;
    stage.browser.press(ENTER).await?;
    stage.text("#object h2", "m-11").await?;

    // With the object open, it is the one that is next, and the address says so.
    stage.browser.press("j").await?;
    stage.text("#object h2", "m-12").await?;
    stage.browser.until(&current("m-12")).await?;
    stage.browser.until("location.hash.startsWith('#/o/core/v1/configmaps/shop/m-12')").await?;
    stage.browser.press("kk").await?;
    stage.text("#object h2", "m-10").await?;
    stage.browser.press(END).await?;
    stage.text("#object h2", "m-69").await?;

    // Also from within the panel, where keys that scroll scroll.
    stage.browser.run("document.querySelector('#panel').focus()").await?;
    stage.browser.press("k").await?;
    stage.text("#object h2", "m-68").await?;
    stage.browser.until("document.querySelector('#object').contains(document.activeElement)").await?;
    stage.browser.press(HOME).await?;
    stage.browser.press("2").await?; // shows that Home has been dealt with
    stage.text("#panel", "No changes yet").await?;
    stage.text("#object h2", "m-68").await?;

    // An address with an object: the next is the next of that.
    stage.browser.press(ESCAPE).await?;
    stage.open("?again#/o/core/v1/configmaps/shop/m-20?ns=shop&q=m-").await?;
    stage.text("#object h2", "m-20").await?;
    stage.browser.until(&format!("{ROWS}[0] === 'm-10'")).await?;
    stage.browser.press("j").await?;
    stage.text("#object h2", "m-21").await?;
    stage.end(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_sign_in_is_told_so_and_who_did_can_sign_out() -> Outcome {
    let stage = Stage::with(Site::guarded()).await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -n shop -f -", &config_map("apple", "{}", "{}")).await?;
    stage.site.kubectl("create serviceaccount visitor").await?;
    let token = stage.site.kubectl("create token visitor").await?.trim().to_owned();
    stage.open("#/r/core/v1/configmaps?ns=shop").await?;
    stage.text("dialog[open]", "Sign in").await?;
    stage.browser.until("document.activeElement.type === 'password'").await?;
    stage.browser.press(ESCAPE).await?;
    stage.text("#notice", "You are not signed in").await?;
    stage
        .browser
        .until("!document.querySelector('dialog') && document.querySelector('#signout').hidden")
        .await?;

    stage.browser.click("#signin").await?;
    stage.browser.until("document.activeElement.type === 'password'").await?;
    stage.browser.press(&format!("{token}{ENTER}")).await?;
    stage.rows(&["apple"]).await?;
    let named = "!document.querySelector('#signout').hidden && document.querySelector('#signout').title.includes('visitor')";
    stage.browser.until(named).await?;

    stage.browser.click("#signout").await?;
    stage.text("dialog[open]", "The server requires a token").await?;
    stage.rows(&[]).await?;
    let status = "return fetch('/v1/user').then((answer) => answer.status)";
    assert_eq!(stage.browser.run(status).await?, 401);
    stage.end(&["401"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_says_what_happened_on_a_phone_too() -> Outcome {
    let stage = Stage::set().await?;
    stage.site.kubectl("create namespace shop").await?;
    stage.site.kubectl_with("create -f -", SHOP).await?;
    stage.site.kubectl("rollout status -n shop deployment/web --timeout=60s").await?;
    size(&stage, 390, 844).await?;
    stage.open("#/r/core/v1/events?ns=shop").await?;
    stage.browser.until(&format!("{ROWS}.length > 3")).await?;
    let hidden = "return [...document.querySelectorAll('.row:not([hidden])')].filter((row) => {
        const [message, room] = [row.querySelector('[data-label=Message]').getBoundingClientRect(), row.getBoundingClientRect()];
        return message.width < 100 || message.height < 8 || message.bottom > room.bottom || message.right > 390;
    }).map((row) => row.textContent)";
    assert_eq!(stage.browser.run(hidden).await?, json!([]));
    super::picture(&stage, "page-events-390.png").await?;
    stage.end(&[]).await
}
