//! Server: the command lines of etcd, kube-apiserver and kube-controller-manager, and the files that they refer to.
//!
//! Flags keep their defaults wherever a server on a loopback address allows it.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::certificates::Certificates;
use crate::kubeconfig;

/// Loopback ports that were free when they were chosen. Another process may take one before our server listens on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) apiserver: u16,
}

impl Ports {
    pub(crate) fn choose() -> io::Result<Self> {
        let [etcd, etcd_peer, apiserver] = free_ports()?;
        Ok(Self { etcd, etcd_peer, apiserver })
    }

    pub(crate) fn etcd_url(self) -> String {
        format!("http://127.0.0.1:{}", self.etcd)
    }

    pub(crate) fn etcd_peer_url(self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_peer)
    }

    pub(crate) fn apiserver_url(self) -> String {
        format!("https://127.0.0.1:{}", self.apiserver)
    }
}

/// Returns three distinct ports that are currently free.
pub(crate) fn free_ports() -> io::Result<[u16; 3]> {
    // Keeps all listeners open until every port is chosen: a closed one could be chosen twice.
    let listeners: [_; 3] = std::array::from_fn(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let [a, b, c] = listeners.map(|listener| Ok::<_, io::Error>(listener?.local_addr()?.port()));
    Ok([a?, b?, c?])
}

/// Writes the files that the servers and their clients read.
pub(crate) fn write_files(directory: &Path, ports: Ports, secrets: &Certificates) -> io::Result<()> {
    let files = [
        ("ca.pem", secrets.authority.clone()),
        ("server.pem", secrets.server.certificate.clone()),
        ("server.key", secrets.server.key.clone()),
        ("service-account.key", secrets.service_account_key.clone()),
        ("service-account.pub", secrets.service_account_public_key.clone()),
        ("tokens.csv", format!("{},admin,admin,\"system:masters\"\n", secrets.token)),
        ("kubeconfig", kubeconfig::render(&ports.apiserver_url(), secrets)),
    ];
    files.iter().try_for_each(|(name, content)| write_file(directory, name, content))
}

/// Writes a file that only its owner may read.
pub(crate) fn write_file(directory: &Path, name: &str, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(name))?;
    file.write_all(content.as_bytes())
}

/// Returns etcd's command line. `client` and `peer` are the URLs to listen on.
pub(crate) fn etcd(directory: &Path, client: &str, peer: &str) -> Vec<String> {
    let data = directory.join("etcd").display().to_string();
    vec![
        "--name=oracle".to_owned(),
        format!("--data-dir={data}"),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=oracle={peer}"),
        "--unsafe-no-fsync".to_owned(), // the data does not have to survive a crash
        "--log-level=warn".to_owned(),
    ]
}

/// Returns kube-apiserver's command line. A flag in `overrides` replaces our own value.
pub(crate) fn apiserver(
    directory: &Path,
    ports: Ports,
    controller_manager: bool,
    overrides: &[String],
) -> impl Iterator<Item = String> + use<> {
    let file = |name: &str| directory.join(name).display().to_string();
    let mut arguments = vec![
        format!("--etcd-servers={}", ports.etcd_url()),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        // Endpoints must not have a loopback address, and this is the only server.
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--secure-port={}", ports.apiserver),
        format!("--tls-cert-file={}", file("server.pem")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--client-ca-file={}", file("ca.pem")),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file("service-account.pub")),
        format!("--service-account-signing-key-file={}", file("service-account.key")),
        "--allow-privileged=true".to_owned(),
    ];
    if !controller_manager {
        // This plugin rejects pods until kube-controller-manager has created their service account.
        arguments.push("--disable-admission-plugins=ServiceAccount".to_owned());
    }
    // Some flags accumulate when repeated, so an override must be the only occurrence of its flag.
    let flag = |argument: &str| argument.split('=').next().unwrap_or_default().to_owned();
    arguments.retain(|ours| overrides.iter().all(|theirs| flag(ours) != flag(theirs)));
    arguments.extend_from_slice(overrides);
    arguments.into_iter()
}

/// Returns kube-controller-manager's command line.
pub(crate) fn controller_manager(directory: &Path) -> Vec<String> {
    let file = |name: &str| directory.join(name).display().to_string();
    vec![
        format!("--kubeconfig={}", file("kubeconfig")),
        format!("--root-ca-file={}", file("ca.pem")),
        format!("--service-account-private-key-file={}", file("service-account.key")),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ]
}
