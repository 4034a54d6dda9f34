//! kubectl prints the same for custom resources of the real server and of ours.

use std::path::Path;

use tempfile::TempDir;
use tokio::time::timeout;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Cluster, CommandOutput, Kubectl};

use super::{Outcome, TIMEOUT};

const WIDGET: &str =
    r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"red"}}"#;

/// Runs the commands, and returns each with its output.
async fn run_commands(kubectl: &Kubectl, files: &Path) -> Outcome<Vec<(String, CommandOutput)>> {
    let file = |name: &str| files.join(name).to_string_lossy().into_owned();
    let (definitions, widget) = (file("definitions.json"), file("widget.json"));
    let mut outputs = Vec::new();
    for line in [
        "apply -f DEFINITIONS",
        "wait --for=condition=Established --timeout=60s crd/widgets.example.com crd/crates.example.com",
    ] {
        outputs.push((line.to_owned(), kubectl.run(arguments(line, &definitions, &widget), "").await?));
    }
    // The real server reports a definition as established before all of its handlers serve it.
    timeout(TIMEOUT, async {
        let apply = ["apply", "-f", &widget, "--dry-run=server"];
        while kubectl.run(apply, "").await?.code != Some(0) {}
        Outcome::Ok(())
    })
    .await??;
    for line in [
        "apply -f WIDGET",
        "apply -f WIDGET",
        "apply -f DEFINITIONS",
        "get wd -o name",
        "get toys -o name",
        "get widgets -o wide --no-headers=false",
        "get widget a -o jsonpath={.spec}",
        "explain widget",
        "explain widget.spec.color",
        "explain widgets.spec --api-version=example.com/v1beta1 --recursive",
        "scale widget a --replicas=3",
        "get widget a -o jsonpath={.spec.size}",
        "patch widget a --subresource=status --type=merge -p {\"status\":{\"size\":2}}",
        "get widget a --subresource=status -o jsonpath={.status}",
        "get widget a --subresource=scale -o jsonpath={.spec.replicas}/{.status.replicas}",
        "patch widget a --type=merge -p {\"spec\":{\"color\":\"pink\"}}",
        "label widget a x=y",
        "annotate widget a x=y",
        "get widgets -l x=y -o name",
        "get widgets --field-selector=spec.color=red -o name",
        "get widgets.v1beta1.example.com -o name",
        "apply --server-side -f WIDGET --field-manager=other",
        "create -f WIDGET",
        "replace -f WIDGET",
        "delete widget a",
        "get widgets",
        "create -f WIDGET",
        "delete crd widgets.example.com crates.example.com",
        "get widgets",
    ] {
        outputs.push((line.to_owned(), kubectl.run(arguments(line, &definitions, &widget), "").await?));
    }
    Ok(outputs)
}

/// Splits a command, and replaces the placeholders of the two files.
fn arguments<'a>(line: &'a str, definitions: &'a str, widget: &'a str) -> Vec<&'a str> {
    let argument = |word: &'a str| match word {
        "DEFINITIONS" => definitions,
        "WIDGET" => widget,
        word => word,
    };
    line.split(' ').map(argument).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_the_same_for_both_servers() -> Outcome {
    let (cluster, server) = (Cluster::start().await?, ApiServer::builder().start().await?);
    let files = TempDir::new()?;
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": super::definitions()});
    std::fs::write(files.path().join("definitions.json"), list.to_string())?;
    std::fs::write(files.path().join("widget.json"), WIDGET)?;
    let kubeconfig = files.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig)?;
    let ours = Kubectl::new(&kubeconfig, files.path())?;
    let (theirs, ours) =
        tokio::try_join!(run_commands(cluster.kubectl(), files.path()), run_commands(&ours, files.path()))?;
    server.stop().await;
    let different = theirs.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours);
    let report: Vec<String> = different
        .map(|(theirs, ours)| format!("{}\n real {:?}\n ours {:?}", theirs.0, theirs.1, ours.1))
        .collect();
    assert!(report.is_empty(), "{}", report.join("\n"));
    Ok(())
}
