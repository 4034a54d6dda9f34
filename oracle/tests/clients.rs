//! Every verb, method and subresource of the ClientSet and of the dynamic client has the same result on the real
//! server and on ours, in protobuf, in JSON and with dynamic objects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../crates/watchkeeper-kinds/tests/clientset/access.rs"]
mod access;
#[path = "../../crates/watchkeeper-kinds/tests/clientset/applied.rs"]
mod applied;
#[path = "../../crates/watchkeeper-kinds/tests/clientset/every_method.rs"]
mod every_method;
#[path = "../../crates/watchkeeper-kinds/tests/clientset/methods.rs"]
mod methods;
#[path = "../../crates/watchkeeper-kinds/tests/clientset/subresources.rs"]
mod subresources;
#[path = "../../crates/watchkeeper-kinds/tests/clientset/verbs.rs"]
mod verbs;

use base64::Engine as _;
use serde_json::{Value, json};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_client::resource::WriteOptions;
use watchkeeper_client::rest::PatchKind;
use watchkeeper_oracle::Cluster;
use watchkeeper_testkit::TestCluster;

use access::{Access, Target, Transcript, object};

/// The real server with a separate namespace per access method.
async fn real_target(real: &Cluster, access: Access) -> Target {
    let target = Target::new(real.kubeconfig(), &format!("test-{access:?}").to_lowercase());
    let namespace = DynamicObject::new("v1", "Namespace", &target.namespace);
    let namespaces = target.client.dynamic(&"v1".parse().unwrap(), "namespaces");
    namespaces.create(&namespace, &WriteOptions::default()).await.unwrap();
    target
}

/// Plays a scenario on both servers with every access method. The transcripts of one server must be equal.
async fn real_and_ours(play: impl AsyncFn(Access, &Target) -> Transcript) -> [Transcript; 2] {
    let real = Cluster::start().await.unwrap();
    let (mut of_real, mut of_ours) = (Vec::new(), Vec::new());
    for access in Access::ALL {
        of_real.push(play(access, &real_target(&real, access).await).await);
        let ours = TestCluster::start().await.unwrap();
        let target = Target::new(ours.kubeconfig_path(), ours.namespace());
        of_ours.push(play(access, &target).await);
        ours.stop().await;
    }
    [(of_real, "the real server"), (of_ours, "ours")].map(|(transcripts, server)| {
        let mut transcripts = transcripts.into_iter();
        let protobuf = transcripts.next().unwrap();
        for (access, transcript) in Access::ALL[1..].iter().zip(transcripts) {
            protobuf.assert_same(&transcript, &format!("{server}: protobuf, {access:?}"));
        }
        protobuf
    })
}

#[tokio::test]
async fn every_verb_has_the_same_result_as_on_the_real_server() {
    let [real, ours] = real_and_ours(verbs::play).await;
    real.assert_same(&ours, "real, ours");
    verbs::check(&real);
}

#[tokio::test]
async fn every_subresource_has_the_same_result_as_on_the_real_server() {
    let [real, ours] = real_and_ours(subresources::play).await;
    real.assert_same(&ours, "real, ours");
    subresources::check(&real);
}

/// Expected differences, with reasons.
const EXPLAINED: &[(&str, &str)] = &[
    ("authentication.k8s.io/v1 selfsubjectreviews: create ", "the administrators of the two servers differ"),
    (
        "authorization.k8s.io/v1 localsubjectaccessreviews: create ",
        "the embedded server allows everything to authenticated users",
    ),
    ("authorization.k8s.io/v1 selfsubjectrulesreviews: create ", "without RBAC there is a single rule"),
    ("authorization.k8s.io/v1 subjectaccessreviews: create ", "without RBAC any user is allowed"),
];

/// Uses dry runs, because stored samples would affect each other (webhooks, quotas).
#[tokio::test]
async fn every_method_has_the_same_result_as_on_the_real_server() {
    let dry = WriteOptions { dry_run: true, ..Default::default() };
    let [real, ours] =
        real_and_ours(async |access, target| every_method::play(access, target, &dry).await).await;
    every_method::check_embedded(&ours);
    let is_real_only =
        |step: &str| every_method::ROWS.iter().any(|row| !row.embedded && step.starts_with(&row.what()));
    let mut explained = Vec::new();
    let mut found = Vec::new();
    for (step, results) in real.differences(&ours) {
        match EXPLAINED.iter().find(|(explained, _)| step.starts_with(explained)) {
            Some((step, _)) => explained.push(*step),
            None if is_real_only(&step) => {}
            None => found.push(format!("{step}\n  {results}")),
        }
    }
    assert!(found.is_empty(), "{} steps differ:\n{}", found.len(), found.join("\n"));
    explained.dedup();
    assert_eq!(explained, EXPLAINED.iter().map(|(step, _)| *step).collect::<Vec<_>>());
}

#[tokio::test]
async fn applied_fields_can_be_extracted_from_the_real_server() {
    let real = Cluster::start().await.unwrap();
    for access in [Access::Protobuf, Access::Json] {
        let target = real_target(&real, access).await;
        Box::pin(applied::play(access, &target)).await;
    }
}

/// Returns a CertificateSigningRequest.
fn signing_request() -> Value {
    let key = rcgen::KeyPair::generate().unwrap();
    let request = rcgen::CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "a"},
        "spec": {
            "request": base64::engine::general_purpose::STANDARD.encode(request),
            "signerName": "example.com/signer",
            "usages": ["client auth"],
        },
    })
}

fn approved() -> Value {
    json!([{"type": "Approved", "status": "True", "reason": "Asked", "message": "why not"}])
}

/// The embedded server does not have this resource.
#[tokio::test]
async fn an_approval_has_the_same_result_with_every_access_method() {
    let real = Cluster::start().await.unwrap();
    let (request, write) = (signing_request(), WriteOptions::default());
    let patch = json!({"metadata": {"labels": {"seen": "true"}}});
    let mut transcripts = Vec::new();
    for access in Access::ALL {
        let client = Target::new(real.kubeconfig(), "").client;
        let mut transcript = Transcript::default();
        let note = &mut transcript;
        match access {
            Access::Dynamic => {
                let requests =
                    client.dynamic(&"certificates.k8s.io/v1".parse().unwrap(), "certificatesigningrequests");
                note.note("create", &requests.create(&object(request.clone()), &write).await.unwrap());
                let mut read: DynamicObject = requests.get_subresource("a", "approval").await.unwrap();
                note.note("get", &read);
                read.set(&["status", "conditions"], approved());
                note.note_outcome("update", &requests.update_subresource("approval", &read, &write).await);
                let patched =
                    requests.patch_subresource::<Value>("a", "approval", PatchKind::Merge, &patch, &write);
                note.note_outcome("patch", &patched.await);
                requests.delete("a", &Default::default()).await.unwrap();
            }
            _ => {
                let requests = access.typed(client.certificates_v1().certificate_signing_requests());
                note.note("create", &requests.create(&object(request.clone()), &write).await.unwrap());
                let mut read = requests.get_approval("a").await.unwrap();
                note.note("get", &read);
                read.status.conditions = object(approved());
                note.note_outcome("update", &requests.update_approval(&read, &write).await);
                note.note_outcome(
                    "patch",
                    &requests.patch_approval("a", PatchKind::Merge, &patch, &write).await,
                );
                requests.delete("a", &Default::default()).await.unwrap();
            }
        }
        assert_eq!(transcript.step("update")["status"]["conditions"][0]["reason"], "Asked");
        transcripts.push(transcript);
    }
    let [protobuf, json, dynamic] = &transcripts[..] else { panic!("not three transcripts") };
    protobuf.assert_same(json, "protobuf, JSON");
    json.assert_same(dynamic, "typed, dynamic");
}
