//! Real clients against our server.

use std::process::{Output, Stdio};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::Binaries;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Our server, and a directory with its kubeconfig.
struct Served {
    server: ApiServer,
    directory: TempDir,
    binaries: &'static Binaries,
}

impl Served {
    async fn start() -> Outcome<Self> {
        let served = Self {
            server: ApiServer::builder().start().await?,
            directory: tempfile::tempdir()?,
            binaries: Binaries::get()?,
        };
        served.server.kubeconfig().write(&served.directory.path().join("kubeconfig"))?;
        Ok(served)
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.binaries.path(name));
        command
            .env("KUBECONFIG", self.directory.path().join("kubeconfig"))
            .env("HOME", self.directory.path());
        command.kill_on_drop(true);
        command
    }

    async fn kubectl(&self, line: &str) -> Outcome<Output> {
        Ok(self.program("kubectl").args(line.split(' ')).output().await?)
    }

    /// What kubectl prints, which must succeed.
    async fn says(&self, line: &str) -> Outcome<String> {
        let output = self.kubectl(line).await?;
        assert!(output.status.success(), "kubectl {line}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }
}

#[tokio::test]
async fn kubectl_creates_shows_changes_and_deletes() -> Outcome {
    let served = Served::start().await?;
    assert_eq!(served.says("create namespace shop").await?, "namespace/shop created\n");
    let made = served.says("create configmap settings -n shop --from-literal=a=1").await?;
    assert_eq!(made, "configmap/settings created\n");
    served.says("create deployment web -n shop --image=nginx --replicas=2").await?;

    let table = served.says("get configmaps,deployments -n shop").await?;
    assert!(
        table.contains("configmap/settings   1 ") && table.contains("deployment.apps/web   0/2"),
        "{table}"
    );
    assert_eq!(
        served.says("label configmap settings -n shop tier=front").await?,
        "configmap/settings labeled\n"
    );
    assert_eq!(served.says("get configmaps -n shop -l tier=front -o name").await?, "configmap/settings\n");
    assert_eq!(
        served.says("scale deployment web -n shop --replicas=3").await?,
        "deployment.apps/web scaled\n"
    );
    assert_eq!(served.says("get deployment web -n shop -o jsonpath={.spec.replicas}").await?, "3");

    let again = served.kubectl("create namespace shop").await?;
    assert_eq!(
        String::from_utf8(again.stderr)?,
        "Error from server (AlreadyExists): namespaces \"shop\" already exists\n"
    );
    assert!(served.says("delete configmap settings -n shop").await?.contains("\"settings\" deleted"));
    let gone = served.kubectl("get configmap settings -n shop").await?;
    assert_eq!(
        String::from_utf8(gone.stderr)?,
        "Error from server (NotFound): configmaps \"settings\" not found\n"
    );
    assert!(served.says("api-resources").await?.contains("deployments"));
    assert_eq!(served.says("auth can-i create pods").await?, "yes\n");
    served.server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_client_go_informer_lists_and_follows() -> Outcome {
    let served = Served::start().await?;
    for name in ["a", "b", "c"] {
        served.says(&format!("run {name} --image=nginx")).await?;
    }
    let mut informer =
        served.program("informer").args(["--resource=pods", "--events=2"]).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(informer.stdout.take().ok_or("its stdout is a pipe")?).lines();
    let sync = lines.next_line().await?.unwrap_or_default();
    assert!(sync.starts_with("client-go sync objects=3 wall="), "{sync}");
    lines.next_line().await?;
    served.says("label pod a b seen=yes").await?;
    let events = lines.next_line().await?.unwrap_or_default();
    assert!(events.starts_with("client-go events=2 wall="), "{events}");
    assert!(informer.wait().await?.success());
    served.server.stop().await;
    Ok(())
}
