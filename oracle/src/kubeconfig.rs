//! Kubeconfig: the file that kubectl, client-go and Watchkeeper read to reach the cluster.
//!
//! It has two contexts for the administrator: `certificate`, which is the current one, and `token`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::certificates::Certificates;

pub(crate) fn render(server: &str, certificates: &Certificates) -> String {
    let Certificates { authority, administrator, token, .. } = certificates;
    let authority = STANDARD.encode(authority);
    let certificate = STANDARD.encode(&administrator.certificate);
    let key = STANDARD.encode(&administrator.key);
    format!(
        "\
apiVersion: v1
kind: Config
clusters:
- name: oracle
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: certificate
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
- name: token
  user:
    token: {token}
contexts:
- name: certificate
  context:
    cluster: oracle
    user: certificate
- name: token
  context:
    cluster: oracle
    user: token
current-context: certificate
"
    )
}
