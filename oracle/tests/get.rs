//! `watchkeeper get` prints byte for byte what `kubectl get` prints, on our server and on the real one: standard output,
//! standard error and exit code.
//!
//! The commands are in `get/commands.txt`, the intended differences in [`DIFFERENCES`].

use std::time::SystemTime;

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use watchkeeper_apiserver::registry::{self, Verb};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Cluster, CommandOutput, Kubectl};

#[path = "get/environment.rs"]
mod environment;
#[path = "printed_tables/objects.rs"]
#[allow(dead_code, reason = "other tests use it to create random pods")]
mod objects;
#[path = "get/program.rs"]
mod program;
#[path = "get/running_command.rs"]
mod running_command;

use environment::{Environment, split};
use objects::{creation, find};
use running_command::{RunningCommand, ageless};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const COMMANDS: &str = include_str!("get/commands.txt");

/// Commands with different standard errors: the command, kubectl's error, and ours.
const DIFFERENCES: [(&str, &str, &str); 7] = [
    (
        "get depoyments", // we suggest similar names
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
        "get pods -o xml", // we do not support Go templates and KYAML
        "error: unable to match a printer suitable for the output format \"xml\", allowed formats are: \
         custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,\
         jsonpath-file,kyaml,name,template,templatefile,wide,yaml\n",
        "error: unable to match a printer suitable for the output format \"xml\", allowed formats are: \
         custom-columns,custom-columns-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,wide,yaml\n",
    ),
    (
        "get pods --sort-by=.nope", // kubectl discards the error and reports an empty list
        "No resources found in default namespace.\n",
        "error: couldn't find any field with path \"{.nope}\" in the list of objects\n",
    ),
    (
        "get configmaps,services --sort-by=.metadata.name", // kubectl looks up the field in the tables, not in the objects
        "error: couldn't find any field with path \"{.metadata.name}\" in the list of objects\n",
        "",
    ),
    (
        "get pods --context=none", // we list the existing contexts
        "Error in configuration: context was not found for specified context: none\n",
        "error: context \"none\" does not exist (there are: CONTEXT)\n",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn get_prints_what_kubectl_prints_on_the_embedded_server() -> Outcome {
    let server = ApiServer::builder().start().await?;
    compare(&Environment::embedded(&server)?).await?;
    server.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn get_prints_what_kubectl_prints_on_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    compare(&Environment::new(TempDir::new()?, cluster.kubeconfig())?).await
}

async fn compare(env: &Environment) -> Outcome {
    let rejected = env.create_objects().await?;
    let mut commands: Vec<String> =
        COMMANDS.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let listed: Vec<String> = registry::builtin()
        .iter()
        // The real server lists component statuses in random order.
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
    let different = env.differing(&commands).await?;
    for (command, theirs, ours) in DIFFERENCES {
        let [kubectl, watchkeeper] = env.once(command).await?;
        let ours = ours.replace("CONTEXT", &env.context_names().await?);
        assert_eq!(
            (kubectl.error.as_str(), watchkeeper.error.as_str()),
            (theirs, ours.as_str()),
            "{command}"
        );
    }
    println!("{} commands; rejected objects: {rejected:?}", commands.len());
    assert!(
        different.is_empty(),
        "{} of {} differ:\n{}",
        different.len(),
        commands.len(),
        different.join("\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn get_watch_prints_what_kubectl_prints() -> Outcome {
    let server = ApiServer::builder().start().await?;
    let env = Environment::embedded(&server)?;
    let path = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    env.send(Method::POST, path, &map("first", json!({}))).await??;
    // The number of lines before the first change, and of lines for the three changes.
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
        let start = |side: &Kubectl| RunningCommand::start(side.command(&arguments));
        let mut watches = [start(&env.theirs)?, start(&env.ours)?];
        let mut lines = [Vec::new(), Vec::new()];
        for (watch, lines) in watches.iter_mut().zip(&mut lines) {
            match before {
                // Nothing is printed when such a watch starts: change an object until it prints something.
                0 => {
                    while !watch.prints_a_line_soon().await? {
                        let now = map("first", json!({"now": format!("{:?}", SystemTime::now())}));
                        env.send(Method::PUT, &format!("{path}/first"), &now).await??;
                    }
                }
                before => lines.extend(watch.lines(before).await?),
            }
        }
        let name = format!("second-{round}-with-a-long-name");
        env.send(Method::POST, path, &map(&name, json!({"a": "b"}))).await??;
        env.send(Method::PUT, &format!("{path}/first"), &map("first", json!({"n": round.to_string()})))
            .await??;
        env.send(Method::DELETE, &format!("{path}/{name}"), &json!({})).await??;
        for (watch, lines) in watches.iter_mut().zip(&mut lines) {
            if before == 0 {
                watch.skip_until(&name).await?;
            }
            lines.extend(watch.lines(after - usize::from(before == 0)).await?);
        }
        let [theirs, ours] = lines.map(|lines| lines.iter().map(|line| ageless(line)).collect::<Vec<_>>());
        assert_eq!(theirs, ours, "{command}");
    }
    server.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_runs_the_command_as_a_plugin() -> Outcome {
    let server = ApiServer::builder().start().await?;
    let env = Environment::embedded(&server)?;
    let plugins = TempDir::new()?;
    std::os::unix::fs::symlink(program::build()?, plugins.path().join("kubectl-watchkeeper"))?;
    let run_plugin = async |line: &str| {
        let mut command = env.theirs.command(split(line));
        command.env("PATH", plugins.path());
        CommandOutput::of(command, "").await
    };
    let get = run_plugin("watchkeeper get namespaces -o name").await?;
    let theirs = env.theirs.stdout(split("get namespaces -o name"), "").await?;
    assert_eq!((get.out, get.code), (theirs, Some(0)));
    let help = run_plugin("watchkeeper get --help").await?.out;
    assert!(help.contains("Usage: kubectl watchkeeper get "), "{help}");
    let incomplete = run_plugin("watchkeeper get").await?;
    assert!(incomplete.error.contains("Use \"kubectl watchkeeper api-resources\""), "{incomplete:?}");
    assert_eq!(incomplete.code, Some(1));
    server.stop().await;
    Ok(())
}

impl Environment {
    /// The names of the contexts in the kubeconfig.
    async fn context_names(&self) -> Outcome<String> {
        let names = self.theirs.stdout(split("config get-contexts -o name"), "").await?;
        Ok(names.lines().collect::<Vec<_>>().join(", "))
    }

    /// Creates objects of every kind. Returns the errors for those that the server rejects.
    async fn create_objects(&self) -> Outcome<Vec<String>> {
        let (names, definition) = definition();
        self.create(names, &definition).await??;
        self.create_widget().await?; // before its quota, which the real server cannot compute without kube-controller-manager
        let mut rejected = Vec::new();
        for (names, object) in [unusual_texts()].into_iter().chain(objects::objects()) {
            if let Err(error) = self.create(names, &object).await? {
                rejected.push(format!("{names} {}: {error}", object["metadata"]["name"]));
            }
        }
        let empty = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}});
        self.send(Method::POST, "/api/v1/namespaces", &empty).await??;
        Ok(rejected)
    }

    /// Creates an object of the definition once the server serves it.
    async fn create_widget(&self) -> Outcome {
        let path = "/apis/example.com/v1/namespaces/default/widgets";
        let mut last = String::new();
        for _ in 0..100 {
            match self.send(Method::POST, path, &widget()).await? {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await; // until the definition is served
        }
        Err(format!("definition not served after 10s: {last}").into())
    }

    /// Creates an object, and then sets its status.
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

/// A config map with texts that need escapes or quotes in YAML, JSON or on a terminal.
fn unusual_texts() -> (&'static str, Value) {
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

/// The definition of widgets.
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
