//! Disk cache: discovery results shared between processes, including kubectl.
//!
//! `servergroups.json` holds the groups and `<group>/<version>/serverresources.json` the resources of each
//! version (`v1/serverresources.json` for the core group), in the directory of one server
//! ([`CacheDirectories::discovery`](super::CacheDirectories::discovery)).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use watchkeeper_core::GroupVersion;

use super::format::{group_list, read_groups, read_resources, resource_list};
use super::{
    ApiGroup, ApiVersion, Discovered, Discovery, DiscoveryError, DiscoveryFuture, MemoryCache, files,
};

/// The time after which kubectl's cache entries expire.
pub const KUBECTL_TTL: Duration = Duration::from_secs(6 * 60 * 60);

/// A cache in files, which requests what is missing or older than its TTL.
///
/// - Files are replaced atomically and readable by owner and group only. A file that is invalid, or cannot be
///   read or written, is treated as missing.
/// - Failures are not written (`discovery.D3`): neither for a version, nor by omitting a stale one from the groups.
/// - After [`invalidate`](Discovery::invalidate), only files that this process has written since are used.
#[derive(Debug)]
pub struct DiskCache {
    memory: MemoryCache,
    directory: Arc<Path>,
    ttl: Duration,
    state: Mutex<State>,
    /// Held while reading files and requesting (`discovery.D4`). Taken before `state`.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Files that this process has written since the last invalidation.
    ours: HashSet<PathBuf>,
    invalidated: bool,
    /// Whether a file of another process was used since the last invalidation.
    borrowed: bool,
    /// Number of invalidations.
    era: u64,
}

/// The content of the files.
#[derive(Debug, Default)]
struct Stored {
    groups: Option<Vec<ApiGroup>>,
    /// Group versions without a usable file.
    missing: Vec<GroupVersion>,
    used: Vec<PathBuf>,
}

impl DiskCache {
    /// Creates a cache; nothing is read or requested yet. kubectl's TTL is [`KUBECTL_TTL`].
    pub fn new(source: Arc<dyn Discovery>, directory: impl Into<PathBuf>, ttl: Duration) -> Self {
        Self {
            memory: MemoryCache::new(source),
            directory: directory.into().into(),
            ttl,
            state: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
        }
    }

    async fn load(&self) -> Result<Arc<Discovered>, DiscoveryError> {
        let _flight = self.flight.lock().await;
        // Expired files must not be rewritten from a memory cache of the same age.
        let remembered = self.memory.known().and_then(|known| known.read_at);
        if remembered.is_some_and(|read_at| read_at.elapsed() > self.ttl) {
            self.memory.invalidate();
        }
        let stored = self.read().await;
        let Some(groups) = stored.groups else {
            let live = self.memory.discover().await?;
            self.write(live.clone(), None).await;
            return Ok(live);
        };
        let read_at = if self.fresh() { remembered } else { None };
        let mut found = Discovered { groups, read_at, ..Discovered::default() };
        for of in &stored.missing {
            match self.memory.resources(of).await {
                Ok(version) => found.set_resources(of, &version),
                Err(error) => {
                    found.failures.insert(of.clone(), error);
                }
            }
        }
        let found = Arc::new(found);
        if !stored.missing.is_empty() {
            self.write(found.clone(), Some(stored.missing)).await;
        }
        Ok(found)
    }

    /// Reads the files that may be used.
    async fn read(&self) -> Stored {
        let (directory, ttl) = (self.directory.clone(), self.ttl);
        let only = {
            let state = self.state.lock();
            state.invalidated.then(|| state.ours.clone())
        };
        let is_usable = move |path: &PathBuf| only.as_ref().is_none_or(|ours| ours.contains(path));
        let read = move || read_stored(&directory, ttl, is_usable);
        let stored = tokio::task::spawn_blocking(read).await.unwrap_or_default(); // after a panic: nothing is cached
        let mut state = self.state.lock();
        state.borrowed |= stored.used.iter().any(|path| !state.ours.contains(path));
        drop(state);
        stored
    }

    /// Writes the result, or only these versions of it.
    async fn write(&self, found: Arc<Discovered>, only: Option<Vec<GroupVersion>>) {
        let (directory, era) = (self.directory.clone(), self.state.lock().era);
        let write = move || match only {
            None => write_all(&directory, &found),
            Some(versions) => {
                versions.iter().filter_map(|of| write_version(&directory, of, found.version(of)?)).collect()
            }
        };
        let written: Vec<PathBuf> = tokio::task::spawn_blocking(write).await.unwrap_or_default();
        let mut state = self.state.lock();
        if state.era == era {
            state.ours.extend(written);
        }
    }
}

impl Discovered {
    /// Sets the resources of a version.
    pub(super) fn set_resources(&mut self, of: &GroupVersion, version: &ApiVersion) {
        let group = self.groups.iter_mut().find(|group| group.name == of.group);
        let versions = group.into_iter().flat_map(|group| &mut group.versions);
        for entry in versions.filter(|entry| entry.version == of.version) {
            entry.resources.clone_from(&version.resources);
        }
    }
}

fn read_stored(directory: &Path, ttl: Duration, is_usable: impl Fn(&PathBuf) -> bool) -> Stored {
    let mut stored = Stored::default();
    let path = groups_file(directory);
    let groups = is_usable(&path).then(|| files::read_within(&path, ttl)).flatten();
    let Some(mut groups) = groups.and_then(|bytes| read_groups(&bytes)) else { return stored };
    stored.used.push(path);
    for group in &mut groups {
        for version in &mut group.versions {
            let of = GroupVersion::new(&*group.name, &*version.version);
            let path = version_file(directory, &of).filter(&is_usable);
            let bytes = path.as_ref().and_then(|path| files::read_within(path, ttl));
            match bytes.and_then(|bytes| read_resources(&bytes, &of)) {
                Some(resources) => {
                    version.resources = resources;
                    stored.used.extend(path);
                }
                None => stored.missing.push(of),
            }
        }
    }
    stored.groups = Some(groups);
    stored
}

fn write_all(directory: &Path, found: &Discovered) -> Vec<PathBuf> {
    let versions = found.versions().filter(|(of, _)| !found.failures.contains_key(of));
    let mut written: Vec<PathBuf> =
        versions.filter_map(|(of, version)| write_version(directory, &of, version)).collect();
    let is_stale = found.failures.values().any(|error| matches!(error, DiscoveryError::Stale(_)));
    if !is_stale && !found.groups.is_empty() {
        written.extend(write(groups_file(directory), &group_list(&found.groups)));
    }
    written
}

fn write_version(directory: &Path, of: &GroupVersion, version: &ApiVersion) -> Option<PathBuf> {
    let path = version_file(directory, of).filter(|_| !version.resources.is_empty())?;
    write(path, &resource_list(version, of))
}

/// Writes a file and returns its path; `None` if it cannot be written.
fn write(path: PathBuf, document: &impl serde::Serialize) -> Option<PathBuf> {
    let mut bytes = serde_json::to_vec(document).ok()?;
    bytes.push(b'\n');
    match files::replace(&path, path.parent()?, &bytes) {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::debug!(file = %path.display(), %error, "failed to write discovery cache");
            None
        }
    }
}

fn groups_file(directory: &Path) -> PathBuf {
    directory.join("servergroups.json")
}

/// Returns the file of a version; `None` if the names, which the server chooses, would leave the directory.
fn version_file(directory: &Path, of: &GroupVersion) -> Option<PathBuf> {
    let is_name =
        |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0', ':']);
    let is_group = of.group.is_empty() || is_name(&of.group);
    let is_safe = is_group && is_name(&of.version);
    is_safe.then(|| directory.join(&of.group).join(&of.version).join("serverresources.json"))
}

impl Discovery for DiskCache {
    fn discover(&self) -> DiscoveryFuture<'_, Arc<Discovered>> {
        Box::pin(self.load())
    }

    fn resources<'a>(&'a self, of: &'a GroupVersion) -> DiscoveryFuture<'a, ApiVersion> {
        Box::pin(async move { self.load().await?.known_resources(of) })
    }

    /// Returns whether no file of another process was used since the last invalidation.
    fn fresh(&self) -> bool {
        !self.state.lock().borrowed
    }

    fn invalidate(&self) {
        let mut state = self.state.lock();
        *state = State { invalidated: true, era: state.era + 1, ..State::default() };
        drop(state);
        self.memory.invalidate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_make_us_write_outside_the_directory() {
        let file =
            |group: &str, version: &str| version_file(Path::new("/c"), &GroupVersion::new(group, version));
        assert_eq!(file("", "v1").unwrap(), Path::new("/c/v1/serverresources.json"));
        assert_eq!(file("apps", "v1").unwrap(), Path::new("/c/apps/v1/serverresources.json"));
        for (group, version) in
            [("..", "v1"), ("a", ".."), ("a/b", "v1"), ("", ""), ("a", "/etc"), ("c:", "v1")]
        {
            assert_eq!(file(group, version), None, "{group} {version}");
        }
    }
}
