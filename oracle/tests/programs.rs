//! The client-go programs in `oracle/cmd`, on a real cluster.

use std::process::Stdio;

use bytes::Bytes;
use http::{Request, StatusCode};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use watchkeeper_oracle::Cluster;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::test]
async fn the_informer_program_counts_pods_and_updates() -> Outcome {
    let cluster = Cluster::start().await?;
    for name in ["a", "b", "c"] {
        let pod = format!(
            r#"{{"metadata": {{"name": "{name}"}}, "spec": {{"containers": [{{"name": "c", "image": "i"}}]}}}}"#
        );
        let request = Request::post("/api/v1/namespaces/default/pods")
            .header("content-type", "application/json")
            .body(Bytes::from(pod))?;
        let created = cluster.send(request).await?;
        assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    }

    let mut informer =
        cluster.program("informer").args(["--resource=pods", "--events=2"]).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(informer.stdout.take().ok_or("stdout is not a pipe")?).lines();
    let sync = lines.next_line().await?.unwrap_or_default();
    assert!(sync.starts_with("client-go sync objects=3 wall="), "{sync}");
    let steady = lines.next_line().await?.unwrap_or_default();
    assert!(steady.starts_with("client-go steady VmHWM: ") && steady.contains(" kB VmRSS: "), "{steady}");

    cluster.kubectl().stdout(["label", "pod", "a", "b", "seen=yes"], "").await?;
    let events = lines.next_line().await?.unwrap_or_default();
    assert!(events.starts_with("client-go events=2 wall="), "{events}");
    assert!(informer.wait().await?.success());
    Ok(())
}
