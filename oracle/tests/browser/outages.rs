//! Outages of the service and of the API server.

use std::time::{Duration, Instant};

use watchkeeper_testkit::{Direction, NetworkFault};

use crate::Outcome;
use crate::page::{Page, diff_contains, is_dimmed};
use crate::screenshots::{screenshots, set_screen_size};

/// The longest time from the start of an outage until the page shows it.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);
/// The longest time from the end of an outage until the page is up to date.
const CURRENT_WITHIN: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn the_page_reconnects_and_catches_up_when_the_service_is_back() -> Outcome {
    let mut page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    for name in ["apple", "bread"] {
        page.create_config_map(name).await?;
    }
    page.open("#/o/core/v1/configmaps/shop/apple?ns=shop&tab=diff").await?;
    page.wait_for_rows(&["apple", "bread"]).await?;
    page.wait_for_text("#panel", "No changes yet").await?;

    page.environment.crash_service().await;
    page.wait_for_text("#state", "Reconnecting").await?;
    page.wait_for_text("#outage", "Watchkeeper service unreachable for").await?;
    page.browser.wait_until(&format!("{} && {}", is_dimmed(".body"), is_dimmed("#object .panel"))).await?;
    page.kubectl("delete -n shop configmap bread").await?;
    page.create_config_map("cherry").await?;
    page.kubectl("label -n shop configmap apple while=away").await?;
    page.wait_for_rows(&["apple", "bread"]).await?;
    page.environment.start_service().await?;

    page.wait_for_text("#state", "Live").await?;
    page.browser.wait_until(&is_current()).await?;
    page.wait_for_rows(&["apple", "cherry"]).await?;
    page.browser.wait_until(&diff_contains("plus", "while: away")).await?;
    page.kubectl("delete -n shop configmap cherry").await?;
    page.wait_for_rows(&["apple"]).await?;
    page.finish(&[
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_EMPTY_RESPONSE",
        "ERR_CONNECTION_RESET",
    ])
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_api_server_is_reported_and_stale_data_dimmed_until_it_is_back() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.roll_out_web().await?;
    page.create_config_map("apple").await?;
    page.open("#/o/apps/v1/deployments/shop/web?tab=tree").await?;
    page.browser.wait_until("document.querySelectorAll('.tree .node').length >= 4").await?;
    page.open("#/r/core/v1/configmaps?ns=shop").await?;
    page.wait_for_rows(&["apple"]).await?;
    let ages = "[...document.querySelectorAll('.row:not([hidden]) [data-label=Age]')].map((cell) => cell.textContent).join()";
    let mut names = vec!["apple"];

    for (how, next) in [("killed", "bread"), ("stopped", "cherry")] {
        let proxy = &page.environment.api_proxy;
        if how == "killed" {
            proxy.refuse().await?;
            proxy.inject(NetworkFault::reset());
        } else {
            proxy.inject_on_connect(NetworkFault::stall(Direction::Both));
            proxy.inject(NetworkFault::stall(Direction::Both));
        }
        let start = Instant::now();
        page.browser.wait_until(r"/^API server unreachable for \d+s/.test(document.querySelector('#outage:not([hidden])')?.textContent)").await?;
        let shown = start.elapsed();
        page.browser.wait_until(&is_dimmed(".body")).await?;
        page.wait_for_text("#state", "Out of date").await?;
        let frozen = page.browser.run(&format!("return {ages}")).await?;
        let count = "Number(/for (\\d+)s/.exec(document.querySelector('#outage').textContent)[1])";
        let seconds = page.browser.run(&format!("return {count}")).await?;
        page.browser.wait_until(&format!("{count} >= {seconds} + 3")).await?;
        assert_eq!(
            page.browser.run(&format!("return {ages}")).await?,
            frozen,
            "ages advance during the outage"
        );
        if how == "killed" {
            screenshots(&page, "unreachable", "#/r/core/v1/configmaps?ns=shop").await?;
            screenshots(&page, "unreachable-tree", "#/o/apps/v1/deployments/shop/web?tab=tree").await?;
            set_screen_size(&page, 1440, 900).await?;
            page.open("#/r/core/v1/configmaps?ns=shop").await?;
        }
        page.create_config_map(next).await?;
        names.push(next);

        let proxy = &page.environment.api_proxy;
        proxy.accept().await?;
        proxy.heal();
        let start = Instant::now();
        page.wait_for_rows(&names).await?;
        page.browser.wait_until(&is_current()).await?;
        let current = start.elapsed();
        page.wait_for_text("#state", "Live").await?;
        page.browser.wait_until(&format!("{ages} !== {frozen}")).await?;
        println!("API server {how}: shown after {shown:.1?}, current {current:.1?} after its return");
        assert!(shown < SHOWN_WITHIN && current < CURRENT_WITHIN, "{how}: {shown:?}, {current:?}");
    }
    page.finish(&["503", "502", "504"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_responding_is_shown_as_unreachable() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.create_config_map("apple").await?;
    let proxy = page.environment.start_service_proxy().await?;
    page.browser.open(&format!("http://{}/#/r/core/v1/configmaps?ns=shop", proxy.address())).await?;
    page.wait_for_rows(&["apple"]).await?;

    proxy.inject_on_connect(NetworkFault::stall(Direction::Both));
    proxy.inject(NetworkFault::stall(Direction::Both));
    let start = Instant::now();
    page.wait_for_text("#outage:not([hidden])", "Watchkeeper service unreachable for").await?;
    let shown = start.elapsed();
    page.browser.wait_until(&is_dimmed(".body")).await?;
    page.create_config_map("bread").await?;
    proxy.heal();
    page.wait_for_rows(&["apple", "bread"]).await?;
    page.browser.wait_until(&is_current()).await?;
    println!("service stopped: shown after {shown:.1?}");
    assert!(shown < SHOWN_WITHIN, "{shown:?}");
    page.finish(&[]).await
}

/// Whether the page shows no outage and dims nothing.
fn is_current() -> String {
    format!("document.querySelector('#outage').hidden && !({})", is_dimmed(".body"))
}
