//! Failing, panicking and hanging calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use watchkeeper_controller::{Action, Controller, Request, TerminalError};
use watchkeeper_metrics::Registry;
use watchkeeper_testkit::script::{List, Watch};
use watchkeeper_workqueue::limit::Exponential;

use crate::{Calls, SECOND, after, shop, shops};

fn limiter() -> Exponential<watchkeeper_core::ObjectKey> {
    Exponential::new(SECOND, SECOND * 100)
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_retried_with_backoff_until_it_succeeds() {
    let watch = Watch::new().wait(SECOND * 20).modified(shop("a", 2, 1));
    let shops = shops(List::at(1).item(shop("a", 1, 1)), watch);
    let calls = Calls::new();
    let noted = calls.clone();
    let reconcile = move |request: Request, _| {
        noted.note(&request);
        let call = noted.all().len();
        assert_eq!(request.failures(), [0, 1, 2, 3, 0, 1][call - 1]);
        std::future::ready(match call {
            1..=3 | 5 => Err(std::io::Error::other("not now").into()),
            _ => Ok(Action::await_change()),
        })
    };
    Controller::new("shops", &shops).limiter(limiter()).run(reconcile, Arc::new(()), after(30)).await;
    assert_eq!(calls.all(), ["a@0", "a@1", "a@3", "a@7", "a@20", "a@21"]);
}

#[tokio::test(start_paused = true)]
async fn a_terminal_error_waits_for_a_change() {
    let watch = Watch::new().wait(SECOND * 20).modified(shop("a", 2, 1));
    let shops = shops(List::at(1).item(shop("a", 1, 1)), watch);
    let calls = Calls::new();
    let noted = calls.clone();
    let reconcile = move |request: Request, _| {
        noted.note(&request);
        std::future::ready(Err(TerminalError::new("invalid spec").into()))
    };
    Controller::new("shops", &shops).run(reconcile, Arc::new(()), after(30)).await;
    assert_eq!(calls.all(), ["a@0", "a@20"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_or_hangs_is_retried_and_other_keys_continue() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)).item(shop("b", 1, 1)), Watch::new());
    let registry = Registry::new();
    let calls = Calls::new();
    let noted = calls.clone();
    let times = AtomicU32::new(0);
    let reconcile = move |request: Request, _| {
        noted.note(&request);
        let time = if request.key().name() == "a" { times.fetch_add(1, Ordering::SeqCst) } else { 9 };
        async move {
            match time {
                0 => std::panic::resume_unwind(Box::new("injected panic")),
                1 => std::future::pending().await,
                _ => Ok(Action::await_change()),
            }
        }
    };
    let controller = Controller::new("shops", &shops).limiter(limiter()).timeout(Duration::from_secs(10));
    controller.metrics(&registry).unwrap().run(reconcile, Arc::new(()), after(30)).await;
    // Panicked at once, hung from 1 to 11, and was retried 2 seconds later.
    assert_eq!(calls.all(), ["a@0", "b@0", "a@1", "a@13"]);
    let page = registry.render();
    for (result, count) in [("panic", 1), ("timeout", 1), ("success", 2)] {
        let line =
            format!("controller_reconcile_total{{controller=\"shops\",result=\"{result}\"}} {count}\n");
        assert!(page.contains(&line), "{line}{page}");
    }
    assert!(page.contains("controller_active_workers{controller=\"shops\"} 0\n"), "{page}");
    assert!(page.contains("workqueue_retries_total{name=\"shops\"} 2\n"), "{page}");
}
