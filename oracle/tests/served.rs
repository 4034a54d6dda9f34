//! The real kubectl and client-go on our server.

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Binaries, Kubectl};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Our server, and a kubectl configured for it.
struct Environment {
    server: ApiServer,
    kubectl: Kubectl,
    _directory: TempDir,
}

impl Environment {
    async fn start() -> Outcome<Self> {
        let (server, directory) = (ApiServer::builder().start().await?, tempfile::tempdir()?);
        let kubeconfig = directory.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig)?;
        let kubectl = Kubectl::new(&kubeconfig, directory.path())?;
        Ok(Self { server, kubectl, _directory: directory })
    }

    /// Runs kubectl, which must succeed, and returns its output.
    async fn kubectl(&self, line: &str) -> Outcome<String> {
        Ok(self.kubectl.stdout(line.split(' '), "").await?)
    }

    /// Runs kubectl, which must fail, and returns its standard error.
    async fn kubectl_error(&self, line: &str) -> Outcome<String> {
        let output = self.kubectl.run(line.split(' '), "").await?;
        assert_eq!((output.code, &*output.out), (Some(1), ""), "{line}");
        Ok(output.error)
    }
}

#[tokio::test]
async fn kubectl_creates_lists_labels_scales_and_deletes_objects() -> Outcome {
    let environment = Environment::start().await?;
    assert_eq!(environment.kubectl("create namespace shop").await?, "namespace/shop created\n");
    let created = environment.kubectl("create configmap settings -n shop --from-literal=a=1").await?;
    assert_eq!(created, "configmap/settings created\n");
    environment.kubectl("create deployment web -n shop --image=nginx --replicas=2").await?;

    let table = environment.kubectl("get configmaps,deployments -n shop").await?;
    assert!(
        table.contains("configmap/settings   1 ") && table.contains("deployment.apps/web   0/2"),
        "{table}"
    );
    assert_eq!(
        environment.kubectl("label configmap settings -n shop tier=front").await?,
        "configmap/settings labeled\n"
    );
    assert_eq!(
        environment.kubectl("get configmaps -n shop -l tier=front -o name").await?,
        "configmap/settings\n"
    );
    assert_eq!(
        environment.kubectl("scale deployment web -n shop --replicas=3").await?,
        "deployment.apps/web scaled\n"
    );
    assert_eq!(environment.kubectl("get deployment web -n shop -o jsonpath={.spec.replicas}").await?, "3");

    assert_eq!(
        environment.kubectl_error("create namespace shop").await?,
        "Error from server (AlreadyExists): namespaces \"shop\" already exists\n"
    );
    assert!(environment.kubectl("delete configmap settings -n shop").await?.contains("\"settings\" deleted"));
    assert_eq!(
        environment.kubectl_error("get configmap settings -n shop").await?,
        "Error from server (NotFound): configmaps \"settings\" not found\n"
    );
    assert!(environment.kubectl("api-resources").await?.contains("deployments"));
    assert_eq!(environment.kubectl("auth can-i create pods").await?, "yes\n");
    environment.server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_client_go_informer_lists_and_watches() -> Outcome {
    let environment = Environment::start().await?;
    for name in ["a", "b", "c"] {
        environment.kubectl(&format!("run {name} --image=nginx")).await?;
    }
    let informer = environment.kubectl.with_program(Binaries::get()?.path("informer"));
    let mut informer = informer.command(["--resource=pods", "--events=2"]).spawn()?;
    let mut lines = BufReader::new(informer.stdout.take().ok_or("stdout is not a pipe")?).lines();
    let sync = lines.next_line().await?.unwrap_or_default();
    assert!(sync.starts_with("client-go sync objects=3 wall="), "{sync}");
    lines.next_line().await?;
    environment.kubectl("label pod a b seen=yes").await?;
    let events = lines.next_line().await?.unwrap_or_default();
    assert!(events.starts_with("client-go events=2 wall="), "{events}");
    assert!(informer.wait().await?.success());
    environment.server.stop().await;
    Ok(())
}
