//! Our discovery client finds what kubectl prints, and each reads the disk cache of the other.

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
use watchkeeper_oracle::{Cluster, CommandOutput};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const CRD: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"gadgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
"names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","shortNames":["gd"],"categories":["all","toys"]},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
{"name":"v1beta1","served":true,"storage":false,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;

/// A real server with a custom resource, and directories for discovery caches.
struct Environment {
    cluster: Cluster,
    config: Config,
    caches: tempfile::TempDir,
}

impl Environment {
    /// Starts the server, and waits until its discovery documents have the custom resource.
    async fn start() -> Outcome<Self> {
        let cluster = Cluster::start().await?;
        let caches = tempfile::tempdir()?;
        let config = Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default())?;
        let environment = Self { cluster, config, caches };
        let file = environment.caches.path().join("crd.json");
        fs::write(&file, CRD)?;
        let file = file.to_str().ok_or("path is not UTF-8")?;
        environment.kubectl("setup", &["create", "-f", file]).await?;
        environment
            .kubectl("setup", &["wait", "--for=condition=Established", "--timeout=30s", "-f", file])
            .await?;
        // The definition is established before discovery lists it.
        let client = environment.client()?;
        until(async || Ok(client.discover().await?.group("shop.example.com").is_some())).await?;
        Ok(environment)
    }

    fn client(&self) -> Outcome<DiscoveryClient> {
        let transport = Transport::from_config(&self.config)?;
        Ok(DiscoveryClient::new(RestClient::new(transport, "/", Content::json())))
    }

    /// The cache directory with this name.
    fn root(&self, name: &str) -> PathBuf {
        self.caches.path().join(name)
    }

    fn directories(&self, name: &str) -> CacheDirectories {
        CacheDirectories::under(&self.root(name), &self.config.server)
    }

    /// Runs kubectl with the named cache directory. Returns its standard output and its log.
    async fn kubectl(&self, caches: &str, args: &[&str]) -> Outcome<(String, String)> {
        let mut command = self.cluster.kubectl().command(args);
        command.arg(format!("--cache-dir={}", self.root(caches).display()));
        match CommandOutput::of(command, "").await? {
            CommandOutput { code: Some(0), out, error } => Ok((out, error)),
            CommandOutput { error, .. } => Err(format!("kubectl {args:?}: {error}").into()),
        }
    }
}

/// Waits until the condition is true, for at most a minute.
async fn until(condition: impl AsyncFn() -> Outcome<bool>) -> Outcome {
    let wait = async {
        let mut tries = tokio::time::interval(Duration::from_millis(100));
        while !condition().await? {
            tries.tick().await;
        }
        Ok(())
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await?
}

/// The discovery requests in a log of kubectl.
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

/// Parses a table whose columns start at the position of their header.
fn rows(table: &str) -> Outcome<BTreeSet<Row>> {
    let mut lines = table.lines();
    let header = lines.next().ok_or("empty table")?;
    let titles = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS", "CATEGORIES"];
    let mut starts = Vec::new();
    for title in titles {
        let start = header.match_indices(title).map(|(position, _)| position);
        let is_word = |position: &usize| *position == 0 || header.as_bytes()[position - 1] == b' ';
        let is_whole =
            |position: &usize| matches!(header.as_bytes().get(position + title.len()), None | Some(b' '));
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

/// The rows of our own discovery.
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
async fn discovery_finds_what_kubectl_prints() -> Outcome {
    let environment = Environment::start().await?;
    let (table, _) = environment.kubectl("theirs", &["api-resources", "-o", "wide"]).await?;
    let theirs = rows(&table)?;
    let (versions, _) = environment.kubectl("theirs", &["api-versions"]).await?;
    for (what, client) in [("aggregated", environment.client()?), ("legacy", environment.client()?.legacy())]
    {
        let found = client.discover().await?;
        assert!(found.partial().is_none());
        assert_same(what, &theirs, &our_rows(&found));
        let ours: BTreeSet<String> = found.versions().map(|(of, _)| of.to_string()).collect();
        assert_eq!(ours, versions.lines().map(str::to_owned).collect(), "{what}");
    }

    // The legacy documents have storage version hashes, and the same subresources as the aggregated ones.
    let (new, old) =
        (environment.client()?.discover().await?, environment.client()?.legacy().discover().await?);
    assert!(old.resources().any(|(_, resource)| !resource.storage_version_hash.is_empty()));
    let verbs_and_kinds = |found: &Discovered| -> BTreeMap<String, (BTreeSet<String>, String)> {
        let entry = |name: &str, verbs: &[String], kind: String| {
            (name.to_owned(), (verbs.iter().cloned().collect(), kind))
        };
        let all = found.resources().flat_map(|(of, resource)| {
            let own = entry(&format!("{of}/{}", resource.name), &resource.verbs, resource.kind.to_string());
            let subresources = resource.subresources.iter().map(move |sub| {
                entry(&format!("{of}/{}/{}", resource.name, sub.name), &sub.verbs, sub.kind.to_string())
            });
            [own].into_iter().chain(subresources).collect::<Vec<_>>()
        });
        all.collect()
    };
    assert_eq!(verbs_and_kinds(&new), verbs_and_kinds(&old));
    let version = environment.client()?.server_version().await?;
    let (theirs, _) = environment.kubectl("theirs", &["version", "-o", "json"]).await?;
    let theirs: serde_json::Value = serde_json::from_str(&theirs)?;
    assert_eq!(theirs["serverVersion"]["gitVersion"], version.git_version);
    assert_eq!(theirs["serverVersion"]["platform"], version.platform);
    // The OpenAPI document of a custom resource is published some time after its definition.
    let client = environment.client()?;
    until(async || Ok(client.openapi_v3_paths().await?.contains_key("apis/shop.example.com/v1"))).await?;

    // Our mapper resolves names as kubectl does, and returns the same errors.
    let mapper = RestMapper::new(Arc::new(MemoryCache::new(Arc::new(environment.client()?))));
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
        let theirs = environment.kubectl("theirs", &["get", "--ignore-not-found", "-v=6", argument]).await;
        let ours = mapper.argument(argument).await;
        match (theirs, ours) {
            (Ok((_, log)), Ok(mapping)) => {
                let of = mapping.resource.group_version().path();
                let middle = if mapping.namespaced { "/namespaces/default" } else { "" };
                let path = format!("{of}{middle}/{}?", mapping.resource.resource);
                assert!(log.contains(&path), "{argument}: ours {path}, kubectl {log}");
            }
            (Err(theirs), Err(ours)) => {
                let expected = format!("error: {}\n", ours.message());
                assert!(
                    theirs.to_string().contains(&expected),
                    "{argument}: kubectl {theirs}, ours {expected}"
                );
            }
            (theirs, ours) => return Err(format!("{argument}: kubectl {theirs:?}, ours {ours:?}").into()),
        }
    }
    let toys = mapper.category("toys").await?;
    assert_eq!(toys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["gadgets.shop.example.com"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_reads_our_disk_cache() -> Outcome {
    let environment = Environment::start().await?;
    let get = ["get", "gadgets,po,deploy", "-v=6"];
    let (_, log) = environment.kubectl("empty", &get).await?;
    assert_eq!(
        discovery_requests(&log, &environment.config).len(),
        2,
        "without a cache kubectl requests both documents: {log}"
    );

    let directories = environment.directories("ours");
    let client =
        environment.client()?.http_cache(HttpCache::new(&*directories.http, &environment.config.server));
    let cache = DiskCache::new(Arc::new(client), directories.discovery, KUBECTL_TTL);
    let found = cache.discover().await?;
    assert!(found.partial().is_none());

    let (_, log) = environment.kubectl("ours", &get).await?;
    assert!(log.contains("/apis/apps/v1/namespaces/default/deployments"), "{log}");
    assert_eq!(discovery_requests(&log, &environment.config), BTreeSet::new(), "{log}");
    let (table, log) =
        environment.kubectl("ours", &["api-resources", "--cached", "-o", "wide", "-v=6"]).await?;
    assert_eq!(discovery_requests(&log, &environment.config), BTreeSet::new(), "{log}");
    assert_same("cached", &rows(&table)?, &our_rows(&found));

    // Once the discovery cache is gone, kubectl sends the ETags of our HTTP cache.
    fs::remove_dir_all(environment.root("ours").join("discovery"))?;
    let (_, log) = environment.kubectl("ours", &["api-resources", "-v=8"]).await?;
    let (_, control) = environment.kubectl("none", &["api-resources", "-v=8"]).await?;
    let not_modified =
        |log: &str| log.matches("X-From-Cache").count() + log.matches("304 Not Modified").count();
    assert_eq!(not_modified(&control), 0, "{control}");
    assert!(not_modified(&log) >= 2, "{log}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn we_read_the_disk_cache_of_kubectl() -> Outcome {
    let environment = Environment::start().await?;
    environment.kubectl("theirs", &["api-resources"]).await?;
    let directories = environment.directories("theirs");
    let mut unreachable = environment.config.clone();
    unreachable.server = "https://127.0.0.1:1".parse()?;
    let transport = Transport::from_config(&unreachable)?;
    let client = DiscoveryClient::new(RestClient::new(transport, "/", Content::json()));
    let cache = DiskCache::new(Arc::new(client), directories.discovery, KUBECTL_TTL);
    let found = cache.discover().await?;
    assert!(found.partial().is_none() && !cache.fresh());
    let live = environment.client()?.discover().await?;
    assert_eq!(found.groups, live.groups);

    // The HTTP cache of kubectl: a 304 leaves a file unchanged, any other response replaces it.
    let before = contents(&directories.http)?;
    assert!(before.len() >= 2, "{}", before.len());
    let client =
        environment.client()?.http_cache(HttpCache::new(&*directories.http, &environment.config.server));
    assert_eq!(client.discover().await?.groups, live.groups);
    assert_eq!(contents(&directories.http)?, before);
    Ok(())
}

/// Reads all files of a directory.
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
