//! The web page, embedded in the binary.
//!
//! Input: the files under `page/`, included at build time.
//! Output: HTTP responses at `/` and `/assets/`.
//!
//! Invariants:
//! - `page.P1`: names are looked up in a table, never on disk, so that no path leads anywhere else.
//! - `page.P2`: browsers revalidate every file, and receive only those that changed.

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

/// Returns the routes of the page's files.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/", get(|headers: HeaderMap| async move { respond("index.html", &headers) })).route(
        "/assets/{file}",
        get(|Path(name): Path<String>, headers: HeaderMap| async move { respond(&name, &headers) }),
    )
}

fn respond(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = File::find(name) else {
        return Failure::new(StatusCode::NOT_FOUND, "file not found").into_response();
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
    fn files_have_a_content_type_and_an_etag() {
        let response = respond("main.js", &HeaderMap::new());

        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(response.headers()[CACHE_CONTROL], "no-cache");
        assert!(
            response.headers()[ETAG].to_str().is_ok_and(|tag| tag.starts_with('"') && tag.ends_with('"'))
        );
    }

    #[test]
    fn unchanged_files_are_not_sent_again() {
        let tag = respond("theme.css", &HeaderMap::new()).headers()[ETAG].clone();
        let mut has = HeaderMap::new();
        has.insert(
            IF_NONE_MATCH,
            format!("\"other\", W/{}", tag.to_str().unwrap_or_default()).parse().expect("a header"),
        );

        assert_eq!(respond("theme.css", &has).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(respond("page.css", &has).status(), StatusCode::OK);
        assert_eq!(respond("theme.css", &asking("*")).status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn names_outside_the_table_are_not_found() {
        for name in ["", "other.js", "../index.html", "..", "/etc/passwd", "main.js/", "MAIN.JS"] {
            assert_eq!(respond(name, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
