//! Discovery: the discovery and OpenAPI documents of watchkeeper-apiserver match the real server's for the groups that it
//! serves, and so do the supported field selectors and the errors for others.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use http::Method;
use serde_json::Value;
use watchkeeper_apiserver::discovery::{self, Aggregated, Document, Root};
use watchkeeper_apiserver::registry::{Verb, builtin};
use watchkeeper_core::FieldSelector;
use watchkeeper_oracle::{Cluster, Kubectl};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[tokio::test(flavor = "multi_thread")]
async fn discovery_documents_match_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    for (root, path) in [(Root::Api, "/api"), (Root::Apis, "/apis")] {
        let format = Aggregated::V2;
        let response = cluster.request(Method::GET, path, format.content_type()).await?;
        assert_eq!(response.headers()["content-type"], format.content_type());
        let ours = discovery::aggregated(builtin(), root, format);
        assert_eq!(ours.content_type, format.content_type());
        let mut real: Value = serde_json::from_slice(response.body())?;
        keep_served(&mut real["items"], |group| {
            group["metadata"]["name"].as_str().unwrap_or_default().to_owned()
        });
        assert_same(path, &real, &read(&ours)?);
    }

    let mut versions = get(&cluster, "/api").await?;
    let address = versions["serverAddressByClientCIDRs"][0]["serverAddress"].take();
    let address = address.as_str().unwrap_or_default();
    let ours = read(&discovery::api_versions(builtin(), address))?;
    versions["serverAddressByClientCIDRs"][0]["serverAddress"] = address.into();
    assert_same("/api", &versions, &ours);

    let mut groups = get(&cluster, "/apis").await?;
    keep_served(&mut groups["groups"], |group| group["name"].as_str().unwrap_or_default().to_owned());
    assert_same("/apis", &groups, &read(&discovery::api_group_list(builtin()))?);

    for group in builtin().groups() {
        if !group.is_empty() {
            let path = format!("/apis/{group}");
            let mut real = get(&cluster, &path).await?;
            keep_versions(&mut real, group);
            assert_same(
                &path,
                &real,
                &read(&discovery::api_group(builtin(), group).ok_or("group not found")?)?,
            );
        }
        for version in builtin().versions(group) {
            let path = builtin()
                .resources(group, version)
                .next()
                .ok_or("version without resources")?
                .group_version()
                .path();
            let mut real = get(&cluster, &path).await?;
            for resource in real["resources"].as_array_mut().into_iter().flatten() {
                // A hash of the storage version, which is an implementation detail of each server.
                resource.as_object_mut().ok_or("resource is not an object")?.remove("storageVersionHash");
            }
            let ours = discovery::api_resource_list(builtin(), group, version).ok_or("version not found")?;
            assert_same(&path, &real, &read(&ours)?);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_write_operations_match_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    let index = get(&cluster, "/openapi/v3").await?;
    let ours = read(&discovery::openapi_index(builtin()))?;
    for (path, entry) in ours["paths"].as_object().into_iter().flatten() {
        let real = &index["paths"][path]["serverRelativeURL"];
        let without_hash =
            |url: &Value| url.as_str().unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
        assert_eq!(without_hash(real), without_hash(&entry["serverRelativeURL"]));
    }
    let mut compared = 0;
    for group in builtin().groups() {
        for version in builtin().versions(group) {
            let path = builtin()
                .resources(group, version)
                .next()
                .ok_or("version without resources")?
                .group_version()
                .path();
            let real = write_operations(&get(&cluster, &format!("/openapi/v3{path}")).await?);
            let ours = write_operations(&read(
                &discovery::openapi(builtin(), group, version).ok_or("document not found")?,
            )?);
            for (at, write) in &real {
                assert_eq!(ours.get(at), Some(write), "{at:?}");
            }
            for at in ours.keys() {
                assert!(real.contains_key(at), "the real server does not have {at:?}");
            }
            compared += ours.len();
        }
    }
    println!("{compared} write operations");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn field_selectors_are_accepted_and_rejected_as_on_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    let common = ["metadata.name", "metadata.namespace", "name", "spec.nodeName", "status.replicas"];
    let mut compared = 0;
    for row in builtin().iter().filter(|row| row.verbs.contains(Verb::Watch)) {
        let own = row.fields.own.iter().map(|field| &*field.label);
        for label in own.chain(common) {
            let path = format!("{}/{}?fieldSelector={label}%3Dx", row.group_version().path(), row.name);
            let response = cluster.request(Method::GET, &path, "application/json").await?;
            let real: Value = serde_json::from_slice(response.body())?;
            let ours = row.check_fields(&FieldSelector::parse(&format!("{label}=x"))?);
            let ours = ours.err().map(|error| error.to_string());
            assert_eq!(real["message"].as_str(), ours.as_deref(), "{path}");
            assert_eq!(response.status().is_success(), ours.is_none(), "{path}");
            compared += 1;
        }
    }
    println!("{compared} field selectors");
    Ok(())
}

/// Starts a server that serves only our documents and accepts every POST. Returns its URL.
fn serve_documents() -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || respond(stream).expect("failed to respond to kubectl"));
        }
    });
    Ok(url)
}

/// Responds to one request and closes the connection.
fn respond(stream: TcpStream) -> Outcome {
    let mut reader = BufReader::new(stream);
    let (mut request_line, mut length, mut aggregated) = (String::new(), 0, false);
    reader.read_line(&mut request_line)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        match line.split_once(": ") {
            Some(("content-length", value)) => length = value.parse()?,
            Some(("accept", value)) => aggregated = value.contains("apigroupdiscoverylist"),
            None if line.is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let words: Vec<&str> = request_line.split(' ').collect();
    let path = words[1].split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let document = match (words[0], &parts[..]) {
        ("GET", ["api"]) if aggregated => Some(discovery::aggregated(builtin(), Root::Api, Aggregated::V2)),
        ("GET", ["apis"]) if aggregated => Some(discovery::aggregated(builtin(), Root::Apis, Aggregated::V2)),
        ("GET", ["api"]) => Some(discovery::api_versions(builtin(), "127.0.0.1")),
        ("GET", ["apis"]) => Some(discovery::api_group_list(builtin())),
        ("GET", ["openapi", "v3"]) => Some(discovery::openapi_index(builtin())),
        ("GET", ["openapi", "v3", "api", version]) => discovery::openapi(builtin(), "", version),
        ("GET", ["openapi", "v3", "apis", group, version]) => discovery::openapi(builtin(), group, version),
        _ => None,
    };
    let (status, content_type, body) = match document {
        Some(document) => ("200 OK", document.content_type, document.body.to_vec()),
        None if words[0] == "POST" && path.contains("/namespaces/") => {
            ("201 Created", "application/json", body)
        }
        None => ("404 Not Found", "text/plain", b"404 page not found".to_vec()),
    };
    let mut stream = reader.into_inner();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_works_with_our_documents_alone() -> Outcome {
    let cluster = Cluster::start().await?;
    let url = serve_documents()?;
    let without_server = Kubectl::new(Path::new("/dev/null"), &cluster.directory().join("our-home"))?;
    let kubectl = async |arguments: &[&str], ours: bool| match ours {
        false => cluster.kubectl().stdout(arguments, "").await,
        true => without_server.stdout(["--server", &url].iter().chain(arguments), "").await,
    };
    let served: BTreeSet<String> = builtin().iter().map(|row| row.group_version().to_string()).collect();
    for arguments in [&["api-resources", "-o", "wide", "--no-headers"][..], &["api-versions"][..]] {
        let words = |text: &str| -> Vec<Vec<String>> {
            let lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect());
            lines.filter(|line: &Vec<String>| line.iter().any(|word| served.contains(word))).collect()
        };
        let (real, ours) = (kubectl(arguments, false).await?, kubectl(arguments, true).await?);
        assert_eq!(words(&real), words(&ours), "{arguments:?}");
        assert_eq!(words(&ours).len(), ours.lines().count(), "{arguments:?}");
    }

    let files = [
        (
            "pod",
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"},
                    "spec":{"containers":[{"name":"c","image":"i"}]}}"#,
            "pod/a created\n",
        ),
        (
            "deployment",
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"default"},
                    "spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
                    "spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
            "deployment.apps/a created\n",
        ),
        (
            "autoscaler",
            r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a",
                    "namespace":"default"},"spec":{"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"a"}}}"#,
            "horizontalpodautoscaler.autoscaling/a created\n",
        ),
    ];
    for (name, body, expected) in files {
        let file = cluster.directory().join(format!("{name}.json"));
        std::fs::write(&file, body)?;
        let file = file.to_str().ok_or("path is not UTF-8")?;
        assert_eq!(kubectl(&["create", "-f", file], true).await?, expected);
    }
    Ok(())
}

/// The versions of a group that we serve.
fn served_versions(group: &str) -> Vec<&'static str> {
    builtin().versions(group)
}

/// Keeps only the groups and versions that we serve.
fn keep_served(groups: &mut Value, name: impl Fn(&Value) -> String) {
    if let Some(groups) = groups.as_array_mut() {
        groups.retain(|group| !served_versions(&name(group)).is_empty());
        for group in groups {
            let name = name(group);
            keep_versions(group, &name);
        }
    }
}

fn keep_versions(group: &mut Value, name: &str) {
    if let Some(versions) = group["versions"].as_array_mut() {
        versions.retain(|version| {
            served_versions(name).contains(&version["version"].as_str().unwrap_or_default())
        });
    }
}

/// Returns kind, action and query parameters of each write operation except connects, by method and path.
fn write_operations(document: &Value) -> BTreeMap<(String, String), Value> {
    let mut all = BTreeMap::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for method in ["patch", "post", "put"] {
            let Some(write) = item.get(method) else { continue };
            if write["x-kubernetes-action"] == "connect" {
                continue;
            }
            // Parameters can also be set for the path.
            let parameters =
                [&write["parameters"], &item["parameters"]].into_iter().filter_map(Value::as_array).flatten();
            let mut query: Vec<&str> = parameters
                .filter(|parameter| parameter["in"] == "query" && parameter["name"] != "pretty")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            query.sort_unstable();
            let operation = serde_json::json!({
                "action": write["x-kubernetes-action"],
                "kind": write["x-kubernetes-group-version-kind"],
                "query": query,
            });
            all.insert((method.to_owned(), path.clone()), operation);
        }
    }
    all
}

fn assert_same(path: &str, real: &Value, ours: &Value) {
    if let Some(difference) = first_difference("", real, ours) {
        panic!("{path}: {difference}");
    }
}

fn first_difference(at: &str, real: &Value, ours: &Value) -> Option<String> {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            let names: BTreeSet<&String> = real.keys().chain(ours.keys()).collect();
            let field = |fields: &serde_json::Map<String, Value>, name: &String| {
                fields.get(name).cloned().unwrap_or_default()
            };
            names.into_iter().find_map(|name| {
                first_difference(&format!("{at}.{name}"), &field(real, name), &field(ours, name))
            })
        }
        (Value::Array(real), Value::Array(ours)) if real.len() == ours.len() => {
            real.iter().zip(ours).enumerate().find_map(|(position, (real, ours))| {
                first_difference(&format!("{at}[{position}]"), real, ours)
            })
        }
        _ => (real != ours).then(|| format!("{at}: real {real}, ours {ours}")),
    }
}

fn read(document: &Document) -> Outcome<Value> {
    Ok(serde_json::from_slice(&document.body)?)
}

async fn get(cluster: &Cluster, path: &str) -> Outcome<Value> {
    let response = cluster.request(Method::GET, path, "application/json").await?;
    assert!(response.status().is_success(), "{path}: {}", response.status());
    Ok(serde_json::from_slice(response.body())?)
}
