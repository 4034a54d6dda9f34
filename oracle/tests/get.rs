//! `watchkeeper get` says what `kubectl get` says, to the byte, of both servers: what is printed, what is
//! complained of, and how it exits.
//!
//! `get/commands.txt` has the commands. What is different on purpose is in [`DIFFERENCES`].

use std::time::SystemTime;

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use watchkeeper_apiserver::registry::{self, Verb};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Cluster, Kubectl, Said};

#[path = "get/going.rs"]
mod going;
#[path = "printed_tables/objects.rs"]
#[allow(dead_code, reason = "another test makes random pods of it as well")]
mod objects;
#[path = "get/program.rs"]
mod program;
#[path = "get/stage.rs"]
mod stage;

use going::{Going, ageless};
use objects::{creation, find};
use stage::{Stage, split};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const COMMANDS: &str = include_str!("get/commands.txt");

/// A command of which both say something else on standard error: kubectl, and ours.
const DIFFERENCES: [(&str, &str, &str); 7] = [
    (
        "get depoyments", // what may have been meant
        "error: the server doesn't have a resource type \"depoyments\"\n",
        "error: the server doesn't have a resource type \"depoyments\"; did you mean \"deployments\" or \
         \"deployment\"?\n",
    ),
    (
        "get nothing",
        "error: the server doesn't have a resource type \"nothing\"\n",
        "error: the server doesn't have a resource type \"nothing\"; did you mean \"thing\"?\n",
    ),
    (
        "get nothing.example.org",
        "error: the server doesn't have a resource type \"nothing\" in group \"example.org\"\n",
        "error: the server doesn't have a resource type \"nothing\" in group \"example.org\"; did you mean \"thing\"?\n",
    ),
    (
        "get pods -o xml", // Go's templates are Go's
        "error: unable to match a printer suitable for the output format \"xml\", allowed formats are: \
         custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,\
         jsonpath-file,kyaml,name,template,templatefile,wide,yaml\n",
        "error: unable to match a printer suitable for the output format \"xml\", allowed formats are: \
         custom-columns,custom-columns-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,wide,yaml\n",
    ),
    (
        "get pods --sort-by=.nope", // kubectl forgets the error, and says that there is nothing
        "No resources found in default namespace.\n",
        "error: couldn't find any field with path \"{.nope}\" in the list of objects\n",
    ),
    (
        "get configmaps,services --sort-by=.metadata.name", // kubectl looks for the field in the tables
        "error: couldn't find any field with path \"{.metadata.name}\" in the list of objects\n",
        "",
    ),
    (
        "get pods --context=none", // which there are
        "Error in configuration: context was not found for specified context: none\n",
        "error: context \"none\" does not exist (there are: CONTEXT)\n",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_get_says_is_what_kubectl_says_of_the_embedded_server() -> Outcome {
    let server = ApiServer::builder().start().await?;
    compare(&Stage::embedded(&server)?).await?;
    server.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_get_says_is_what_kubectl_says_of_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    compare(&Stage::set(TempDir::new()?, cluster.kubeconfig())?).await
}

async fn compare(stage: &Stage) -> Outcome {
    let refused = stage.fill().await?;
    let mut commands: Vec<String> =
        COMMANDS.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let listed: Vec<String> = registry::builtin()
        .iter()
        // The real server has component statuses in another order each time.
        .filter(|row| row.name != "componentstatuses")
        .filter(|row| row.verbs.contains(Verb::List) && row.verbs.contains(Verb::Get))
        .map(|row| format!("{}.{}.{}", row.name, row.version, row.group))
        .collect();
    for resource in &listed {
        commands.push(format!("get {resource} -A"));
    }
    for format in ["wide", "json", "yaml", "name"] {
        commands.push(format!("get {} -A -o {format}", listed.join(",")));
    }
    let wrong = stage.differing(&commands).await?;
    for (command, theirs, ours) in DIFFERENCES {
        let [kubectl, watchkeeper] = stage.once(command).await?;
        let ours = ours.replace("CONTEXT", &stage.context().await?);
        assert_eq!(
            (kubectl.error.as_str(), watchkeeper.error.as_str()),
            (theirs, ours.as_str()),
            "{command}"
        );
    }
    println!("{} commands; not made: {refused:?}", commands.len());
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), commands.len(), wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_watch_prints_is_what_kubectl_prints() -> Outcome {
    let server = ApiServer::builder().start().await?;
    let stage = Stage::embedded(&server)?;
    let path = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    stage.send(Method::POST, path, &map("first", json!({}))).await??;
    // How many lines there are before anything happens, and how many of what happens then.
    for (round, (command, before, after)) in [
        ("get configmaps -w", 2, 3),
        ("get configmaps -w --output-watch-events", 2, 3),
        ("get configmaps -w -o name", 1, 3),
        ("get configmaps -w -A --show-labels", 2, 3),
        ("get configmaps --watch-only --no-headers", 0, 3),
        ("get configmaps -w -o 'jsonpath={.metadata.name}{.data}{\"\\n\"}'", 1, 3),
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = split(command);
        let start = |side: &Kubectl| Going::start(side.command(&arguments));
        let mut going = [start(&stage.theirs)?, start(&stage.ours)?];
        let mut lines = [Vec::new(), Vec::new()];
        for (going, lines) in going.iter_mut().zip(&mut lines) {
            match before {
                // Nothing says that such a watch has begun but what it says.
                0 => {
                    while !going.says_something().await? {
                        let now = map("first", json!({"now": format!("{:?}", SystemTime::now())}));
                        stage.send(Method::PUT, &format!("{path}/first"), &now).await??;
                    }
                }
                before => lines.extend(going.lines(before).await?),
            }
        }
        let name = format!("second-{round}-with-a-long-name");
        stage.send(Method::POST, path, &map(&name, json!({"a": "b"}))).await??;
        stage
            .send(Method::PUT, &format!("{path}/first"), &map("first", json!({"n": round.to_string()})))
            .await??;
        stage.send(Method::DELETE, &format!("{path}/{name}"), &json!({})).await??;
        for (going, lines) in going.iter_mut().zip(&mut lines) {
            if before == 0 {
                going.skip_until(&name).await?;
            }
            lines.extend(going.lines(after - usize::from(before == 0)).await?);
        }
        let [theirs, ours] = lines.map(|lines| lines.iter().map(|line| ageless(line)).collect::<Vec<_>>());
        assert_eq!(theirs, ours, "{command}");
    }
    server.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_runs_it_as_its_plugin() -> Outcome {
    let server = ApiServer::builder().start().await?;
    let stage = Stage::embedded(&server)?;
    let plugins = TempDir::new()?;
    std::os::unix::fs::symlink(program::build()?, plugins.path().join("kubectl-watchkeeper"))?;
    let plugged = async |line: &str| {
        let mut command = stage.theirs.command(split(line));
        command.env("PATH", plugins.path());
        Said::of(command, "").await
    };
    let get = plugged("watchkeeper get namespaces -o name").await?;
    let theirs = stage.theirs.says(split("get namespaces -o name"), "").await?;
    assert_eq!((get.out, get.code), (theirs, Some(0)));
    let help = plugged("watchkeeper get --help").await?.out;
    assert!(help.contains("Usage: kubectl watchkeeper get "), "{help}");
    let lost = plugged("watchkeeper get").await?;
    assert!(lost.error.contains("Use \"kubectl watchkeeper api-resources\""), "{lost:?}");
    assert_eq!(lost.code, Some(1));
    server.stop().await;
    Ok(())
}

impl Stage {
    async fn context(&self) -> Outcome<String> {
        let names = self.theirs.says(split("config get-contexts -o name"), "").await?;
        Ok(names.lines().collect::<Vec<_>>().join(", "))
    }

    /// Objects of every kind. Returns what the server would not take.
    async fn fill(&self) -> Outcome<Vec<String>> {
        let (names, definition) = definition();
        self.create(names, &definition).await??;
        self.create_widget().await?; // before there is a quota for them, which nobody counts on the real server
        let mut refused = Vec::new();
        for (names, object) in [odd()].into_iter().chain(objects::objects()) {
            if let Err(refusal) = self.create(names, &object).await? {
                refused.push(format!("{names} {}: {refusal}", object["metadata"]["name"]));
            }
        }
        let empty = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}});
        self.send(Method::POST, "/api/v1/namespaces", &empty).await??;
        Ok(refused)
    }

    /// An object of the definition, once that is served.
    async fn create_widget(&self) -> Outcome {
        let path = "/apis/example.com/v1/namespaces/default/widgets";
        let mut last = String::new();
        for _ in 0..100 {
            match self.send(Method::POST, path, &widget()).await? {
                Ok(()) => return Ok(()),
                Err(refusal) => last = refusal,
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await; // until the definition is served
        }
        Err(format!("the definition is not served: {last}").into())
    }

    async fn create(&self, names: &str, object: &Value) -> Outcome<Result<(), String>> {
        let (all, body) = creation(names, object.clone());
        let created = self.send(Method::POST, &all, &body).await?;
        let one = format!("{all}/{}", object["metadata"]["name"].as_str().unwrap_or_default());
        match object.get("status").filter(|_| created.is_ok() && find(names).subresource("status").is_some())
        {
            Some(status) => {
                self.send(Method::PATCH, &format!("{one}/status"), &json!({ "status": status })).await
            }
            None => Ok(created),
        }
    }
}

/// Texts that YAML, JSON and terminals have trouble with.
fn odd() -> (&'static str, Value) {
    let sentence =
        "a sentence that goes past the eightieth column, where YAML is folded, and some way further";
    let metadata = json!({
        "name": "odd",
        "labels": {"app": "web", "app.kubernetes.io/name": "x"},
        "annotations": {"long": format!("{sentence}   with several spaces in it, and a tail"), "colon": format!("{sentence}: y")},
    });
    let data = json!({
        "lines": "one\ntwo\n", "more-lines": "one\n\n\n", "ragged": "one \ntwo", "indented": "  one\ntwo", "break": "\n",
        "truth": "true", "yes": "y", "number": "1e3", "octal": "010", "sixtieths": "12:30", "day": "2020-01-02",
        "moment": "2020-01-02T03:04:05Z", "no-day": "2020-ab-cd", "html": "<a> & \u{2028}", "escape": "\u{1b}[31mred",
        "item": "- x", "empty": "", "tab": "\ttab", "space": " x", "comment": "#x", "late-comment": "x #y", "quote": "'x'",
        "double": "\"x\"", "colon": "x:", "question": "? x", "star": "*x", "null": "null", "tilde": "~", "dash": "-",
        "unicode": format!("\u{e4}\u{65e5}\u{672c} {sentence}"), "emoji": format!("\u{1f600} {sentence}  twice"),
        "word": "w".repeat(100), "word-and": format!("{} and {sentence}", "w".repeat(100)),
        "block": format!("{sentence}\n{sentence}\n"), "merge": "<<", "equals": "=", "backslash": "a\\b", "nbsp": "a\u{a0}b",
    });
    ("/v1/configmaps", json!({"metadata": metadata, "data": data}))
}

fn definition() -> (&'static str, Value) {
    let description =
        "A description that goes past the eightieth column: with a colon, # and 'quotes' in it.";
    let schema =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": description});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [{"name": "Size", "type": "number", "jsonPath": ".spec.half"},
            {"name": "Hidden", "type": "string", "jsonPath": ".spec.text", "priority": 1}]});
    let names = json!({"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]});
    let spec = json!({"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]});
    (
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        json!({"metadata": {"name": "widgets.example.com"}, "spec": spec}),
    )
}

fn widget() -> Value {
    let spec = json!({"half": 0.5, "large": 1e23, "small": 1e-7, "million": 1234567.5, "whole": 3, "list": [], "map": {},
        "text": "a\nb", "nested": [[1, 2], [{"a": []}]]});
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}
