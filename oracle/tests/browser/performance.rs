//! Loading and searching many rows.

use serde_json::json;

use crate::Outcome;
use crate::page::Page;

/// Measures the time to the first rows, and from a keystroke in the search field to its result.
///
/// The table has 2,000 pods, or `WATCHKEEPER_PAGE_PODS`. The printed times are differences of `performance.now()` in the
/// browser: from the start of the navigation to the first rows and to all rows, and from a keystroke to the frame with
/// the matching rows. Starting the browser and the informers is not counted.
#[tokio::test(flavor = "multi_thread")]
async fn first_content_and_search_with_many_pods_keep_few_rows_in_the_dom() -> Outcome {
    let count = std::env::var("WATCHKEEPER_PAGE_PODS").map_or(Ok(2_000), |count| count.parse())?;
    let page = Page::start().await?;
    page.environment.create_pods(count).await?;
    let all_counted =
        format!("document.querySelector('#count').textContent === '{count}'.replace(/(?=(\\d{{3}})$)/, ',')");
    page.open("#/r/core/v1/pods").await?;
    page.browser.wait_until(&all_counted).await?;

    page.open("?again#/r/core/v1/pods").await?;
    page.browser.wait_until(&all_counted).await?;
    let first = page.browser.run("return performance.getEntriesByName('first-rows')[0].startTime").await?;
    let all = page.browser.run("return performance.now()").await?;
    println!(
        "{count} pods: first rows after {:.0} ms, all rows after {:.0} ms",
        first.as_f64().unwrap(),
        all.as_f64().unwrap()
    );
    assert!(
        page.browser.run("return document.querySelectorAll('.row').length").await?.as_u64().unwrap() < 100
    );

    let typed = "
        const search = document.getElementById('search');
        const times = [];
        for (const text of ['w', 'we', 'web', 'web-0', 'web-00', '', 'zone=z3', 'zone=z3 app=mail', '!web', '']) {
            const start = performance.now();
            search.value = text;
            search.dispatchEvent(new Event('input'));
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
            times.push([text, performance.now() - start, document.getElementById('count').textContent]);
        }
        return times;";
    let times = page.browser.run_async(typed, &json!([])).await?;
    for time in times.as_array().unwrap() {
        println!("{count} pods: {} shows {} after {:.1} ms", time[0], time[2], time[1].as_f64().unwrap());
    }
    let found =
        |text: &str| times.as_array().unwrap().iter().find(|time| time[0] == text).unwrap()[2].clone();
    assert!(found("web").as_str().unwrap().contains(" of "));
    page.finish(&[]).await
}
