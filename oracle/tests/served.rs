//! Real clients against our server.

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Binaries, Kubectl};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Our server, and kubectl in a directory with its kubeconfig.
struct Served {
    server: ApiServer,
    kubectl: Kubectl,
    _directory: TempDir,
}

impl Served {
    async fn start() -> Outcome<Self> {
        let (server, directory) = (ApiServer::builder().start().await?, tempfile::tempdir()?);
        let kubeconfig = directory.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig)?;
        let kubectl = Kubectl::new(&kubeconfig, directory.path())?;
        Ok(Self { server, kubectl, _directory: directory })
    }

    /// What kubectl prints, which must succeed.
    async fn says(&self, line: &str) -> Outcome<String> {
        Ok(self.kubectl.says(line.split(' '), "").await?)
    }

    /// What kubectl complains of.
    async fn refuses(&self, line: &str) -> Outcome<String> {
        let said = self.kubectl.run(line.split(' '), "").await?;
        assert_eq!((said.code, &*said.out), (Some(1), ""), "{line}");
        Ok(said.error)
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

    assert_eq!(
        served.refuses("create namespace shop").await?,
        "Error from server (AlreadyExists): namespaces \"shop\" already exists\n"
    );
    assert!(served.says("delete configmap settings -n shop").await?.contains("\"settings\" deleted"));
    assert_eq!(
        served.refuses("get configmap settings -n shop").await?,
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
    let informer = served.kubectl.replaced_by(Binaries::get()?.path("informer"));
    let mut informer = informer.command(["--resource=pods", "--events=2"]).spawn()?;
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
