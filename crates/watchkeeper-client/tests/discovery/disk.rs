//! The disk caches: what is written, what is used, and what is requested from the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use watchkeeper_client::DiscoveryClient;
use watchkeeper_client::discovery::{CacheDirectories, Discovery as _, DiskCache, HttpCache, KUBECTL_TTL};

use crate::requests::names;
use crate::served::{Served, V2, group, resource};

struct Home {
    root: tempfile::TempDir,
    served: Served,
}

impl Home {
    /// A server with pods and `as`, and a directory for caches.
    async fn start() -> Self {
        let served = Served::start().await;
        let version = json!({"version": "v1", "resources": [resource("a.example.com", "as", "A")]});
        served.serve_aggregated(V2, &[group("a.example.com", &[version])]);
        Self { root: tempfile::tempdir().unwrap(), served }
    }

    fn directories(&self) -> CacheDirectories {
        CacheDirectories::under(self.root.path(), &self.served.config.server)
    }

    /// The cache as a new process would create it.
    fn cache(&self) -> DiskCache {
        DiskCache::new(Arc::new(self.served.client()), self.directories().discovery, KUBECTL_TTL)
    }

    fn http(&self) -> DiscoveryClient {
        self.served.client().http_cache(HttpCache::new(self.directories().http, &self.served.config.server))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directories().discovery.join(name)
    }
}

const GROUPS: &str = "servergroups.json";
const CORE: &str = "v1/serverresources.json";
const OTHER: &str = "a.example.com/v1/serverresources.json";

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn age(path: &Path, age: Duration) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[tokio::test]
async fn a_second_process_uses_the_first_ones_files() {
    let home = Home::start().await;
    let first = home.cache();
    let found = first.discover().await.unwrap();
    assert_eq!(names(&found), ["v1/pods", "a.example.com/v1/as"]);
    assert!(first.fresh(), "this process wrote all files");
    first.discover().await.unwrap();
    assert!(first.fresh());
    assert_eq!(home.served.requests().len(), 2);

    let next = home.cache();
    let again = next.discover().await.unwrap();
    assert_eq!(again.groups, found.groups);
    assert!(!next.fresh(), "another process wrote the files");
    assert!(home.served.requests().is_empty());
}

#[tokio::test]
async fn the_layout_is_kubectls() {
    let home = Home::start().await;
    home.cache().discover().await.unwrap();
    let authority = home.served.config.server.authority().unwrap().as_str().replace(':', "_");
    let directory = home.root.path().join("discovery").join(authority);
    let version = |text: &str| json!({"groupVersion": text, "version": "v1"});
    assert_eq!(
        read(&directory.join(GROUPS)),
        json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [
            {"name": "", "versions": [version("v1")], "preferredVersion": version("v1")},
            {"name": "a.example.com", "versions": [version("a.example.com/v1")],
             "preferredVersion": version("a.example.com/v1")}]})
    );
    assert_eq!(
        read(&directory.join(OTHER)),
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "a.example.com/v1",
            "resources": [{"name": "as", "singularName": "a", "namespaced": true, "kind": "A",
                "group": "a.example.com", "version": "v1", "verbs": ["get", "list"]}]})
    );
    let mut names =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    names.sort();
    assert_eq!(names, ["a.example.com", GROUPS, "v1"], "no temporary file is left");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_readable_by_owner_and_group_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::start().await;
    home.served.tag("/apis", "\"1\"");
    home.cache().discover().await.unwrap();
    home.http().discover().await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let http = home.directories().http;
    let cached: Vec<PathBuf> = fs::read_dir(&http)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert_eq!(cached.len(), 1);
    for file in [home.file(GROUPS), home.file(CORE), home.file(OTHER), cached[0].clone()] {
        assert_eq!(mode(&file), 0o660, "{}", file.display());
        assert_eq!(mode(file.parent().unwrap()) & !0o750, 0, "{}", file.display());
    }
}

/// Damages a file.
type Damage = fn(&Path);

#[tokio::test]
async fn a_missing_invalid_or_expired_file_is_requested_again() {
    let home = Home::start().await;
    home.cache().discover().await.unwrap();
    home.served.requests();
    let damages: [(&str, Damage); 7] = [
        ("missing", |path| fs::remove_file(path).unwrap()),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("truncated", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("something else", |path| fs::write(path, "{}").unwrap()),
        ("another kind", |path| fs::write(path, r#"{"kind":"Pod","apiVersion":"v1"}"#).unwrap()),
        ("not text", |path| fs::write(path, [0xff, 0xfe, 0]).unwrap()),
        ("expired", |path| age(path, KUBECTL_TTL + Duration::from_secs(60))),
    ];
    for (name, damage) in damages {
        for file in [GROUPS, CORE, OTHER] {
            damage(&home.file(file));
            let found = home.cache().discover().await.unwrap();
            assert_eq!(names(&found), ["v1/pods", "a.example.com/v1/as"], "{name} {file}");
            assert_eq!(home.served.requests().len(), 2, "{name} {file}");
            home.cache().discover().await.unwrap();
            assert!(home.served.requests().is_empty(), "{name} {file}: rewritten");
        }
    }
    age(&home.file(CORE), KUBECTL_TTL - Duration::from_secs(60));
    home.cache().discover().await.unwrap();
    assert!(home.served.requests().is_empty(), "not expired yet");
}

#[tokio::test]
async fn after_invalidation_only_our_own_files_are_used() {
    let home = Home::start().await;
    home.cache().discover().await.unwrap();
    let cache = home.cache();
    cache.discover().await.unwrap();
    assert!(!cache.fresh());
    home.served.serve_aggregated(V2, &[]);
    assert_eq!(names(&cache.discover().await.unwrap()).len(), 2);
    cache.invalidate();
    assert!(cache.fresh());
    assert_eq!(names(&cache.discover().await.unwrap()), ["v1/pods"]);
    assert!(cache.fresh());
    assert_eq!(names(&home.cache().discover().await.unwrap()), ["v1/pods"], "the next process sees it too");
}

#[tokio::test]
async fn failures_are_not_written() {
    let home = Home::start().await;
    let stale = json!({"version": "v2", "freshness": "Stale", "resources": []});
    let current = json!({"version": "v1", "resources": [resource("m", "ms", "M")]});
    home.served.serve_aggregated(V2, &[group("m", &[stale, current])]);
    assert!(home.cache().discover().await.unwrap().partial().is_some());
    assert!(!home.file(GROUPS).exists() && home.file("m/v1/serverresources.json").exists());
    assert!(home.cache().discover().await.unwrap().partial().is_some(), "reported again");

    home.served.serve_legacy(&["a", "b"]);
    home.served.fail("/apis/b/v1", 403);
    home.cache().discover().await.unwrap();
    assert!(home.file(GROUPS).exists() && !home.file("b/v1/serverresources.json").exists());
    let partial = home.cache().discover().await.unwrap().partial().unwrap();
    assert_eq!(partial.failures.keys().next().unwrap().to_string(), "b/v1");
}

#[tokio::test]
async fn cached_groups_survive_an_unreachable_server() {
    let home = Home::start().await;
    home.cache().discover().await.unwrap();
    fs::remove_file(home.file(OTHER)).unwrap();
    home.served.fail("/api", 503);
    home.served.fail("/apis", 503);
    let found = home.cache().discover().await.unwrap();
    assert_eq!(names(&found), ["v1/pods"]);
    assert!(found.failures.values().next().unwrap().is_transient());
}

#[tokio::test]
async fn an_unwritable_directory_is_not_an_error() {
    let home = Home::start().await;
    fs::write(home.root.path().join("discovery"), "a file in the way").unwrap();
    assert_eq!(names(&home.cache().discover().await.unwrap()).len(), 2);
}

#[tokio::test]
async fn unchanged_documents_are_not_sent_again() {
    let home = Home::start().await;
    home.served.tag("/api", "\"1\"");
    home.served.tag("/apis", "\"2\"");
    let first = home.http().discover().await.unwrap();
    let mut requests = home.served.requests();
    requests.sort();
    assert_eq!(requests, ["/api", "/apis"]);
    let second = home.http().discover().await.unwrap();
    assert_eq!(second.groups, first.groups);
    let mut requests = home.served.requests();
    requests.sort();
    assert_eq!(requests, ["304 /api", "304 /apis"]);

    // Changed documents are sent and cached.
    home.served.serve_aggregated(V2, &[]);
    home.served.tag("/api", "\"1\"");
    home.served.tag("/apis", "\"3\"");
    for expected in [["/apis", "304 /api"], ["304 /api", "304 /apis"]] {
        assert_eq!(names(&home.http().discover().await.unwrap()), ["v1/pods"]);
        let mut requests = home.served.requests();
        requests.sort();
        assert_eq!(requests, expected);
    }
    // A request with another Accept header misses the cache.
    home.http().legacy().discover().await.unwrap();
    assert!(home.served.requests().iter().all(|path| !path.starts_with("304")));
}

#[tokio::test]
async fn a_corrupted_cached_response_is_ignored() {
    let home = Home::start().await;
    home.served.tag("/api", "\"1\"");
    home.served.tag("/apis", "\"2\"");
    home.http().discover().await.unwrap();
    home.served.requests();
    for entry in fs::read_dir(home.directories().http).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    home.http().discover().await.unwrap();
    let mut requests = home.served.requests();
    requests.sort();
    assert_eq!(requests, ["/api", "/apis"]);
}
