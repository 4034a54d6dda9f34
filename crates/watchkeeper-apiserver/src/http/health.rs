//! Health endpoints: serves [`Health`] over HTTP.

use http::StatusCode;
use watchkeeper_core::Health;

use super::query::Query;
use super::respond::Response;

/// Returns the response if the path is a health endpoint.
pub(crate) fn answer(health: &Health, path: &str, query: &Query) -> Option<Response> {
    let excluded: Vec<&str> = query.all("exclude").collect();
    let answer = health.answer(path, &excluded, query.first("verbose").is_some())?;
    Some(match (answer.is_healthy, answer.is_single) {
        (true, true) => Response::sniffed(StatusCode::OK, answer.text),
        (true, false) => Response::text(StatusCode::OK, answer.text),
        (false, _) => Response::text(StatusCode::INTERNAL_SERVER_ERROR, answer.text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::outgoing::Ends;
    use http_body_util::BodyExt as _;

    async fn get(uri: &str) -> Option<(u16, String, bool)> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let response = answer(&Health::default(), path, &Query::parse(query))?;
        let response = response.into_http("id".parse().unwrap(), false, Ends::default());
        let (code, sniffed) =
            (response.status().as_u16(), !response.headers().contains_key("x-content-type-options"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Some((code, String::from_utf8(body.to_vec()).unwrap(), sniffed))
    }

    #[tokio::test]
    async fn health_honours_exclude_and_verbose() {
        assert_eq!(get("/livez").await, Some((200, "ok".to_owned(), false)));
        let expected = "[+]ping excluded: ok\nreadyz check passed\n".to_owned();
        assert_eq!(get("/readyz?exclude=%70ing&verbose=false").await, Some((200, expected, false)));
        assert_eq!(get("/readyz/ping").await, Some((200, "ok".to_owned(), true)));
        assert_eq!(get("/readyz/bogus").await, None);
    }
}
