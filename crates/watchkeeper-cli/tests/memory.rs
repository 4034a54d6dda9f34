//! Memory of `watchkeeper apiserver` after a load.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config, RestClient};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The list is 4 MB.
const OBJECTS: usize = 500;
const OBJECT_BYTES: usize = 8 << 10;

/// Concurrent watches and lists.
const WATCHES: usize = 1000;
const LISTS: usize = 200;

/// Time limit for returning memory: a minute is promised, a busy machine gets two.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server process, killed on drop.
struct Server(Child);

impl Server {
    fn start(kubeconfig: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_watchkeeper"))
            .args(["apiserver", "--no-controllers", "--listen", "127.0.0.1:0", "--write-kubeconfig"])
            .arg(kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.into_iter().any(|line| line.contains("Stop it")), "the server has ended");
        Self(process)
    }

    fn resident_megabytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _ended_already = self.0.wait();
    }
}

fn client(kubeconfig: &Path) -> RestClient {
    let config = Config::load(&Sources::File(kubeconfig.to_owned()), &Overrides::default()).unwrap();
    RestClient::new(Client::new(&config).unwrap().transport().clone(), "/", Content::json())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_returned_after_a_load() {
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    let server = Server::start(&kubeconfig);
    let load = client(&kubeconfig);
    for number in 0..OBJECTS {
        let map =
            json!({"metadata": {"name": format!("c{number}")}, "data": {"text": "x".repeat(OBJECT_BYTES)}});
        load.post().abs_path(MAPS).object(&map).raw().await.unwrap();
    }
    let idle = server.resident_megabytes();

    let watches = (0..WATCHES).map(|_| {
        let request = load.get().abs_path(MAPS).param("watch", "true").param("sendInitialEvents", "true");
        let request =
            request.param("resourceVersionMatch", "NotOlderThan").param("allowWatchBookmarks", "true");
        request.open_watch()
    });
    let watches: Vec<_> = join_all(watches).await.into_iter().map(Result::unwrap).collect();
    let lists = (0..LISTS).map(|_| load.get().abs_path(MAPS).raw());
    for list in join_all(lists).await {
        assert!(list.unwrap().len() > OBJECTS * OBJECT_BYTES);
    }
    let under = server.resident_megabytes();
    drop((watches, load)); // its connections close

    let ended = Instant::now();
    loop {
        let after = server.resident_megabytes();
        if after <= 1.5 * idle {
            println!("{idle:.1} MB before, {under:.1} MB under, {after:.1} MB {:.0?} after", ended.elapsed());
            return;
        }
        assert!(
            ended.elapsed() < PATIENCE,
            "{idle:.1} MB were resident before the load, {under:.1} MB under it, {after:.1} MB {PATIENCE:?} after it"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
