//! HTTP cache: stores responses with an ETag and revalidates them.
//!
//! The files are those of client-go's cache, so that kubectl and we can use each other's: named
//! `<sha256 of the URL>`, with the SHA-256 of the rest followed by an HTTP/1.1 response.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, ETAG, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, Uri};
use ring::digest::{SHA256, digest};

use super::aggregated::{self, ACCEPT, ACCEPT_OF_KUBECTL};
use super::files;

/// Length of a SHA-256 digest, in bytes.
const SUM: usize = 32;

/// The header in which client-go stores the `Accept` header of the request.
const VARIED_ACCEPT: &str = "x-varied-accept";

/// A cache of one server's responses. Several servers may share the directory.
#[derive(Debug, Clone)]
pub struct HttpCache {
    directory: PathBuf,
    server: String,
}

/// A cached response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CachedResponse {
    pub(super) etag: String,
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

impl HttpCache {
    /// Creates a cache of this server's responses in `directory`; kubectl's is
    /// [`CacheDirectories::http`](super::CacheDirectories::http).
    pub fn new(directory: impl Into<PathBuf>, server: &Uri) -> Self {
        let server = server.to_string().trim_end_matches('/').to_owned();
        Self { directory: directory.into(), server }
    }

    /// Returns the cached response for a path and query, if it was requested with the same `Accept` header.
    pub(super) async fn read(&self, path: &str, accept: &str) -> Option<CachedResponse> {
        let (file, accept) = (self.file(path), accept.to_owned());
        let read = move || {
            let bytes = files::read_within(&file, Duration::MAX)?;
            let (sum, response) = bytes.split_at_checked(SUM)?;
            (digest(&SHA256, response).as_ref() == sum).then(|| parse(response, &accept))?
        };
        tokio::task::spawn_blocking(read).await.ok()?
    }

    /// Stores a response, if it has an ETag and may be stored. A write error is logged and otherwise ignored.
    pub(super) async fn write(&self, path: &str, accept: &str, headers: &HeaderMap, body: &Bytes) {
        let is_forbidden = aggregated::text(headers.get(CACHE_CONTROL)).contains("no-store");
        if is_forbidden || !headers.contains_key(ETAG) {
            return;
        }
        let response = serialize(accept, headers, body);
        let mut bytes = digest(&SHA256, &response).as_ref().to_vec();
        bytes.extend_from_slice(&response);
        let (file, temporary) = (self.file(path), self.directory.join(".diskv-temp"));
        let write = move || {
            if let Err(error) = files::replace(&file, &temporary, &bytes) {
                tracing::debug!(file = %file.display(), %error, "failed to write HTTP cache");
            }
        };
        let _ = tokio::task::spawn_blocking(write).await; // fails only when the runtime shuts down
    }

    fn file(&self, path: &str) -> PathBuf {
        file(&self.directory, &format!("{}{path}", self.server))
    }
}

/// Returns the file for a URL.
fn file(directory: &Path, url: &str) -> PathBuf {
    let sum = digest(&SHA256, url.as_bytes());
    let name: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    directory.join(name)
}

/// Returns the `Accept` header to store. Where the server chose the form that kubectl prefers too, or the plain form,
/// kubectl's request would have had the same response.
fn varied<'a>(accept: &'a str, content_type: &str) -> &'a str {
    if accept == ACCEPT && aggregated::version_of(content_type) != Some("v2beta1") {
        ACCEPT_OF_KUBECTL
    } else {
        accept
    }
}

/// Serializes a response as HTTP/1.1.
fn serialize(accept: &str, headers: &HeaderMap, body: &Bytes) -> Vec<u8> {
    let mut response = b"HTTP/1.1 200 OK\r\n".to_vec();
    let mut line = |name: &str, value: &[u8]| {
        response.extend_from_slice(name.as_bytes());
        response.extend_from_slice(b": ");
        response.extend_from_slice(value);
        response.extend_from_slice(b"\r\n");
    };
    let is_hop_by_hop = |name: &HeaderName| {
        *name == CONTENT_LENGTH
            || *name == TRANSFER_ENCODING
            || ["connection", "keep-alive", "upgrade", "trailer", "te"].contains(&name.as_str())
    };
    for (name, value) in headers.iter().filter(|(name, _)| !is_hop_by_hop(name)) {
        line(name.as_str(), value.as_bytes());
    }
    let content_type = aggregated::text(headers.get(http::header::CONTENT_TYPE));
    line(VARIED_ACCEPT, varied(accept, content_type).as_bytes());
    line("content-length", body.len().to_string().as_bytes());
    response.extend_from_slice(b"\r\n");
    response.extend_from_slice(body);
    response
}

/// Parses a response; `None` if it is invalid or was requested with another `Accept` header.
fn parse(response: &[u8], accept: &str) -> Option<CachedResponse> {
    let end = response.windows(4).position(|four| four == b"\r\n\r\n")?;
    let mut lines = std::str::from_utf8(&response[..end]).ok()?.split("\r\n");
    let mut status = lines.next()?.split(' ');
    if !status.next()?.starts_with("HTTP/") || status.next()? != "200" {
        return None;
    }
    let (mut etag, mut content_type, mut accepted, mut length, mut chunked) = (None, "", None, None, false);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "etag" => etag = Some(value),
            "content-type" => content_type = value,
            VARIED_ACCEPT => accepted = Some(value),
            "content-length" => length = Some(value.parse::<usize>().ok()?),
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    if accepted.is_some_and(|accepted| accepted != accept && accepted != varied(accept, content_type)) {
        return None;
    }
    let body = &response[end + 4..];
    let body = if chunked {
        Bytes::from(dechunk(body)?)
    } else if length.is_some_and(|length| length != body.len()) {
        return None;
    } else {
        Bytes::copy_from_slice(body)
    };
    Some(CachedResponse { etag: etag?.to_owned(), content_type: content_type.to_owned(), body })
}

/// Decodes a chunked body.
fn dechunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&body[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        body = &body[end + 2..];
        if size == 0 {
            return Some(content);
        }
        content.extend_from_slice(body.get(..size)?);
        body = body.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

    fn headers(content_type: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", content_type.parse().unwrap());
        headers.insert("etag", "\"AB\"".parse().unwrap());
        headers.insert("transfer-encoding", "chunked".parse().unwrap());
        headers.insert("vary", "Accept".parse().unwrap());
        headers
    }

    #[test]
    fn responses_written_by_kubectl_are_read() {
        let plain = format!(
            "HTTP/2.0 200 OK\r\nConnection: close\r\nContent-Type: {V2}\r\nEtag: \"AB\"\r\n\
             Vary: Accept\r\nX-From-Cache: 1\r\nX-Varied-Accept: {ACCEPT_OF_KUBECTL}\r\n\r\n{{}}"
        );
        let cached = parse(plain.as_bytes(), ACCEPT).unwrap();
        assert_eq!(
            (cached.etag.as_str(), cached.content_type.as_str(), &*cached.body),
            ("\"AB\"", V2, &b"{}"[..])
        );
        assert_eq!(parse(plain.as_bytes(), "application/json"), None, "requested with another Accept header");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nEtag: x\r\n\r\n2\r\n{\"\r\n3;a=b\r\na\"}\r\n0\r\n\r\n";
        assert_eq!(&*parse(chunked.as_bytes(), ACCEPT).unwrap().body, b"{\"a\"}");
        for broken in [
            "HTTP/1.1 404 Not Found\r\nEtag: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nno etag",
            "HTTP/1.1 200 OK\r\nEtag: x\r\nContent-Length: 3\r\n\r\n1",
            "HTTP/1.1 200 OK\r\nEtag: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n1",
            "HTTP/1.1 200 OK\r\nEtag: x",
        ] {
            assert_eq!(parse(broken.as_bytes(), ACCEPT), None, "{broken:?}");
        }
    }

    #[test]
    fn responses_that_kubectl_would_have_received_are_stored_for_kubectl() {
        let written =
            |content_type: &str| serialize(ACCEPT, &headers(content_type), &Bytes::from_static(b"x"));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let line = format!("\r\nx-varied-accept: {ACCEPT_OF_KUBECTL}\r\n");
        assert!(text(written(V2)).contains(&line));
        assert!(text(written("application/json")).contains(&line));
        let old = V2.replace("v=v2", "v=v2beta1");
        assert!(!text(written(&old)).contains(&line));
        assert!(!text(written(V2)).contains("chunked"));
    }

    #[test]
    fn a_file_is_named_by_the_digest_of_the_url() {
        let path = file(Path::new("/c"), "abc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(path, Path::new("/c").join(expected));
    }

    proptest! {
        #[test]
        fn a_response_survives_a_round_trip(body in prop::collection::vec(any::<u8>(), 0..100)) {
            let body = Bytes::from(body);
            for content_type in [V2, "application/json"] {
                let cached = parse(&serialize(ACCEPT, &headers(content_type), &body), ACCEPT).unwrap();
                prop_assert_eq!(&cached.body, &body);
                prop_assert_eq!(cached.content_type, content_type);
            }
        }

        #[test]
        fn other_files_are_ignored_without_a_panic(text in "(HTTP/1.1 200 OK\r\n)?(Etag: x\r\n|Transfer-Encoding: chunked\r\n|[a-z:;0-9\r\n]{0,30}){0,5}\r\n.{0,20}") {
            if let Some(cached) = parse(text.as_bytes(), ACCEPT) {
                prop_assert!(text.contains("200 OK") && !cached.etag.contains('\n'));
            }
        }
    }
}
