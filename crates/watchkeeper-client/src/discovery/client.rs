//! Discovery client: asks the server.

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

use super::http_cache::{HttpCache, Kept};
use super::{ApiGroup, ApiVersion, Awaited, Discovered, Discovery, DiscoveryError, aggregated, legacy};
use crate::rest::{Request, RequestError, RestClient};

/// How long each request may take, unless [told otherwise](DiscoveryClient::timeout).
pub const TIMEOUT: Duration = Duration::from_secs(32);

/// How many group versions are asked for at a time, where each needs a request of its own (D1).
const AT_A_TIME: usize = 16;

/// Asks the server, every time. Clones are cheap.
#[derive(Debug, Clone)]
pub struct DiscoveryClient {
    rest: RestClient,
    timeout: Duration,
    legacy: bool,
    cache: Option<HttpCache>,
}

/// What a server is.
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
    /// The commit that it was built from.
    pub git_commit: String,
    /// When it was built.
    pub build_date: String,
    /// What it was built with.
    pub go_version: String,
    /// `linux/amd64`.
    pub platform: String,
}

/// A document, and what the server says that it is.
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
    /// Discovery below `/` of the server, whatever path the client is for.
    pub fn new(rest: RestClient) -> Self {
        Self { rest, timeout: TIMEOUT, legacy: false, cache: None }
    }

    /// How long each request may take; [`TIMEOUT`] by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Never asks for aggregated documents. Only so are storage version hashes known.
    #[must_use]
    pub fn legacy(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// Keeps answers with an ETag, so that the server need not send again what has not changed.
    #[must_use]
    pub fn http_cache(mut self, cache: HttpCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// What the server is.
    ///
    /// # Errors
    /// If it does not say.
    pub async fn server_version(&self) -> Result<ServerVersion, DiscoveryError> {
        self.document(self.rest.get().abs_path("/version"), None).await?.read()
    }

    /// Where the server describes its group versions: `apis/apps/v1` to the path of its description, which
    /// mostly has a hash that changes with it.
    ///
    /// # Errors
    /// If it does not say: not every server describes itself.
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

    /// One attempt to find out everything.
    async fn attempt(&self) -> Result<Discovered, DiscoveryError> {
        let accept = Some(if self.legacy { "application/json" } else { aggregated::ACCEPT });
        let core = Box::pin(self.document(self.rest.get().abs_path("/api"), accept));
        let others = Box::pin(self.document(self.rest.get().abs_path("/apis"), accept));
        let (core, others) = futures_util::future::join(core, others).await;
        let core = match core {
            Err(error) if error.is_not_found() => None, // some servers have no core group
            core => Some(core?),
        };
        let others = others?;
        let mut found = Discovered { read_at: Some(Instant::now()), ..Discovered::default() };
        let mut is_complete = true;
        if let Some(core) = core {
            is_complete &= core.is_aggregated();
            match core.is_aggregated() {
                true => aggregated::add(core.read()?, &mut found),
                false => found.groups.extend(core.read::<legacy::Versions>()?.group()),
            }
        }
        is_complete &= others.is_aggregated();
        match others.is_aggregated() {
            true => aggregated::add(others.read()?, &mut found),
            false => found.groups.extend(others.read::<legacy::GroupList>()?.groups()),
        }
        if !is_complete {
            self.fill(&mut found).await;
        }
        Ok(found)
    }

    /// Asks for the resources of every group version.
    async fn fill(&self, found: &mut Discovered) {
        let versions = |group: ApiGroup| {
            let name = group.name;
            group.versions.into_iter().map(move |version| GroupVersion::new(&*name, version.version))
        };
        let wanted: Vec<GroupVersion> = found.groups.iter().cloned().flat_map(versions).collect();
        let mut answers = stream::iter(wanted.into_iter().map(|of| async move {
            let answer = self.ask(&of).await;
            (of, answer)
        }))
        .buffer_unordered(AT_A_TIME);
        while let Some((of, answer)) = answers.next().await {
            match answer {
                Ok(version) => found.put(&of, &version),
                Err(error) => {
                    found.failures.insert(of, error);
                }
            }
        }
    }

    async fn ask(&self, of: &GroupVersion) -> Result<ApiVersion, DiscoveryError> {
        let request = match of.group.as_str() {
            "" => self.rest.get().abs_path("/api"),
            group => self.rest.get().abs_path("/apis").suffix(group),
        };
        let request = request.suffix(&of.version);
        let resources = match self.document(request, None).await {
            Err(error) if error.is_not_found() && of.to_string() == "v1" => Vec::new(),
            document => document?.read::<legacy::ResourceList>()?.resources(of),
        };
        Ok(ApiVersion { version: of.version.clone(), resources })
    }

    async fn document(&self, request: Request, accept: Option<&str>) -> Result<Document, DiscoveryError> {
        let accept = accept.unwrap_or("application/json");
        let description = request.description();
        let mut request = request.header(ACCEPT, accept).timeout(self.timeout);
        let place = self.cache.as_ref().map(|cache| (cache, request.path_and_query()));
        let mut kept = None;
        if let Some((cache, path)) = &place {
            kept = cache.read(path, accept).await;
        }
        if let Some(kept) = &kept {
            request = request.header(IF_NONE_MATCH, &kept.etag);
        }
        let answer = request.send().await?;
        if answer.code == StatusCode::NOT_MODIFIED
            && let Some(Kept { content_type, body, .. }) = kept
        {
            return Ok(Document { request: description, content_type, body });
        }
        if let Some((cache, path)) = &place {
            cache.write(path, accept, &answer.headers, &answer.body).await;
        }
        let content_type = aggregated::text(answer.headers.get(CONTENT_TYPE)).to_owned();
        Ok(Document { request: description, content_type, body: answer.body })
    }
}

impl Discovery for DiscoveryClient {
    /// Asks for everything; once more if something could not be found out.
    fn discover(&self) -> Awaited<'_, Arc<Discovered>> {
        Box::pin(async {
            let first = self.attempt().await?;
            match first.failures.is_empty() {
                true => Ok(Arc::new(first)),
                false => Ok(Arc::new(self.attempt().await?)),
            }
        })
    }

    fn resources<'a>(&'a self, of: &'a GroupVersion) -> Awaited<'a, ApiVersion> {
        Box::pin(self.ask(of))
    }
}
