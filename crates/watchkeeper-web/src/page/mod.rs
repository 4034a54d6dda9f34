//! Page: the live page, as it lies in the binary.
//!
//! From: the files under `page/`, taken in when this crate is built.
//! To:   browsers, at `/` and `/assets/`.
//!
//! - G1: a name is looked up in a table, and never on a disk: there is no path that leads anywhere else.
//! - G2: a browser asks each time whether it has the newest file, and is sent only what it has not.

mod files;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::envelope::Failure;
use crate::etag::is_known;
use files::File;

/// The routes of the page's files.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/", get(|headers: HeaderMap| async move { answer("index.html", &headers) })).route(
        "/assets/{file}",
        get(|Path(name): Path<String>, headers: HeaderMap| async move { answer(&name, &headers) }),
    )
}

fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = File::find(name) else {
        return Failure::new(StatusCode::NOT_FOUND, "the page has no such file").into_response();
    };
    let caching = [(ETAG, file.etag()), (CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    if is_known(headers, &file.etag()) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(CONTENT_TYPE, HeaderValue::from_static(file.content_type()))], file.content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::IF_NONE_MATCH;

    fn asking(tags: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(tags))])
    }

    #[test]
    fn a_file_comes_with_its_type_and_a_tag() {
        let response = answer("main.js", &HeaderMap::new());

        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(response.headers()[CACHE_CONTROL], "no-cache");
        assert!(
            response.headers()[ETAG].to_str().is_ok_and(|tag| tag.starts_with('"') && tag.ends_with('"'))
        );
    }

    #[test]
    fn what_a_browser_has_is_not_sent_again() {
        let tag = answer("theme.css", &HeaderMap::new()).headers()[ETAG].clone();
        let mut has = HeaderMap::new();
        has.insert(
            IF_NONE_MATCH,
            format!("\"other\", W/{}", tag.to_str().unwrap_or_default()).parse().expect("a header"),
        );

        assert_eq!(answer("theme.css", &has).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(answer("page.css", &has).status(), StatusCode::OK);
        assert_eq!(answer("theme.css", &asking("*")).status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn a_name_outside_the_table_is_not_found() {
        for name in ["", "other.js", "../index.html", "..", "/etc/passwd", "main.js/", "MAIN.JS"] {
            assert_eq!(answer(name, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
