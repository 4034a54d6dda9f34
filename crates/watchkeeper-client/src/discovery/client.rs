//! Discovery client: requests discovery documents from the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use watchkeeper_core::GroupVersion;

use super::http_cache::{CachedResponse, HttpCache};
use super::{
    ApiGroup, ApiVersion, Discovered, Discovery, DiscoveryError, DiscoveryFuture, aggregated, legacy,
};
use crate::rest::{Request, RequestError, RestClient};

/// Default timeout of a request; see [`DiscoveryClient::timeout`].
pub const TIMEOUT: Duration = Duration::from_secs(32);

/// Maximum number of concurrent requests for single group versions (`discovery.D1`).
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// A discovery client without a cache. Clones are cheap.
#[derive(Debug, Clone)]
pub struct DiscoveryClient {
    rest: RestClient,
    timeout: Duration,
    legacy: bool,
    cache: Option<HttpCache>,
}

/// The version of a server. (client-go: `version.Info`.)
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ServerVersion {
    /// `1`.
    pub major: String,
    /// `37`, or `37+`.
    pub minor: String,
    /// `v1.37.1`.
    pub git_version: String,
    /// The commit that the server was built from.
    pub git_commit: String,
    /// The time of the build.
    pub build_date: String,
    /// The Go version that the server was built with.
    pub go_version: String,
    /// `linux/amd64`.
    pub platform: String,
}

/// A document and its content type.
struct Document {
    request: String,
    content_type: String,
    body: Bytes,
}

impl Document {
    fn read<T: DeserializeOwned>(&self) -> Result<T, DiscoveryError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            RequestError::Decode { request: self.request.clone(), why: error.to_string() }.into()
        })
    }

    fn is_aggregated(&self) -> bool {
        aggregated::version_of(&self.content_type).is_some()
    }
}

impl DiscoveryClient {
    /// Creates a client for discovery at the server's root; the path of `rest` is ignored.
    pub fn new(rest: RestClient) -> Self {
        Self { rest, timeout: TIMEOUT, legacy: false, cache: None }
    }

    /// Sets the timeout of each request; [`TIMEOUT`] by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Disables aggregated discovery. Only legacy discovery reports storage version hashes.
    #[must_use]
    pub fn legacy(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// Caches responses with an ETag, so that the server does not resend unchanged documents.
    #[must_use]
    pub fn http_cache(mut self, cache: HttpCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Returns the version of the server.
    ///
    /// # Errors
    /// If the request fails.
    pub async fn server_version(&self) -> Result<ServerVersion, DiscoveryError> {
        self.document(self.rest.get().abs_path("/version"), None).await?.read()
    }

    /// Returns the paths of the server's OpenAPI v3 documents by group version: `apis/apps/v1` to a path that
    /// usually contains a hash of the document.
    ///
    /// # Errors
    /// If the request fails; not every server publishes OpenAPI documents.
    pub async fn openapi_v3_paths(&self) -> Result<BTreeMap<String, String>, DiscoveryError> {
        #[derive(Deserialize)]
        struct Index {
            #[serde(default)]
            paths: BTreeMap<String, Entry>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            #[serde(rename = "serverRelativeURL")]
            server_relative_url: String,
        }
        let index: Index = self.document(self.rest.get().abs_path("/openapi/v3"), None).await?.read()?;
        Ok(index.paths.into_iter().map(|(path, entry)| (path, entry.server_relative_url)).collect())
    }

    /// Discovers everything, once.
    async fn attempt(&self) -> Result<Discovered, DiscoveryError> {
        let accept = Some(if self.legacy { "application/json" } else { aggregated::ACCEPT });
        let core = Box::pin(self.document(self.rest.get().abs_path("/api"), accept));
        let others = Box::pin(self.document(self.rest.get().abs_path("/apis"), accept));
        let (core, others) = futures_util::future::join(core, others).await;
        let core = match core {
            Err(error) if error.is_not_found() => None, // not every server has a core group
            core => Some(core?),
        };
        let others = others?;
        let mut found = Discovered { read_at: Some(Instant::now()), ..Discovered::default() };
        let mut is_complete = true;
        if let Some(core) = core {
            is_complete &= core.is_aggregated();
            if core.is_aggregated() {
                aggregated::add(core.read()?, &mut found);
            } else {
                found.groups.extend(legacy::core_group(core.read()?));
            }
        }
        is_complete &= others.is_aggregated();
        if others.is_aggregated() {
            aggregated::add(others.read()?, &mut found);
        } else {
            found.groups.extend(legacy::groups(others.read()?));
        }
        if !is_complete {
            self.fill(&mut found).await;
        }
        Ok(found)
    }

    /// Requests the resources of every group version.
    async fn fill(&self, found: &mut Discovered) {
        let versions = |group: ApiGroup| {
            let name = group.name;
            group.versions.into_iter().map(move |version| GroupVersion::new(&*name, version.version))
        };
        let wanted: Vec<GroupVersion> = found.groups.iter().cloned().flat_map(versions).collect();
        let mut responses = stream::iter(wanted.into_iter().map(|of| async move {
            let response = self.request_resources(&of).await;
            (of, response)
        }))
        .buffer_unordered(MAX_CONCURRENT_REQUESTS);
        while let Some((of, response)) = responses.next().await {
            match response {
                Ok(version) => found.set_resources(&of, &version),
                Err(error) => {
                    found.failures.insert(of, error);
                }
            }
        }
    }

    async fn request_resources(&self, of: &GroupVersion) -> Result<ApiVersion, DiscoveryError> {
        let request = match of.group.as_str() {
            "" => self.rest.get().abs_path("/api"),
            group => self.rest.get().abs_path("/apis").suffix(group),
        };
        let request = request.suffix(&of.version);
        let resources = match self.document(request, None).await {
            Err(error) if error.is_not_found() && of.to_string() == "v1" => Vec::new(),
            document => legacy::resources(document?.read()?, of),
        };
        Ok(ApiVersion { version: of.version.clone(), resources })
    }

    async fn document(&self, request: Request, accept: Option<&str>) -> Result<Document, DiscoveryError> {
        let accept = accept.unwrap_or("application/json");
        let description = request.description();
        let mut request = request.header(ACCEPT, accept).timeout(self.timeout);
        let cache = self.cache.as_ref().map(|cache| (cache, request.path_and_query()));
        let mut cached = None;
        if let Some((cache, path)) = &cache {
            cached = cache.read(path, accept).await;
        }
        if let Some(cached) = &cached {
            request = request.header(IF_NONE_MATCH, &cached.etag);
        }
        let response = request.send().await?;
        if response.code == StatusCode::NOT_MODIFIED
            && let Some(CachedResponse { content_type, body, .. }) = cached
        {
            return Ok(Document { request: description, content_type, body });
        }
        if let Some((cache, path)) = &cache {
            cache.write(path, accept, &response.headers, &response.body).await;
        }
        let content_type = aggregated::text(response.headers.get(CONTENT_TYPE)).to_owned();
        Ok(Document { request: description, content_type, body: response.body })
    }
}

impl Discovery for DiscoveryClient {
    /// Discovers everything, and tries once more if a group version fails.
    fn discover(&self) -> DiscoveryFuture<'_, Arc<Discovered>> {
        Box::pin(async {
            let first = self.attempt().await?;
            if first.failures.is_empty() {
                return Ok(Arc::new(first));
            }
            Ok(Arc::new(self.attempt().await?))
        })
    }

    fn resources<'a>(&'a self, of: &'a GroupVersion) -> DiscoveryFuture<'a, ApiVersion> {
        Box::pin(self.request_resources(of))
    }
}
