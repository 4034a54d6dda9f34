//! Validation of a selection, before anything is sent.

use std::path::{Path, PathBuf};

use super::{Cluster, InteractiveMode, Selection, User};

/// An invalid kubeconfig entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry}{}: {problem}", in_file(.file.as_deref()))]
pub struct CheckError {
    /// The entry: `cluster "dev"`.
    pub entry: String,
    /// The file that contains the entry.
    pub file: Option<PathBuf>,
    /// The problem with it.
    pub problem: Problem,
}

fn in_file(file: Option<&Path>) -> String {
    file.map(|file| format!(" in {}", file.display())).unwrap_or_default()
}

/// A problem with a kubeconfig entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The cluster has no address.
    #[error("no server specified")]
    NoServer,
    /// Both `certificate-authority-data` and `certificate-authority` are set.
    #[error("certificate-authority-data and certificate-authority are both specified: remove one")]
    TwoAuthorities,
    /// Authorities are set although verification is disabled.
    #[error("certificate authorities and insecure-skip-tls-verify are both specified: remove one")]
    AuthorityUnused,
    /// The proxy URL has an unsupported scheme.
    #[error("proxy-url must begin with http://, https:// or socks5://")]
    Proxy,
    /// Both `token` and `username` are set.
    #[error("token and username are both specified: remove one")]
    TwoMethods,
    /// Both `client-certificate-data` and `client-certificate` are set.
    #[error("client-certificate-data and client-certificate are both specified: remove one")]
    TwoCertificates,
    /// Both `client-key-data` and `client-key` are set.
    #[error("client-key-data and client-key are both specified: remove one")]
    TwoKeys,
    /// A client certificate is set without its key.
    #[error("client certificate specified without its key")]
    NoKey,
    /// A client key is set without its certificate.
    #[error("client key specified without its certificate")]
    NoCertificate,
    /// Both `exec` and `auth-provider` are set.
    #[error("exec and auth-provider are both specified: remove one")]
    TwoProviders,
    /// The exec plugin has no command.
    #[error("exec has no command")]
    NoCommand,
    /// The exec plugin has an unsupported `apiVersion`.
    #[error(
        "exec apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"
    )]
    ExecVersion,
    /// The exec plugin lacks the `interactiveMode` that v1 requires.
    #[error(
        "exec interactiveMode is required with client.authentication.k8s.io/v1: Never, IfAvailable or Always"
    )]
    NoInteractiveMode,
    /// An environment variable of the exec plugin has no name.
    #[error("exec has an env entry without a name")]
    NamelessVariable,
    /// Impersonation attributes are set without a user.
    #[error("as-uid, as-groups or as-user-extra specified without as")]
    NobodyToActAs,
    /// The namespace is not a valid name.
    #[error("namespace is not a valid DNS label")]
    Namespace,
}

pub(super) fn check_selection(selection: &Selection) -> Result<(), CheckError> {
    let error = |entry: &str, name: &str, file: &Option<PathBuf>, problem| {
        let entry = if name.is_empty() { format!("the {entry}") } else { format!("{entry} {name:?}") };
        CheckError { entry, file: file.clone(), problem }
    };
    cluster_problem(&selection.cluster).map_or(Ok(()), |problem| {
        Err(error("cluster", &selection.cluster_name, &selection.cluster.file, problem))
    })?;
    user_problem(&selection.user)
        .map_or(Ok(()), |problem| Err(error("user", &selection.user_name, &selection.user.file, problem)))?;
    match &selection.namespace {
        Some(namespace) if !is_label(namespace) => {
            Err(error("context", &selection.context, &None, Problem::Namespace))
        }
        _ => Ok(()),
    }
}

fn cluster_problem(cluster: &Cluster) -> Option<Problem> {
    let from_file = !cluster.certificate_authority.as_os_str().is_empty();
    let inline = !cluster.certificate_authority_data.is_empty();
    let scheme = cluster.proxy_url.split_once("://").map(|(scheme, _)| scheme);
    if cluster.server.is_empty() {
        Some(Problem::NoServer)
    } else if from_file && inline {
        Some(Problem::TwoAuthorities)
    } else if (from_file || inline) && cluster.insecure_skip_tls_verify {
        Some(Problem::AuthorityUnused)
    } else if !cluster.proxy_url.is_empty() && !matches!(scheme, Some("http" | "https" | "socks5")) {
        Some(Problem::Proxy)
    } else {
        None
    }
}

fn user_problem(user: &User) -> Option<Problem> {
    let (certificate_file, certificate_data) =
        (!user.client_certificate.as_os_str().is_empty(), !user.client_certificate_data.is_empty());
    let (key_file, key_data) = (!user.client_key.as_os_str().is_empty(), !user.client_key_data.is_empty());
    let (certificate, key) = (certificate_file || certificate_data, key_file || key_data);
    let extra = !user.impersonate_groups.is_empty()
        || !user.impersonate_extra.is_empty()
        || !user.impersonate_uid.is_empty();
    let problems = [
        (!user.token.is_empty() && !user.username.is_empty(), Problem::TwoMethods),
        (certificate_file && certificate_data, Problem::TwoCertificates),
        (key_file && key_data, Problem::TwoKeys),
        (certificate && !key, Problem::NoKey),
        (key && !certificate, Problem::NoCertificate),
        (user.exec.is_some() && user.auth_provider.is_some(), Problem::TwoProviders),
        (user.impersonate.is_empty() && extra, Problem::NobodyToActAs),
    ];
    let problem = problems.into_iter().find(|(applies, _)| *applies).map(|(_, problem)| problem);
    problem.or_else(|| exec_problem(user))
}

fn exec_problem(user: &User) -> Option<Problem> {
    let exec = user.exec.as_ref()?;
    let mode: Option<InteractiveMode> = exec.interactive_mode;
    if exec.command.is_empty() {
        return Some(Problem::NoCommand);
    }
    if exec.env.iter().any(|variable| variable.name.is_empty()) {
        return Some(Problem::NamelessVariable);
    }
    match exec.api_version.as_str() {
        "client.authentication.k8s.io/v1" => mode.is_none().then_some(Problem::NoInteractiveMode),
        "client.authentication.k8s.io/v1beta1" => None,
        _ => Some(Problem::ExecVersion),
    }
}

/// Returns whether `text` is a valid namespace name.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::{Kubeconfig, Overrides};
    use std::path::Path;

    fn problem(cluster: &str, user: &str) -> String {
        let text = format!(
            "current-context: x
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{{cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]"
        );
        let mut config = Kubeconfig::parse(&text).unwrap();
        config.set_file(Path::new("/k/config"));
        config.select(&Overrides::default()).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_entry_and_the_file() {
        let server = "server: 'https://x'";
        let exec = "client.authentication.k8s.io/v1";
        for (cluster, user, error) in [
            ("proxy-url: 'http://p'", "", "cluster \"c\" in /k/config: no server specified"),
            (
                "server: a, certificate-authority: f, certificate-authority-data: eA==",
                "",
                "cluster \"c\" in /k/config: certificate-authority-data and certificate-authority are both specified: remove one",
            ),
            (
                "server: a, proxy-url: 'ftp://x'",
                "",
                "cluster \"c\" in /k/config: proxy-url must begin with http://, https:// or socks5://",
            ),
            (
                server,
                "token: t, username: u",
                "user \"u\" in /k/config: token and username are both specified: remove one",
            ),
            (
                server,
                "client-certificate: c",
                "user \"u\" in /k/config: client certificate specified without its key",
            ),
            (
                server,
                "as-groups: [g]",
                "user \"u\" in /k/config: as-uid, as-groups or as-user-extra specified without as",
            ),
            (server, "exec: {apiVersion: v}", "user \"u\" in /k/config: exec has no command"),
            (
                server,
                "exec: {command: x, apiVersion: v2}",
                "user \"u\" in /k/config: exec apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
            ),
            (
                server,
                &format!("exec: {{command: x, apiVersion: {exec}}}"),
                "user \"u\" in /k/config: exec interactiveMode is required with client.authentication.k8s.io/v1: Never, IfAvailable or Always",
            ),
        ] {
            assert_eq!(problem(cluster, user), error);
        }
    }

    #[test]
    fn a_certificate_and_a_token_may_be_combined() {
        let text = "current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://x'}}]
users: [{name: u, user: {token: t, tokenFile: f, client-certificate: c, client-key: k}}]";
        assert!(Kubeconfig::parse(text).unwrap().select(&Overrides::default()).is_ok());
    }
}
