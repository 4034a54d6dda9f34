//! The HTTP handler chain: authentication of the real kubectl, and whether recorded responses of the real server are
//! current.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use http::{Method, StatusCode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::http::*;
use watchkeeper_core::Status;
use watchkeeper_oracle::{Cluster, CommandOutput, Kubectl};

/// Serves the name of the user at `/whoami`.
struct Whoami;

impl Handler for Whoami {
    async fn handle(&self, request: Request) -> Result<Response, Status> {
        match request.target {
            Target::Path(path) if path == "/whoami" => Ok(Response::text(StatusCode::OK, request.user.name)),
            Target::Path(_) => Ok(Response::page_not_found()),
            Target::Resource(_) => Err(no_such_resource()),
        }
    }
}

async fn kubectl(kubeconfig: &Path, arguments: &[&str]) -> CommandOutput {
    Kubectl::new(kubeconfig, kubeconfig.parent().unwrap()).unwrap().run(arguments, "").await.unwrap()
}

/// Runs kubectl, which must succeed without warnings, and returns its output.
async fn kubectl_output(kubeconfig: &Path, arguments: &[&str]) -> String {
    let CommandOutput { code, out, error } = kubectl(kubeconfig, arguments).await;
    assert_eq!((code, &*error), (Some(0), ""), "{arguments:?}");
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_authenticates_by_token_and_by_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::generate().unwrap();
    let server = authority.sign_server(&[]).unwrap();
    let security = Security::Tls(authority.serve(&server).unwrap());
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), security).await.unwrap();
    let token = random_token().unwrap();
    let authenticator = Authenticator::default().token(&token, User::new("admin", [MASTERS]));
    let certificate = authority.sign_client("jane", &[MASTERS]).unwrap();
    let config = |credentials| Kubeconfig {
        server: listener.url(),
        authority: Some(authority.certificate().to_owned()),
        credentials,
        namespace: None,
    };
    let by_token = directory.path().join("token");
    let by_certificate = directory.path().join("certificate");
    let by_wrong_token = directory.path().join("wrong-token");
    config(Credentials::Token(token)).write(&by_token).unwrap();
    config(Credentials::Certificate(certificate)).write(&by_certificate).unwrap();
    config(Credentials::Token("wrong".to_owned())).write(&by_wrong_token).unwrap();
    let stop = CancellationToken::new();
    let run = tokio::spawn(listener.run(HandlerChain::new(Whoami, authenticator), stop.clone()));

    for (kubeconfig, name) in [(&by_token, "admin"), (&by_certificate, "jane")] {
        let version = kubectl_output(kubeconfig, &["version"]).await;
        assert!(version.contains("Server Version: v1.37.1+watchkeeper"), "{version}");
        let ready = kubectl_output(kubeconfig, &["get", "--raw", "/readyz?verbose"]).await;
        assert_eq!(ready, "[+]ping ok\nreadyz check passed\n");
        assert_eq!(kubectl_output(kubeconfig, &["get", "--raw", "/whoami"]).await, name);
    }
    let rejected = kubectl(&by_wrong_token, &["get", "--raw", "/whoami"]).await;
    assert!(rejected.error.contains("You must be logged in to the server"), "{rejected:?}");
    stop.cancel();
    run.await.unwrap();
}

/// Unit tests compare how we parse the query of a list with `list_options.tsv`. This test compares that file with the real
/// server.
#[tokio::test(flavor = "multi_thread")]
async fn the_recorded_responses_to_list_options_are_current() {
    let cluster = Cluster::start().await.unwrap();
    let recorded = include_str!("../../crates/watchkeeper-apiserver/src/http/testdata/list_options.tsv");
    for line in recorded.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let path = format!("/api/v1/namespaces/default/configmaps?{}", fields[0]);
        let response = cluster.request(Method::GET, &path, "application/json").await.unwrap();
        assert_eq!(response.status().as_str(), fields[1], "{line}");
        if let [_, _, reason, message, _] = fields[..] {
            let status: Value = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(status["reason"].as_str().unwrap_or_default(), reason, "{line}");
            assert_eq!(status["message"], serde_json::from_str::<Value>(message).unwrap(), "{line}");
        }
    }
}

/// Compares `field_validation.jsonl` with the real server.
#[tokio::test(flavor = "multi_thread")]
async fn the_recorded_responses_of_field_validation_are_current() {
    let cluster = Cluster::start().await.unwrap();
    for line in
        include_str!("../../crates/watchkeeper-apiserver/src/http/testdata/field_validation.jsonl").lines()
    {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        let path = match text("kind").as_str() {
            "pod" => "/api/v1/namespaces/default/pods",
            "cm" => "/api/v1/namespaces/default/configmaps",
            "svc" => "/api/v1/namespaces/default/services",
            "dep" => "/apis/apps/v1/namespaces/default/deployments",
            "rev" => "/apis/apps/v1/namespaces/default/controllerrevisions",
            "crd" => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            other => panic!("unknown kind {other}"),
        };
        for validation in ["Strict", "Warn", "Ignore"] {
            let Some(recorded) = record.get(validation) else { continue };
            let request = http::Request::post(format!("{path}?dryRun=All&fieldValidation={validation}"))
                .header("content-type", text("ct"))
                .body(text("body").into())
                .unwrap();
            let response = cluster.send(request).await.unwrap();
            assert_eq!(u64::from(response.status().as_u16()), recorded[0], "{validation} {line}");
            let warnings = response.headers().get_all("warning").iter();
            let warnings: Vec<_> = warnings.map(|it| String::from_utf8_lossy(it.as_bytes())).collect();
            assert_eq!(serde_json::json!(warnings), recorded[2], "{validation} {line}");
            if response.status() == StatusCode::BAD_REQUEST {
                let status: Value = serde_json::from_slice(response.body()).unwrap();
                assert_eq!(status["message"], recorded[1], "{validation} {line}");
            }
        }
    }
}
