//! The table: live rows, pausing, filters, namespaces and sort order.

use crate::Outcome;
use crate::page::{ENTER, ESCAPE, Page, ROWS, config_map};

#[tokio::test(flavor = "multi_thread")]
async fn the_table_shows_changes_as_they_happen() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.open("#/r/core/v1/configmaps?ns=shop").await?;
    page.wait_for_text("#state", "Live").await?;
    page.browser.wait_until("document.querySelector('#count').textContent !== ''").await?;

    for (name, labels) in [("apple", "{fruit: 'yes'}"), ("bread", "{}"), ("cherry", "{fruit: 'yes'}")] {
        page.kubectl_stdin("create -n shop -f -", &config_map(name, labels, "{a: b}")).await?;
    }
    page.wait_for_rows(&["apple", "bread", "cherry"]).await?;
    page.wait_for_text("#count", "4").await?;

    // A change updates the existing row, which flashes.
    page.kubectl_stdin("patch -n shop configmap bread --patch-file /dev/stdin", "data: {more: x, most: z}")
        .await?;
    let bread = "[...document.querySelectorAll('.row:not([hidden])')].find((row) => row.dataset.key === 'shop/bread')";
    page.browser
        .wait_until(&format!(
            "{bread}.textContent.startsWith('bread3') && {bread}.classList.contains('flash')"
        ))
        .await?;
    page.kubectl("delete -n shop configmap bread").await?;
    page.wait_for_rows(&["apple", "cherry"]).await?;
    page.kubectl_stdin("create -n shop -f -", &config_map("bread", "{}", "{a: b}")).await?;
    page.wait_for_rows(&["apple", "bread", "cherry"]).await?;

    // The search matches names, cells and labels, also of rows that change later.
    page.browser.press("/").await?;
    page.browser.press("fruit=yes").await?;
    page.wait_for_rows(&["apple", "cherry"]).await?;
    page.wait_for_text("#count", "2 of 4").await?;
    page.kubectl("label -n shop configmap bread fruit=yes").await?;
    page.wait_for_rows(&["apple", "bread", "cherry"]).await?;
    page.browser.press(" !app").await?;
    page.wait_for_rows(&["bread", "cherry"]).await?;
    page.browser.press(ESCAPE).await?;
    page.wait_for_rows(&["apple", "bread", "cherry"]).await?;
    page.browser.press("/nothing").await?;
    page.wait_for_text("#notice", "Nothing matches").await?;
    page.browser.press(ESCAPE).await?;

    // A click on a column header sorts, ascending first.
    page.browser.click("[data-column=Name]").await?;
    page.browser.wait_until("document.querySelector('[aria-sort=ascending]')").await?;
    page.wait_for_rows(&["apple", "bread", "cherry"]).await?;
    page.browser.click("[data-column=Name]").await?;
    page.wait_for_rows(&["cherry", "bread", "apple"]).await?;

    // The server evaluates label selectors, and its error for an invalid one is shown.
    page.browser.press("l").await?;
    page.browser.press(&format!("fruit=no{ENTER}")).await?;
    page.wait_for_text("#notice", "No configmaps match these labels").await?;
    page.open("#/r/core/v1/configmaps?ns=shop&l=a%20b%20c").await?;
    page.wait_for_text("#notice", "Invalid request").await?;
    page.browser
        .wait_until("document.querySelector('#labels').getAttribute('aria-invalid') === 'true'")
        .await?;
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pausing_buffers_updates_and_counts_them() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.create_config_map("apple").await?;
    page.open("#/r/core/v1/configmaps?ns=shop").await?;
    page.wait_for_rows(&["apple"]).await?;

    page.browser.press("p").await?;
    page.wait_for_text("#state", "Paused").await?;
    page.kubectl("delete -n shop configmap apple").await?;
    page.create_config_map("bread").await?;
    page.wait_for_text("#pause", "2 held").await?;
    page.wait_for_rows(&["apple"]).await?;

    page.browser.click("#pause").await?;
    page.wait_for_rows(&["bread"]).await?;
    page.wait_for_text("#state", "Live").await?;
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_does_not_filter_cluster_scoped_kinds() -> Outcome {
    let page = Page::start().await?;
    page.kubectl("create namespace shop").await?;
    page.open("#/r/core/v1/nodes?ns=shop").await?;
    let nodes = page.kubectl("get nodes -o name").await?.lines().count();
    assert!(nodes > 0);
    page.browser.wait_until(&format!("{ROWS}.length === {nodes}")).await?;
    page.wait_for_text("#namespace .value", "none").await?;
    page.browser.wait_until("document.querySelector('#namespace').disabled").await?;
    page.browser.wait_until("document.querySelector('#grid').getAttribute('aria-label') === 'nodes'").await?;
    // The next table of a namespaced kind uses the namespace again.
    page.browser.press("gp").await?;
    page.wait_for_text("#namespace .value", "shop").await?;
    page.wait_for_text("#notice", "No pods in namespace shop").await?;
    page.finish(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sort_arrow_shows_the_current_order() -> Outcome {
    let page = Page::start().await?;
    for (namespace, name) in [("beach", "apple"), ("attic", "cherry"), ("attic", "bread")] {
        let _ = page.kubectl(&format!("create namespace {namespace}")).await; // the namespace may exist
        page.kubectl_stdin(&format!("create -n {namespace} -f -"), &config_map(name, "{our: 'yes'}", "{}"))
            .await?;
    }
    let sorted = |column: &str, order: &str| {
        format!(
            "document.querySelector('[aria-sort]:has([data-column=\"{column}\"])').getAttribute('aria-sort') === '{order}'"
        )
    };
    // The initial order is by namespace and name, so no column has an arrow.
    page.open("#/r/core/v1/configmaps?l=our").await?;
    page.wait_for_rows(&["bread", "cherry", "apple"]).await?;
    page.browser
        .wait_until("!document.querySelector('[aria-sort=ascending], [aria-sort=descending]')")
        .await?;
    for (column, order, rows) in [
        ("Name", "ascending", ["apple", "bread", "cherry"]),
        ("Name", "descending", ["cherry", "bread", "apple"]),
        ("Namespace", "ascending", ["bread", "cherry", "apple"]),
        ("Namespace", "descending", ["apple", "bread", "cherry"]),
        ("Age", "ascending", ["bread", "cherry", "apple"]),
    ] {
        page.browser.click(&format!("[data-column={column}]")).await?;
        if column != "Age" {
            page.wait_for_rows(&rows).await?;
        }
        page.browser.wait_until(&sorted(column, order)).await?;
        let arrows =
            "document.querySelectorAll('[aria-sort=ascending], [aria-sort=descending]').length === 1";
        page.browser.wait_until(arrows).await?;
    }

    // The page names the unknown column and shows the others.
    page.open("#/r/core/v1/configmaps?l=our&cols=Name,Colour&sort=-Weight").await?;
    page.wait_for_text(
        "#problem",
        "Unknown column “Colour”, “Weight”: configmaps have Name, Namespace, Data, Age.",
    )
    .await?;
    page.wait_for_rows(&["bread", "cherry", "apple"]).await?;
    page.open("#/r/core/v1/configmaps?l=our&cols=Name,Data&sort=-Name").await?;
    page.wait_for_rows(&["cherry", "bread", "apple"]).await?;
    page.browser.wait_until("document.querySelector('#problem').hidden").await?;
    page.finish(&[]).await
}
