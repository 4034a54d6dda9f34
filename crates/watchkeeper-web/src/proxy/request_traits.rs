//! Classification of request paths.

use watchkeeper_core::Status;

/// Subresources for which the API server opens a connection to a pod, service or node.
const CONNECTIONS: [&str; 4] = ["exec", "attach", "portforward", "proxy"];
/// Resources that have them.
const CONNECTED: [&str; 3] = ["pods", "services", "nodes"];

/// Subresources of namespaces, which could be mistaken for a resource in the namespace.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];

/// Properties of a request, by its path and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestTraits {
    /// Whether it opens a connection to a pod, service or node.
    pub(super) connects: bool,
    /// Whether it is for Secrets or a service account token.
    pub(super) secret: bool,
    /// Whether the response streams until the client disconnects.
    pub(super) is_stream: bool,
}

impl RequestTraits {
    /// Classifies a path as the API server does: percent-encoded characters are decoded, including slashes. `.` and
    /// `..` segments are rejected.
    pub(super) fn read(path: &str, query: &str) -> Result<Self, Box<Status>> {
        let bad = || Box::new(Status::bad_request("invalid path"));
        let path = decoded(path).ok_or_else(bad)?;
        let all: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let segments: Vec<&[u8]> = all.iter().copied().filter(|part| !part.is_empty()).collect();
        if segments.iter().any(|part| matches!(*part, b"." | b"..")) {
            return Err(bad());
        }
        let is = |part: &[u8], words: &[&str]| words.iter().any(|word| word.as_bytes() == part);
        // .../pods/name/exec, also of the old /api/v1/proxy/nodes/name
        let connects =
            segments.windows(3).any(|three| is(three[0], &CONNECTED) && is(three[2], &CONNECTIONS))
                || segments.starts_with(&[b"api", b"v1", b"proxy"]);
        Ok(Self {
            connects,
            // The API server keeps empty segments (`/namespaces//secrets` lists all namespaces); a proxy in front of it
            // may drop them.
            secret: is_secret(&segments) || is_secret(&all[1.min(all.len())..]),
            is_stream: is_stream_query(query) || segments.get(2).is_some_and(|part| *part == b"watch"),
        })
    }
}

/// Returns whether a path is for Secrets or a service account token, parsed like the API server's RequestInfo:
/// `api/v1/[watch/][namespaces/NAME/]RESOURCE[/NAME[/SUBRESOURCE]]`.
fn is_secret(segments: &[&[u8]]) -> bool {
    let is = |part: Option<&&[u8]>, word: &str| {
        part.is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    if !is(segments.first(), "api") {
        return false;
    }
    let mut rest = segments.get(2..).unwrap_or_default();
    if is(rest.first(), "watch") || is(rest.first(), "proxy") {
        rest = &rest[1..];
    }
    let of_namespace = OF_NAMESPACES.iter().any(|word| is(rest.get(2), word));
    if is(rest.first(), "namespaces") && rest.len() > 2 && !of_namespace {
        rest = &rest[2..];
    }
    is(rest.first(), "secrets") || is(rest.first(), "serviceaccounts") && is(rest.get(2), "token")
}

/// Returns whether a query is for a watch, or a log that is followed.
fn is_stream_query(query: &str) -> bool {
    query.split('&').filter_map(|pair| pair.split_once('=').or(Some((pair, "")))).any(|(name, value)| {
        matches!(name, "watch" | "follow") && !matches!(value, "0" | "false" | "False" | "FALSE" | "f" | "F")
    })
}

/// Decodes percent-encoded characters; `None` if the encoding is invalid.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit =
                    || char::from(bytes.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (high, low) = (digit()?, digit()?);
                high << 4 | low
            }
            byte => byte,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connects(path: &str) -> bool {
        RequestTraits::read(path, "").unwrap().connects
    }

    #[test]
    fn connections_to_pods_services_and_nodes_are_recognized() {
        for path in [
            "/api/v1/namespaces/a/pods/b/exec",
            "/api/v1/namespaces/a/pods/b/attach",
            "/api/v1/namespaces/a/pods/b/portforward",
            "/api/v1/namespaces/a/pods/b/proxy",
            "/api/v1/namespaces/a/pods/http:b:80/proxy/some/page",
            "/api/v1/namespaces/a/services/b/proxy/",
            "/api/v1/nodes/n/proxy/logs",
            "/api/v1/namespaces/a/pods/b/%65xec",
            "/api/v1/namespaces/a/pods%2fb%2Fexec",
            "//api//v1/namespaces/a/pods/b//exec",
            "/api/v1/proxy/nodes/n",
        ] {
            assert!(connects(path), "{path}");
        }
        for path in
            ["/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods/exec", "/api/v1/namespaces/a/pods/b/log"]
        {
            assert!(!connects(path), "{path}");
        }
    }

    #[test]
    fn secrets_and_tokens_are_recognized_however_the_path_is_written() {
        let secret = |path: &str| RequestTraits::read(path, "").unwrap().secret;
        for path in [
            "/api/v1/secrets",
            "/api/v1/secrets/",
            "/api/v1//secrets",
            "//api/v1/secrets",
            "/api/v1/secrets/any",
            "/api/v1/namespaces/a/secrets",
            "/api/v1/namespaces/a/secrets/",
            "/api/v1/namespaces/a/secrets/b",
            "/api/v1/namespaces/a/secrets/b/status",
            "/api/v1/namespaces//secrets",
            "/api/v1/namespaces//secrets/b",
            "/api/v1/namespaces//a/secrets",
            "/api/v1/namespaces/a//secrets//b",
            "/api/v1/namespaces/a/%73ecrets",
            "/api/v1/namespaces/a/%73%65%63%72%65%74%73/b",
            "/api/v1/namespaces/a%2fsecrets%2Fb",
            "/api/v1%2Fsecrets",
            "/api/v1/SECRETS",
            "/api/v1/Namespaces/a/Secrets/b",
            "/api/v1/watch/secrets",
            "/api/v1/watch/namespaces/a/secrets",
            "/api/v1/watch/namespaces/a/secrets/b",
            "/api/v1/namespaces/status/secrets",
            "/api/v1/namespaces/a/serviceaccounts/b/token",
            "/api/v1/namespaces/a/serviceaccounts/b/%74oken/",
            "/api/v1/namespaces/a//serviceaccounts/b/token",
        ] {
            assert!(secret(path), "{path}");
        }
        for path in [
            "/api",
            "/api/v1",
            "/api/v1/pods",
            "/api/v1/namespaces/secrets",
            "/api/v1/namespaces/secrets/pods",
            "/api/v1/namespaces/secrets/status",
            "/api/v1/namespaces/a/configmaps/secrets",
            "/api/v1/namespaces/a/serviceaccounts/token",
            "/api/v1/namespaces/a/serviceaccounts/b",
            "/apis/example.com/v1/secrets",
            "/openapi/v3/api/v1",
        ] {
            assert!(!secret(path), "{path}");
        }
    }

    #[test]
    fn dot_segments_and_invalid_encodings_are_rejected() {
        for path in [
            "/api/../etc",
            "/api/v1/%2e%2e/x",
            "/api/v1/..%2fx",
            "/api/./v1",
            "/api/%",
            "/api/%4",
            "/api/%zz",
        ] {
            assert_eq!(RequestTraits::read(path, "").unwrap_err().code, 400, "{path}");
        }
    }

    #[test]
    fn watches_and_followed_logs_are_streams() {
        for (query, expected) in [
            ("watch=1", true),
            ("limit=1&watch=true", true),
            ("watch", true),
            ("follow=true", true),
            ("watch=false", false),
            ("watch=0", false),
            ("", false),
            ("labelSelector=watch", false),
        ] {
            assert_eq!(RequestTraits::read("/api/v1/pods", query).unwrap().is_stream, expected, "{query}");
        }
        assert!(RequestTraits::read("/api/v1/watch/pods", "").unwrap().is_stream);
    }
}
