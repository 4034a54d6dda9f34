//! Signing in and out.

use serde_json::Value;

use crate::Outcome;
use crate::page::{ENTER, ESCAPE, Page};

/// Opens the config maps of the namespace `shop`, of which there is one, `apple`, on a service that requires tokens, and
/// waits for the sign-in dialog. Returns the token of a service account that can sign in, too.
async fn open_signed_out() -> Outcome<(Page, String)> {
    let page = Page::start_with_tokens().await?;
    page.kubectl("create namespace shop").await?;
    page.create_config_map("apple").await?;
    page.kubectl("create serviceaccount visitor").await?;
    let token = page.kubectl("create token visitor").await?.trim().to_owned();
    page.open("#/r/core/v1/configmaps?ns=shop").await?;
    page.wait_for_text("dialog[open]", "Sign in").await?;
    page.wait_for_text("dialog[open]", "The server requires a token").await?;
    page.browser.wait_until("document.activeElement.type === 'password'").await?;
    page.wait_for_rows(&[]).await?;
    Ok((page, token))
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_shows_the_data_and_exposes_the_token_nowhere() -> Outcome {
    let (page, token) = open_signed_out().await?;
    page.browser.press(&format!("guessed{ENTER}")).await?;
    let rejected = "Sign-in failed: the API server rejected the token: invalid bearer token";
    page.wait_for_text("dialog[open] [role=alert]:not([hidden])", rejected).await?;
    page.wait_for_rows(&[]).await?;

    page.browser.run("document.activeElement.select()").await?;
    page.browser.press(&format!("{token}{ENTER}")).await?;
    page.wait_for_rows(&["apple"]).await?;
    page.wait_for_text("#state", "Live").await?;
    page.browser.wait_until("document.querySelector('dialog[open]') === null").await?;
    page.create_config_map("bread").await?;
    page.wait_for_rows(&["apple", "bread"]).await?;

    // The token is neither in a URL of the page or of its requests, nor anywhere that scripts can read.
    let readable =
        "return [location.href, ...performance.getEntries().map((entry) => entry.name), document.cookie,
        JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.documentElement.outerHTML]";
    let readable = page.browser.run(readable).await?;
    let readable: Vec<&str> =
        readable.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert!(readable.iter().any(|text| text.ends_with("/v1/login")), "{readable:?}");
    for text in readable {
        assert!(!text.contains(&token), "{text}");
    }

    // A reload keeps the user signed in.
    page.open("?again#/r/core/v1/configmaps?ns=shop").await?;
    page.wait_for_rows(&["apple", "bread"]).await?;
    assert_eq!(page.browser.run("return document.querySelector('dialog[open]')").await?, Value::Null);
    page.finish(&["401"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_in_dialog_can_be_dismissed_and_users_can_sign_out() -> Outcome {
    let (page, token) = open_signed_out().await?;
    page.browser.press(ESCAPE).await?;
    page.wait_for_text("#notice", "You are not signed in").await?;
    page.browser
        .wait_until("!document.querySelector('dialog') && document.querySelector('#signout').hidden")
        .await?;

    page.browser.click("#signin").await?;
    page.browser.wait_until("document.activeElement.type === 'password'").await?;
    page.browser.press(&format!("{token}{ENTER}")).await?;
    page.wait_for_rows(&["apple"]).await?;
    let signed_in = "!document.querySelector('#signout').hidden && document.querySelector('#signout').title.includes('visitor')";
    page.browser.wait_until(signed_in).await?;

    page.browser.click("#signout").await?;
    page.wait_for_text("dialog[open]", "The server requires a token").await?;
    page.wait_for_rows(&[]).await?;
    let status = "return fetch('/v1/user').then((response) => response.status)";
    assert_eq!(page.browser.run(status).await?, 401);
    page.finish(&["401"]).await
}
