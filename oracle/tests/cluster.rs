//! A [`Cluster`] runs the real servers, and leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use http::{Method, Request, StatusCode};
use watchkeeper_oracle::{Cluster, StartError};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::test]
async fn real_clients_can_use_the_cluster() -> Outcome {
    let cluster = Cluster::start().await?;

    let version = cluster.request(Method::GET, "/version", "application/json").await?;
    assert_eq!(version.status(), StatusCode::OK);
    let version = String::from_utf8_lossy(version.body()).into_owned();
    assert!(version.contains(r#""gitVersion": "v1.37.1""#), "{version}");
    assert!(version.contains(r#""minor": "37""#), "{version}");

    for context in ["certificate", "token"] {
        let names = ["--context", context, "get", "namespaces", "-o", "name"];
        let names = cluster.kubectl().stdout(names, "").await?;
        assert!(names.contains("namespace/default"), "{names}");
    }

    let list =
        cluster.request(Method::GET, "/api/v1/namespaces", "application/vnd.kubernetes.protobuf").await?;
    assert!(list.body().starts_with(b"k8s\0"), "{list:?}");

    let typed = cluster.program("namespaces").output().await?;
    let lines = String::from_utf8_lossy(&typed.stdout);
    let names: Vec<_> = lines.lines().map(|line| line.split('/').next().unwrap_or_default()).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"], "{typed:?}");
    Ok(())
}

#[tokio::test]
async fn an_invalid_token_is_rejected() -> Outcome {
    let cluster = Cluster::start().await?;
    let request = Request::get("/api/v1/namespaces")
        .header("authorization", "Bearer nobody")
        .body(bytes::Bytes::new())?;
    assert_eq!(cluster.send(request).await?.status(), StatusCode::UNAUTHORIZED);
    Ok(())
}

#[tokio::test]
async fn a_killed_server_restarts_with_its_data() -> Outcome {
    let mut cluster = Cluster::start().await?;
    cluster.kubectl().stdout(["create", "namespace", "persistent"], "").await?;
    let (url, before) = (cluster.url(), cluster.processes()?);
    cluster.kill_apiserver()?;
    cluster.start_apiserver().await?;
    assert_eq!(cluster.url(), url);
    let after = cluster.processes()?;
    assert!(before[0] == after[0] && before[1] != after[1], "{before:?} {after:?}");
    let found = cluster.request(Method::GET, "/api/v1/namespaces/persistent", "application/json").await?;
    assert_eq!(found.status(), StatusCode::OK);
    Ok(())
}

#[tokio::test]
async fn the_controller_manager_populates_new_namespaces() -> Outcome {
    let cluster = Cluster::builder().controller_manager(true).start().await?;
    cluster.kubectl().stdout(["create", "namespace", "populated"], "").await?;
    let wait = [
        "wait",
        "--namespace=populated",
        "--for=create",
        "--timeout=60s",
        "serviceaccount/default",
        "configmap/kube-root-ca.crt",
    ];
    let waited = cluster.kubectl().run(wait, "").await?;
    assert_eq!(waited.code, Some(0), "{waited:?}\n{}", cluster.logs());
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_start_reports_its_log() {
    let failed = Cluster::builder().apiserver_arg("--no-such-flag=1").start().await;
    let Err(StartError::Ended { name: "kube-apiserver", log, .. }) = failed else {
        panic!("started with an unknown flag: {failed:?}")
    };
    assert!(log.contains("unknown flag: --no-such-flag"), "{log}");
}

#[tokio::test]
async fn nothing_is_left_behind_when_the_cluster_is_dropped() -> Outcome {
    let cluster = Cluster::builder().controller_manager(true).start().await?;
    let directory = cluster.directory().to_owned();
    // Three servers, each with a keeper process.
    assert_eq!(processes_of(&directory)?.len(), 6, "{:?}", processes_of(&directory));

    drop(cluster);
    assert_eq!(processes_of(&directory)?, [] as [String; 0]);
    assert!(!directory.exists());
    Ok(())
}

#[tokio::test]
async fn nothing_is_left_behind_when_the_test_panics() -> Outcome {
    let cluster = Cluster::start().await?;
    let directory = cluster.directory().to_owned();

    let test = tokio::spawn(async move {
        let _held = cluster;
        panic!("like a failed assertion");
    });
    assert!(test.await.is_err_and(|error| error.is_panic()));
    assert_eq!(processes_of(&directory)?, [] as [String; 0]);
    assert!(!directory.exists());
    Ok(())
}

#[test]
fn nothing_is_left_behind_when_the_owner_is_killed() -> Outcome {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_watchkeeper-oracle")).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let stdout = owner.stdout.take().ok_or("stdout is not a pipe")?;
    io::BufRead::read_line(&mut io::BufReader::new(stdout), &mut line)?;
    let kubeconfig =
        line.trim().strip_prefix("export KUBECONFIG=").ok_or("the owner printed no kubeconfig")?;
    let directory =
        Path::new(kubeconfig).parent().map(PathBuf::from).ok_or("the kubeconfig has no parent directory")?;
    assert_eq!(processes_of(&directory)?.len(), 4, "{:?}", processes_of(&directory));

    owner.kill()?; // SIGKILL
    owner.wait()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while !processes_of(&directory)?.is_empty() || directory.exists() {
        assert!(Instant::now() < deadline, "processes left behind: {:?}", processes_of(&directory));
        thread::yield_now();
    }
    Ok(())
}

/// Returns the command lines of all processes that contain the directory.
fn processes_of(directory: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        // A process may exit during the scan; a zombie has an empty command line.
        let Ok(command) = fs::read(entry?.path().join("cmdline")) else { continue };
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(&*directory.to_string_lossy()) {
            found.push(command);
        }
    }
    Ok(found)
}
