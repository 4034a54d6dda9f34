//! Several tabs, and browsers without shared workers.

use serde_json::json;

use crate::Outcome;
use crate::page::Page;

#[tokio::test(flavor = "multi_thread")]
async fn many_tabs_load_and_receive_updates() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.create_config_map("apple").await?;
    let view = "#/r/core/v1/configmaps?ns=shop";
    page.open(view).await?;
    let mut tabs = vec![page.browser.current_tab().await?];
    page.wait_for_rows(&["apple"]).await?;
    for number in 2..=12 {
        tabs.push(page.browser.open_tab(&page.environment.url(&format!("?tab={number}{view}"))).await?);
        page.wait_for_rows(&["apple"]).await?;
        page.wait_for_text("#state", "Live").await?;
        // Requests other than the stream must not wait for a free connection.
        page.browser
            .wait_until("document.querySelector('#cluster').textContent.includes('Kubernetes')")
            .await?;
    }
    page.create_config_map("bread").await?;
    for tab in &tabs {
        page.browser.switch_to_tab(tab).await?;
        page.wait_for_rows(&["apple", "bread"]).await?;
    }

    // Closing the first tab, which started the shared worker, must not affect the others.
    page.browser.switch_to_tab(&tabs.remove(0)).await?;
    page.browser.close_tab().await?;
    page.browser.switch_to_tab(&tabs[0]).await?;
    page.create_config_map("cherry").await?;
    for tab in &tabs {
        page.browser.switch_to_tab(tab).await?;
        page.wait_for_rows(&["apple", "bread", "cherry"]).await?;
        page.wait_for_text("#state", "Live").await?;
    }
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_shared_workers_receives_updates() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.create_config_map("apple").await?;
    let script = json!({"source": "delete globalThis.SharedWorker"});
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &script).await?;
    page.open("#/r/core/v1/configmaps?ns=shop").await?;
    page.wait_for_rows(&["apple"]).await?;
    assert_eq!(page.browser.run("return typeof SharedWorker").await?, "undefined");
    // A hidden page closes its connection; once visible again, it resumes.
    let set_hidden = |hidden: bool| {
        format!(
            "Object.defineProperty(document, 'hidden', {{ value: {hidden}, configurable: true }});
             document.dispatchEvent(new Event('visibilitychange'));"
        )
    };
    page.browser.run(&set_hidden(true)).await?;
    page.create_config_map("bread").await?;
    page.browser.run(&set_hidden(false)).await?;
    page.wait_for_rows(&["apple", "bread"]).await?;
    page.wait_for_text("#state", "Live").await?;
    page.kubectl("delete -n shop configmap apple").await?;
    page.wait_for_rows(&["bread"]).await?;
    page.finish(&[]).await
}
