//! Keyboard navigation and URLs.

use crate::Outcome;
use crate::page::{DOWN, END, ENTER, ESCAPE, HOME, Page, ROWS, is_current_row};

#[tokio::test(flavor = "multi_thread")]
async fn every_control_is_reachable_by_keyboard() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.kubectl("create namespace store").await?;
    for name in ["apple", "bread", "cherry"] {
        page.create_config_map(name).await?;
    }
    page.open("").await?;
    page.wait_for_text("#state", "Live").await?;

    // Choose the resource and the namespace by typing their names.
    page.browser.wait_until("document.querySelector('#cluster').textContent.includes('Kubernetes')").await?;
    page.browser.press("r").await?;
    page.browser.press("cm").await?;
    page.wait_for_text(".picker:popover-open .pointed", "configmaps").await?;
    page.browser.press(ENTER).await?;
    page.wait_for_text("#resource .value", "configmaps").await?;
    page.browser.press("n").await?;
    page.browser.press("sho").await?;
    page.browser.press(ENTER).await?;
    page.wait_for_rows(&["apple", "bread", "cherry"]).await?;

    // Move through the rows, and open an object.
    page.browser.press("jj").await?;
    page.browser.wait_until(&is_current_row("bread")).await?;
    page.browser.press(DOWN).await?;
    page.browser.wait_until(&is_current_row("cherry")).await?;
    page.browser.press("k").await?;
    page.browser.wait_until(&is_current_row("bread")).await?;
    page.browser.wait_until("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.dataset.key === 'shop/bread'").await?;
    page.browser.press(ENTER).await?;
    page.wait_for_text("#object h2", "bread").await?;
    page.browser.press(ESCAPE).await?;
    page.browser
        .wait_until("!document.querySelector('#object') && document.activeElement.id === 'grid'")
        .await?;

    // An open dialog traps the focus, and restores it when closed.
    page.browser.press("?").await?;
    page.wait_for_text("dialog[open]", "Search cells and labels").await?;
    page.browser.wait_until("document.querySelector('dialog').contains(document.activeElement)").await?;
    page.browser.press(ESCAPE).await?;
    page.browser
        .wait_until("!document.querySelector('dialog') && document.activeElement.id === 'grid'")
        .await?;

    // Show one more column, which becomes part of the URL.
    page.browser.press("c").await?;
    page.browser.click("dialog input[value=Namespace]").await?;
    page.browser.press(ESCAPE).await?;
    page.browser.wait_until("document.querySelector('.head').textContent.includes('Namespace') && location.hash.includes('cols=')").await?;

    // A shortcut of two keys.
    page.browser.press("gd").await?;
    page.wait_for_text("#resource .value", "deployments").await?;
    page.wait_for_text("#namespace .value", "shop").await?;
    page.wait_for_text("#notice", "No deployments in namespace shop").await?;
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_move_through_rows_and_the_open_object_follows() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    for number in 10..70 {
        page.kubectl(&format!("create configmap -n shop m-{number}")).await?;
    }
    page.open("#/r/core/v1/configmaps?ns=shop&q=m-").await?;
    page.browser.wait_until(&format!("{ROWS}[0] === 'm-10'")).await?;

    // Without a current row, End goes to the last row and Home to the first.
    page.browser.press(END).await?;
    page.browser.wait_until(&is_current_row("m-69")).await?;
    page.browser.press(HOME).await?;
    page.browser.wait_until(&is_current_row("m-10")).await?;
    page.browser.press("j").await?;
    page.browser.press(ENTER).await?;
    page.wait_for_text("#object h2", "m-11").await?;

    // While an object is open, moving to another row opens its object and changes the URL.
    page.browser.press("j").await?;
    page.wait_for_text("#object h2", "m-12").await?;
    page.browser.wait_until(&is_current_row("m-12")).await?;
    page.browser.wait_until("location.hash.startsWith('#/o/core/v1/configmaps/shop/m-12')").await?;
    page.browser.press("kk").await?;
    page.wait_for_text("#object h2", "m-10").await?;
    page.browser.press(END).await?;
    page.wait_for_text("#object h2", "m-69").await?;

    // The keys work with the focus in the panel too, except those that scroll the panel.
    page.browser.run("document.querySelector('#panel').focus()").await?;
    page.browser.press("k").await?;
    page.wait_for_text("#object h2", "m-68").await?;
    page.browser.wait_until("document.querySelector('#object').contains(document.activeElement)").await?;
    page.browser.press(HOME).await?;
    page.browser.press("2").await?; // once its effect is visible, Home has been handled
    page.wait_for_text("#panel", "No changes yet").await?;
    page.wait_for_text("#object h2", "m-68").await?;

    // On a page opened with the URL of an object, moving starts from that object.
    page.browser.press(ESCAPE).await?;
    page.open("?again#/o/core/v1/configmaps/shop/m-20?ns=shop&q=m-").await?;
    page.wait_for_text("#object h2", "m-20").await?;
    page.browser.wait_until(&format!("{ROWS}[0] === 'm-10'")).await?;
    page.browser.press("j").await?;
    page.wait_for_text("#object h2", "m-21").await?;
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_has_a_url_that_restores_it() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    for name in ["apple", "bread"] {
        page.create_config_map(name).await?;
    }
    page.open("#/r/core/v1/configmaps?ns=shop&q=bread").await?;
    page.wait_for_rows(&["bread"]).await?;
    page.browser.wait_until("document.querySelector('#search').value === 'bread'").await?;
    page.browser.click(".row:not([hidden])").await?;
    page.wait_for_text("#object h2", "bread").await?;
    let hash = page.browser.run("return location.hash").await?;
    assert_eq!(hash, "#/o/core/v1/configmaps/shop/bread?ns=shop&q=bread");
    page.browser.back().await?;
    page.browser.wait_until("!document.querySelector('#object')").await?;
    page.wait_for_rows(&["bread"]).await?;

    page.open("#/o/core/v1/configmaps/shop/apple?tab=tree").await?;
    page.wait_for_text("#panel .tree", "apple").await?;
    page.open("#/o/core/v1/configmaps/shop/missing").await?;
    page.wait_for_text("#panel", "Not found").await?;
    page.open("#/r/example.org/v1/nothings").await?;
    page.wait_for_text("#notice", "Not found").await?;
    page.finish(&[]).await
}
