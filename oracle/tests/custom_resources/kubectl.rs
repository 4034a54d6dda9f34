//! kubectl, with the real server and with ours: it says the same.

use std::path::Path;

use tempfile::TempDir;
use tokio::time::timeout;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Cluster, Kubectl, Said};

use super::{Outcome, PATIENCE};

const WIDGET: &str =
    r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"red"}}"#;

/// Plays the script, and returns what was said.
async fn play(kubectl: &Kubectl, files: &Path) -> Outcome<Vec<(String, Said)>> {
    let file = |name: &str| files.join(name).to_string_lossy().into_owned();
    let (definitions, widget) = (file("definitions.json"), file("widget.json"));
    let mut said = Vec::new();
    for line in [
        "apply -f DEFINITIONS",
        "wait --for=condition=Established --timeout=60s crd/widgets.example.com crd/crates.example.com",
    ] {
        said.push((line.to_owned(), kubectl.run(words(line, &definitions, &widget), "").await?));
    }
    // The real server says that it is established before all of it knows.
    timeout(PATIENCE, async {
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
        said.push((line.to_owned(), kubectl.run(words(line, &definitions, &widget), "").await?));
    }
    Ok(said)
}

fn words<'a>(line: &'a str, definitions: &'a str, widget: &'a str) -> Vec<&'a str> {
    let word = |word: &'a str| match word {
        "DEFINITIONS" => definitions,
        "WIDGET" => widget,
        word => word,
    };
    line.split(' ').map(word).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_says_the_same_of_both() -> Outcome {
    let (cluster, server) = (Cluster::start().await?, ApiServer::builder().start().await?);
    let files = TempDir::new()?;
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": super::definitions()});
    std::fs::write(files.path().join("definitions.json"), list.to_string())?;
    std::fs::write(files.path().join("widget.json"), WIDGET)?;
    let kubeconfig = files.path().join("kubeconfig");
    server.kubeconfig().write(&kubeconfig)?;
    let ours = Kubectl::new(&kubeconfig, files.path())?;
    let (theirs, ours) = tokio::try_join!(play(cluster.kubectl(), files.path()), play(&ours, files.path()))?;
    server.stop().await;
    let differ = theirs.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours);
    let report: Vec<String> = differ
        .map(|(theirs, ours)| format!("{}\n real {:?}\n ours {:?}", theirs.0, theirs.1, ours.1))
        .collect();
    assert!(report.is_empty(), "{}", report.join("\n"));
    Ok(())
}
