//! Colour schemes and screen sizes.

use serde_json::json;

use crate::Outcome;
use crate::page::{Page, ROWS, WEB_DEPLOYMENT};
use crate::screenshots::{screenshot, set_color_scheme, set_screen_size};

#[tokio::test(flavor = "multi_thread")]
async fn views_fit_wide_and_narrow_screens_in_light_and_dark() -> Outcome {
    let page = Page::start().await?;
    let pods = create_deployments(&page).await?;
    page.open("#/r/core/v1/pods").await?;
    page.browser.wait_until(&format!("{ROWS}.length === {pods}")).await?;
    let background = "getComputedStyle(document.body).backgroundColor";

    set_color_scheme(&page, "light").await?;
    let light = page.browser.run(&format!("return {background}")).await?;
    set_color_scheme(&page, "dark").await?;
    page.browser.wait_until(&format!("{background} !== {light}")).await?;
    let dark = page.browser.run(&format!("return {background}")).await?;

    // The user's choice overrides the system's scheme, and is stored.
    page.browser.press("t").await?;
    page.browser.wait_until(&format!("{background} === {light}")).await?;
    page.open("?again").await?;
    page.browser.wait_until(&format!("{background} === {light}")).await?;
    page.browser.press("tt").await?;
    page.browser.wait_until(&format!("{background} === {dark}")).await?;

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
        set_screen_size(&page, width, height).await?;
        for name in ["light", "dark"] {
            set_color_scheme(&page, name).await?;
            for (view, fragment, shown) in &views {
                page.open(fragment).await?;
                page.wait_for_text("#state", "Live").await?;
                page.browser.wait_until(shown).await?;
                let widths =
                    "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]";
                assert_eq!(
                    page.browser.run(widths).await?,
                    json!([width, width, width]),
                    "{view} scrolls sideways"
                );
                screenshot(&page, &format!("page-{view}-{width}-{name}.png")).await?;
            }
        }
    }
    page.open("#/r/core/v1/pods").await?;
    let visible =
        "[...document.querySelectorAll('.row:not([hidden])')].every((row) => ['Ready', 'Status', 'Age']
        .every((label) => row.querySelector(`[data-label=${label}]`).getBoundingClientRect().right <= 390))";
    page.browser.wait_until(&format!("{ROWS}.length > 0 && {visible}")).await?;

    // Every control has an accessible name.
    let nameless = "return [...document.querySelectorAll('button, input, select, [role=grid], [role=tree]')]
        .filter((control) => !(control.getAttribute('aria-label') || control.innerText?.trim() || control.labels?.length))
        .map((control) => control.outerHTML)";
    assert_eq!(page.browser.run(nameless).await?, json!([]));
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn event_messages_are_visible_on_a_phone() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.roll_out_web().await?;
    set_screen_size(&page, 390, 844).await?;
    page.open("#/r/core/v1/events?ns=shop").await?;
    page.browser.wait_until(&format!("{ROWS}.length > 3")).await?;
    let hidden = "return [...document.querySelectorAll('.row:not([hidden])')].filter((row) => {
        const [message, bounds] = [row.querySelector('[data-label=Message]').getBoundingClientRect(), row.getBoundingClientRect()];
        return message.width < 100 || message.height < 8 || message.bottom > bounds.bottom || message.right > 390;
    }).map((row) => row.textContent)";
    assert_eq!(page.browser.run(hidden).await?, json!([]));
    screenshot(&page, "page-events-390.png").await?;
    page.finish(&[]).await
}

/// Creates deployments, some of which never become ready, and returns their number of pods.
async fn create_deployments(page: &Page) -> Outcome<usize> {
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
        let _ = page.kubectl(&format!("create namespace {namespace}")).await; // the namespace may exist
        let manifest = WEB_DEPLOYMENT
            .replace("namespace: shop", &format!("namespace: {namespace}"))
            .replace("web", name)
            .replace("replicas: 2", &format!("replicas: {replicas}"))
            .replace("metadata: {labels", &format!("metadata: {{annotations: {annotations}, labels"));
        page.kubectl_stdin("create -f -", &manifest).await?;
        pods += replicas;
    }
    for (namespace, name) in [("shop", "web"), ("shop", "cart"), ("mail", "inbox"), ("ledger", "billing")] {
        page.kubectl(&format!("rollout status -n {namespace} deployment/{name} --timeout=60s")).await?;
    }
    Ok(pods)
}
