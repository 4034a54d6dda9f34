//! What our discovery finds is what kubectl prints, and each uses what the other has written on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_client::discovery::{
    CacheDirectories, Discovered, Discovery, DiskCache, HttpCache, KUBECTL_TTL, MemoryCache, RestMapper,
};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Config, DiscoveryClient, RestClient, Transport};
use watchkeeper_oracle::{Cluster, Said};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const CRD: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"gadgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
"names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","shortNames":["gd"],"categories":["all","toys"]},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
{"name":"v1beta1","served":true,"storage":false,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;

struct World {
    cluster: Cluster,
    config: Config,
    caches: tempfile::TempDir,
}

impl World {
    /// A real server with a custom resource.
    async fn start() -> Outcome<Self> {
        let cluster = Cluster::start().await?;
        let caches = tempfile::tempdir()?;
        let config = Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default())?;
        let world = Self { cluster, config, caches };
        let file = world.caches.path().join("crd.json");
        fs::write(&file, CRD)?;
        let file = file.to_str().ok_or("no text")?;
        world.kubectl("setup", &["create", "-f", file]).await?;
        world.kubectl("setup", &["wait", "--for=condition=Established", "--timeout=30s", "-f", file]).await?;
        // It is established before it is in discovery.
        let client = world.client()?;
        until(async || Ok(client.discover().await?.group("shop.example.com").is_some())).await?;
        Ok(world)
    }

    fn client(&self) -> Outcome<DiscoveryClient> {
        let transport = Transport::from_config(&self.config)?;
        Ok(DiscoveryClient::new(RestClient::new(transport, "/", Content::json())))
    }

    fn root(&self, name: &str) -> PathBuf {
        self.caches.path().join(name)
    }

    fn directories(&self, name: &str) -> CacheDirectories {
        CacheDirectories::under(&self.root(name), &self.config.server)
    }

    /// What kubectl prints, with the caches of this name: its answer, and what it logs.
    async fn kubectl(&self, caches: &str, args: &[&str]) -> Outcome<(String, String)> {
        let mut command = self.cluster.kubectl().command(args);
        command.arg(format!("--cache-dir={}", self.root(caches).display()));
        match Said::of(command, "").await? {
            Said { code: Some(0), out, error } => Ok((out, error)),
            Said { error, .. } => Err(format!("kubectl {args:?}: {error}").into()),
        }
    }
}

/// Returns once it is so, or fails.
async fn until(is_so: impl AsyncFn() -> Outcome<bool>) -> Outcome {
    let wait = async {
        let mut tries = tokio::time::interval(Duration::from_millis(100));
        while !is_so().await? {
            tries.tick().await;
        }
        Ok(())
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await?
}

/// Which requests for discovery a log of kubectl tells of.
fn discovery_requests(log: &str, config: &Config) -> BTreeSet<String> {
    let server = config.server.to_string();
    let server = server.trim_end_matches('/');
    let paths = log.split_whitespace().filter_map(|word| word.split_once(server));
    let paths =
        paths.map(|(_, path)| path.trim_matches('"').split('?').next().unwrap_or_default().to_owned());
    paths.filter(|path| path == "/api" || path == "/apis").collect()
}

/// A row of `kubectl api-resources -o wide`: name, short names, version, namespaced, kind, verbs, categories.
type Row = [String; 7];

/// The rows of a table whose columns begin where their titles do.
fn rows(table: &str) -> Outcome<BTreeSet<Row>> {
    let mut lines = table.lines();
    let head = lines.next().ok_or("no head")?;
    let titles = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS", "CATEGORIES"];
    let mut starts = Vec::new();
    for title in titles {
        let start = head.match_indices(title).map(|(place, _)| place);
        let is_word = |place: &usize| *place == 0 || head.as_bytes()[place - 1] == b' ';
        let is_whole = |place: &usize| matches!(head.as_bytes().get(place + title.len()), None | Some(b' '));
        starts.push(start.filter(is_word).find(is_whole).ok_or(title)?);
    }
    let row = |line: &str| -> Row {
        std::array::from_fn(|column| {
            let end = starts.get(column + 1).copied().unwrap_or(line.len()).min(line.len());
            line.get(starts[column]..end).unwrap_or_default().trim().to_owned()
        })
    };
    Ok(lines.map(row).collect())
}

/// The same rows of what we have found.
fn our_rows(found: &Discovered) -> BTreeSet<Row> {
    let row = |(of, resource): &(_, &watchkeeper_client::discovery::ApiResource)| -> Row {
        let of: &watchkeeper_core::GroupVersion = of;
        [
            resource.name.clone(),
            resource.short_names.join(","),
            of.to_string(),
            resource.namespaced.to_string(),
            resource.kind.kind.clone(),
            resource.verbs.join(","),
            resource.categories.join(","),
        ]
    };
    found.preferred_resources().iter().filter(|(_, resource)| !resource.verbs.is_empty()).map(row).collect()
}

fn assert_same(what: &str, theirs: &BTreeSet<Row>, ours: &BTreeSet<Row>) {
    let (missing, extra): (Vec<_>, Vec<_>) =
        (theirs.difference(ours).collect(), ours.difference(theirs).collect());
    assert!(missing.is_empty() && extra.is_empty(), "{what}: missing {missing:#?}, extra {extra:#?}");
    assert!(theirs.len() > 50, "{what}: only {}", theirs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn our_discovery_finds_what_kubectl_prints() -> Outcome {
    let world = World::start().await?;
    let (table, _) = world.kubectl("theirs", &["api-resources", "-o", "wide"]).await?;
    let theirs = rows(&table)?;
    let (versions, _) = world.kubectl("theirs", &["api-versions"]).await?;
    for (what, client) in [("aggregated", world.client()?), ("legacy", world.client()?.legacy())] {
        let found = client.discover().await?;
        assert!(found.partial().is_none());
        assert_same(what, &theirs, &our_rows(&found));
        let ours: BTreeSet<String> = found.versions().map(|(of, _)| of.to_string()).collect();
        assert_eq!(ours, versions.lines().map(str::to_owned).collect(), "{what}");
    }

    // A real server and old documents: hashes are there, and subresources are the same.
    let (new, old) = (world.client()?.discover().await?, world.client()?.legacy().discover().await?);
    assert!(old.resources().any(|(_, resource)| !resource.storage_version_hash.is_empty()));
    let below = |found: &Discovered| -> BTreeMap<String, (BTreeSet<String>, String)> {
        let one = |name: &str, verbs: &[String], kind: String| {
            (name.to_owned(), (verbs.iter().cloned().collect(), kind))
        };
        let all = found.resources().flat_map(|(of, resource)| {
            let own = one(&format!("{of}/{}", resource.name), &resource.verbs, resource.kind.to_string());
            let subresources = resource.subresources.iter().map(move |sub| {
                one(&format!("{of}/{}/{}", resource.name, sub.name), &sub.verbs, sub.kind.to_string())
            });
            [own].into_iter().chain(subresources).collect::<Vec<_>>()
        });
        all.collect()
    };
    assert_eq!(below(&new), below(&old));
    let version = world.client()?.server_version().await?;
    let (theirs, _) = world.kubectl("theirs", &["version", "-o", "json"]).await?;
    let theirs: serde_json::Value = serde_json::from_str(&theirs)?;
    assert_eq!(theirs["serverVersion"]["gitVersion"], version.git_version);
    assert_eq!(theirs["serverVersion"]["platform"], version.platform);
    // What describes a custom resource comes some time after it.
    let client = world.client()?;
    until(async || Ok(client.openapi_v3_paths().await?.contains_key("apis/shop.example.com/v1"))).await?;

    // Names stand for the same, and for nothing in the same words.
    let mapper = RestMapper::new(Arc::new(MemoryCache::new(Arc::new(world.client()?))));
    for argument in [
        "po",
        "pods",
        "Pod",
        "PODS",
        "PO",
        "deploy",
        "Deployment",
        "deployment.apps",
        "deploy.v1.apps",
        "deployments.app",
        "hpa",
        "hpa.v1.autoscaling",
        "horizontalpodautoscalers.v1.autoscaling",
        "ev",
        "events.events.k8s.io",
        "crd",
        "crds",
        "gd",
        "gd.shop",
        "Gadget.v1beta1.shop.example.com",
        "gadgets.v1beta1.shop.example.com",
        "gadget.example.com",
        "pods.v1.",
        "pods.v1",
        "nothing",
        "nothing.v1.apps",
        "pdos",
    ] {
        let theirs = world.kubectl("theirs", &["get", "--ignore-not-found", "-v=6", argument]).await;
        let ours = mapper.argument(argument).await;
        match (theirs, ours) {
            (Ok((_, log)), Ok(mapping)) => {
                let of = mapping.resource.group_version().path();
                let middle = if mapping.namespaced { "/namespaces/default" } else { "" };
                let path = format!("{of}{middle}/{}?", mapping.resource.resource);
                assert!(log.contains(&path), "{argument}: we say {path}, kubectl {log}");
            }
            (Err(theirs), Err(ours)) => {
                let said = format!("error: {}\n", ours.message());
                assert!(theirs.to_string().contains(&said), "{argument}: {theirs}, and we say {said}");
            }
            (theirs, ours) => return Err(format!("{argument}: kubectl {theirs:?}, we {ours:?}").into()),
        }
    }
    let toys = mapper.category("toys").await?;
    assert_eq!(toys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["gadgets.shop.example.com"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_uses_what_we_have_written() -> Outcome {
    let world = World::start().await?;
    let get = ["get", "gadgets,po,deploy", "-v=6"];
    let (_, log) = world.kubectl("empty", &get).await?;
    assert_eq!(discovery_requests(&log, &world.config).len(), 2, "without a cache kubectl asks: {log}");

    let directories = world.directories("ours");
    let client = world.client()?.http_cache(HttpCache::new(&*directories.http, &world.config.server));
    let cache = DiskCache::new(Arc::new(client), directories.discovery, KUBECTL_TTL);
    let found = cache.discover().await?;
    assert!(found.partial().is_none());

    let (_, log) = world.kubectl("ours", &get).await?;
    assert!(log.contains("/apis/apps/v1/namespaces/default/deployments"), "{log}");
    assert_eq!(discovery_requests(&log, &world.config), BTreeSet::new(), "{log}");
    let (table, log) = world.kubectl("ours", &["api-resources", "--cached", "-o", "wide", "-v=6"]).await?;
    assert_eq!(discovery_requests(&log, &world.config), BTreeSet::new(), "{log}");
    assert_same("cached", &rows(&table)?, &our_rows(&found));

    // What is not cached any more is asked for with the ETags that we have kept.
    fs::remove_dir_all(world.root("ours").join("discovery"))?;
    let (_, log) = world.kubectl("ours", &["api-resources", "-v=8"]).await?;
    let (_, control) = world.kubectl("none", &["api-resources", "-v=8"]).await?;
    let known = |log: &str| log.matches("X-From-Cache").count() + log.matches("304 Not Modified").count();
    assert_eq!(known(&control), 0, "{control}");
    assert!(known(&log) >= 2, "{log}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn we_use_what_kubectl_has_written() -> Outcome {
    let world = World::start().await?;
    world.kubectl("theirs", &["api-resources"]).await?;
    let directories = world.directories("theirs");
    let mut nowhere = world.config.clone();
    nowhere.server = "https://127.0.0.1:1".parse()?;
    let nobody = Transport::from_config(&nowhere)?;
    let nobody = DiscoveryClient::new(RestClient::new(nobody, "/", Content::json()));
    let cache = DiskCache::new(Arc::new(nobody), directories.discovery, KUBECTL_TTL);
    let found = cache.discover().await?;
    assert!(found.partial().is_none() && !cache.fresh());
    let live = world.client()?.discover().await?;
    assert_eq!(found.groups, live.groups);

    // Its HTTP cache: a 304 leaves a file as it is, any other answer replaces it.
    let before = contents(&directories.http)?;
    assert!(before.len() >= 2, "{}", before.len());
    let client = world.client()?.http_cache(HttpCache::new(&*directories.http, &world.config.server));
    assert_eq!(client.discover().await?.groups, live.groups);
    assert_eq!(contents(&directories.http)?, before);
    Ok(())
}

/// What is in the files of a directory.
fn contents(directory: &Path) -> Outcome<BTreeMap<PathBuf, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() {
            contents.insert(path.clone(), fs::read(path)?);
        }
    }
    Ok(contents)
}
