//! One object: its YAML, changes, events, owner tree and pods, its health and its ages.

use serde_json::Value;

use crate::Outcome;
use crate::page::{Page, ROWS, WEB_DEPLOYMENT, cell, diff_contains, health, is_dimmed};

#[tokio::test(flavor = "multi_thread")]
async fn the_object_panel_shows_yaml_changes_events_owners_and_pods() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.roll_out_web().await?;
    page.open("#/r/apps/v1/deployments?ns=shop").await?;
    page.wait_for_rows(&["web"]).await?;

    // The same YAML that kubectl prints.
    page.browser.click(".row:not([hidden])").await?;
    page.wait_for_text("#object h2", "Deployment").await?;
    let yaml = page.kubectl("get -n shop deployment web -o yaml").await?;
    let shown = "[...document.querySelectorAll('#object .code .l')].map((line) => line.textContent).join('')";
    page.browser.wait_until(&format!("{shown} === {}", Value::from(yaml))).await?;

    // Changes since the panel was opened.
    page.browser.press("2").await?;
    page.wait_for_text("#panel", "No changes yet").await?;
    page.kubectl("set image -n shop deployment/web main=example.org/web:2").await?;
    page.browser.wait_until(&diff_contains("minus", "- image: example.org/web:1")).await?;
    page.browser.wait_until(&diff_contains("plus", "- image: example.org/web:2")).await?;
    page.kubectl("rollout status -n shop deployment/web --timeout=60s").await?;

    // The events of the deployment itself.
    page.browser.press("3").await?;
    page.wait_for_text("#panel .events", "ScalingReplicaSet").await?;

    // The tree of owners from the root down, with the pods of the newer replica set.
    page.browser.press("4").await?;
    let node = |kind: &str, health: &str| {
        format!("[role=treeitem][aria-label^='{kind} web'][aria-label*='{health}']")
    };
    let ready = format!(
        "document.querySelectorAll(\"{}\").length === 1 && document.querySelectorAll(\"{}\").length === 2",
        node("Deployment", "healthy"),
        node("Pod", "healthy")
    );
    page.browser.wait_until(&ready).await?;
    page.kubectl("scale -n shop deployment/web --replicas=3").await?;
    page.browser
        .wait_until(&format!("document.querySelectorAll(\"{}\").length === 3", node("Pod", "healthy")))
        .await?;

    // The pods of the workload.
    page.browser.press("5").await?;
    page.wait_for_text("#panel", "3 of 3 ready").await?;
    page.wait_for_text("#panel .pods", "1/1 ready").await?;

    // A click on a pod in the tree opens the pod with the same tree.
    page.browser.press("4").await?;
    page.browser
        .wait_until(&format!("document.querySelectorAll(\"{}\").length === 3", node("Pod", "healthy")))
        .await?;
    page.browser.click("[aria-label^='Pod web'] a").await?;
    page.wait_for_text("#object h2", "Pod").await?;
    page.browser.wait_until("document.querySelector('.tree [aria-current=true]')?.getAttribute('aria-label').startsWith('Pod')").await?;
    page.browser.wait_until("document.querySelector('.tree > [role=treeitem]').getAttribute('aria-label').startsWith('Deployment web')").await?;

    // The object is deleted while its panel is open.
    page.kubectl("delete -n shop deployment web --wait=false").await?;
    page.wait_for_text("#object .facts", "Deleted").await?;
    page.wait_for_text("#object .deletion:not([hidden])", "was deleted at").await?;
    page.browser.wait_until(&is_dimmed("#object .panel")).await?;
    page.finish(&["404 (Not Found)"]).await // the page may have requested its tree meanwhile
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loop_has_the_same_health_in_every_view() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    let crashing = WEB_DEPLOYMENT
        .replace("replicas: 2", "replicas: 1")
        .replace("metadata: {labels", "metadata: {annotations: {watchkeeper.dev/exit-code: '1'}, labels");
    page.kubectl_stdin("create -f -", &crashing).await?;
    page.open("#/r/core/v1/pods?ns=shop").await?;
    page.browser.wait_until(&format!("{ROWS}.length === 1")).await?;
    let name = page.browser.run(&format!("return {ROWS}[0]")).await?;
    let key = format!("shop/{}", name.as_str().unwrap());
    page.browser.wait_until(&format!("{} === 'CrashLoopBackOff'", cell(&key, "Status"))).await?;
    page.browser.wait_until(&format!("{} === 'degraded'", health(&key))).await?;

    // Restarts are printed as by kubectl, and their age keeps counting.
    let restarts = cell(&key, "Restarts");
    page.browser.wait_until(&format!("/^\\d+ \\(\\d+m?\\d*s ago\\)$/.test({restarts})")).await?;
    let before = page.browser.run(&format!("return {restarts}")).await?;
    page.browser.wait_until(&format!("{restarts} !== {before}")).await?;

    // The table and the tree both show the deployment as progressing, like its own status, and its pod as degraded.
    page.open("#/o/apps/v1/deployments/shop/web?tab=tree&ns=shop").await?;
    page.browser.wait_until(&format!("{} === 'progressing'", health("shop/web"))).await?;
    let node = |kind: &str, label: &str| {
        format!(
            "document.querySelector(\"[role=treeitem][aria-label^='{kind} web'][aria-label*='{label}']\")"
        )
    };
    page.browser.wait_until(&node("Deployment", "progressing, 0/1 ready, degraded below")).await?;
    page.browser.wait_until(&node("Pod", "degraded, 0/1 ready, CrashLoopBackOff")).await?;
    page.browser.press("5").await?;
    page.browser
        .wait_until("document.querySelector('.pods .dot')?.getAttribute('aria-label') === 'degraded'")
        .await?;
    page.wait_for_text(".pods", "0/1 ready, CrashLoopBackOff").await?;
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ages_keep_counting_in_every_view() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.roll_out_web().await?;
    page.open("#/o/apps/v1/deployments/shop/web?ns=shop&tab=events").await?;
    for (key, age) in [("3", ".events time"), ("4", ".tree .quiet"), ("5", ".pods [data-since]")] {
        page.browser.press(key).await?;
        let text = format!("document.querySelector('#panel {age}').textContent");
        page.browser.wait_until(&format!("/\\ds/.test({text})")).await?;
        let before = page.browser.run(&format!("return {text}")).await?;
        page.browser.wait_until(&format!("{text} !== {before}")).await?;
    }
    let text = "document.querySelector('.facts [data-since]').textContent";
    let before = page.browser.run(&format!("return {text}")).await?;
    page.browser.wait_until(&format!("{text} !== {before}")).await?;

    // A cron job that was never scheduled, as kubectl prints it.
    let cron_job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: daily, namespace: shop}\nspec:\n  schedule: '0 3 * * *'\n  \
        jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}\n";
    page.kubectl_stdin("create -f -", cron_job).await?;
    page.open("#/r/batch/v1/cronjobs?ns=shop").await?;
    let last = cell("shop/daily", "Last Schedule");
    page.browser.wait_until(&format!("{last} === '<none>'")).await?;
    let scheduled = r#"{"status":{"lastScheduleTime":"2026-01-01T03:00:00Z"}}"#;
    page.kubectl(&format!("patch cronjob -n shop daily --subresource=status --type=merge -p {scheduled}"))
        .await?;
    let printed = page.kubectl("get cronjob -n shop daily --no-headers").await?;
    let printed = Value::from(printed.split_whitespace().nth(9).unwrap());
    page.browser.wait_until(&format!("{last} === {printed}")).await?;
    page.finish(&[]).await
}
