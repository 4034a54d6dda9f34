//! Selects the cluster, user and namespace to use.

use std::path::PathBuf;

use super::check::{CheckError, check_selection};
use super::{Cluster, Context, Kubeconfig, User};
use crate::Secret;

/// Overrides of a kubeconfig, usually from command-line flags.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// The context to use instead of the current one.
    pub context: Option<String>,
    /// The cluster to use instead of the context's.
    pub cluster: Option<String>,
    /// The user to use instead of the context's.
    pub user: Option<String>,
    /// The namespace to use instead of the context's.
    pub namespace: Option<String>,
    /// The server address. The TLS server name of the file is then ignored.
    pub server: Option<String>,
    /// The name expected in the server's certificate.
    pub tls_server_name: Option<String>,
    /// Skip verification of the server's certificate. Authorities of the file are then ignored.
    pub insecure: bool,
    /// The certificate authorities to use instead of the file's.
    pub certificate_authority: Option<PathBuf>,
    /// The proxy to use instead of the file's.
    pub proxy_url: Option<String>,
    /// A bearer token.
    pub token: Option<Secret>,
    /// The client certificate to use instead of the file's.
    pub client_certificate: Option<PathBuf>,
    /// The client key to use instead of the file's.
    pub client_key: Option<PathBuf>,
    /// The user to impersonate.
    pub impersonate: Option<String>,
    /// The groups to impersonate.
    pub impersonate_groups: Vec<String>,
    /// The UID to impersonate.
    pub impersonate_uid: Option<String>,
}

/// One cluster, one user and one namespace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The name of the context; empty if there is none.
    pub context: String,
    /// The name of the cluster; empty if there is none.
    pub cluster_name: String,
    /// The cluster.
    pub cluster: Cluster,
    /// The name of the user; empty if there is none.
    pub user_name: String,
    /// The user.
    pub user: User,
    /// The default namespace, if set.
    pub namespace: Option<String>,
}

/// An error selecting a cluster, user and namespace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// Nothing is configured: try the service account, or ask the user for a configuration.
    #[error("no configuration has been provided: set $KUBECONFIG or name a file")]
    Empty,
    /// The context does not exist.
    #[error("context {name:?} does not exist{}", listed(.known))]
    NoContext {
        /// The requested name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// The cluster does not exist.
    #[error("cluster {name:?} does not exist{}", listed(.known))]
    NoCluster {
        /// The requested name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// The user does not exist.
    #[error("user {name:?} does not exist{}", listed(.known))]
    NoUser {
        /// The requested name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// The selected entries are invalid.
    #[error(transparent)]
    Invalid(CheckError),
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (there are: {})", known.join(", ")) }
}

impl Kubeconfig {
    /// Selects the current context, with `overrides` applied.
    ///
    /// # Errors
    /// If nothing is configured, or a requested entry does not exist or is invalid.
    pub fn select(&self, overrides: &Overrides) -> Result<Selection, SelectError> {
        let context_name = overrides.context.as_deref().unwrap_or(&self.current_context);
        let context = match self.contexts.get(context_name) {
            Some(context) => context.clone(),
            None if context_name.is_empty() => Context::default(),
            None => {
                let (name, known) = (context_name.to_owned(), self.contexts.keys().cloned().collect());
                return Err(SelectError::NoContext { name, known });
            }
        };
        let cluster_name = overrides.cluster.as_deref().unwrap_or(&context.cluster);
        let cluster = match self.clusters.get(cluster_name) {
            Some(cluster) => cluster.clone(),
            None if cluster_name.is_empty() => Cluster::default(),
            None => {
                let (name, known) = (cluster_name.to_owned(), self.clusters.keys().cloned().collect());
                return Err(SelectError::NoCluster { name, known });
            }
        };
        let user_name = overrides.user.as_deref().unwrap_or(&context.user);
        let user = match self.users.get(user_name) {
            Some(user) => user.clone(),
            None if user_name.is_empty() => User::default(),
            None => {
                let (name, known) = (user_name.to_owned(), self.users.keys().cloned().collect());
                return Err(SelectError::NoUser { name, known });
            }
        };
        let namespace = overrides.namespace.clone().or(Some(context.namespace));
        let selection = Selection {
            context: context_name.to_owned(),
            cluster_name: cluster_name.to_owned(),
            user_name: user_name.to_owned(),
            cluster: overrides.apply_to_cluster(cluster),
            user: overrides.apply_to_user(user),
            namespace: namespace.filter(|namespace| !namespace.is_empty()),
        };
        if selection.cluster == Cluster::default() {
            return Err(SelectError::Empty);
        }
        check_selection(&selection).map_err(SelectError::Invalid)?;
        Ok(selection)
    }
}

impl Overrides {
    fn apply_to_cluster(&self, mut cluster: Cluster) -> Cluster {
        if self.insecure || self.certificate_authority.is_some() {
            cluster.insecure_skip_tls_verify = self.insecure;
            cluster.certificate_authority = self.certificate_authority.clone().unwrap_or_default();
            cluster.certificate_authority_data = String::new();
        }
        if self.server.is_some() || self.tls_server_name.is_some() {
            cluster.tls_server_name = self.tls_server_name.clone().unwrap_or_default();
        }
        if let Some(server) = &self.server {
            cluster.server.clone_from(server);
        }
        if let Some(proxy) = &self.proxy_url {
            cluster.proxy_url.clone_from(proxy);
        }
        cluster
    }

    fn apply_to_user(&self, mut user: User) -> User {
        if let Some(token) = &self.token {
            user.token = token.clone();
            user.token_file = PathBuf::new();
        }
        if let Some(certificate) = &self.client_certificate {
            user.client_certificate.clone_from(certificate);
            user.client_certificate_data = String::new();
        }
        if let Some(key) = &self.client_key {
            user.client_key.clone_from(key);
            user.client_key_data = Secret::default();
        }
        if let Some(name) = &self.impersonate {
            user.impersonate.clone_from(name);
        }
        if let Some(uid) = &self.impersonate_uid {
            user.impersonate_uid.clone_from(uid);
        }
        if !self.impersonate_groups.is_empty() {
            user.impersonate_groups.clone_from(&self.impersonate_groups);
        }
        user
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Kubeconfig {
        Kubeconfig::parse(
            "current-context: work
clusters:
- {name: dev, cluster: {server: 'https://dev', certificate-authority-data: Y2E=, tls-server-name: api}}
- {name: prod, cluster: {server: 'https://prod'}}
users:
- {name: me, user: {token: t}}
- {name: root, user: {token: r}}
contexts:
- {name: work, context: {cluster: dev, user: me, namespace: shop}}
- {name: lost, context: {cluster: gone, user: me}}
- {name: live, context: {cluster: prod, user: me}}",
        )
        .unwrap()
    }

    fn select(overrides: &Overrides) -> Result<Selection, SelectError> {
        config().select(overrides)
    }

    #[test]
    fn the_current_context_is_used_unless_overridden() {
        let selection = select(&Overrides::default()).unwrap();
        assert_eq!((selection.cluster.server.as_str(), selection.user.token.reveal()), ("https://dev", "t"));
        assert_eq!(selection.namespace.as_deref(), Some("shop"));
        let selection = select(&Overrides { context: Some("live".into()), ..Default::default() }).unwrap();
        assert_eq!((selection.cluster.server.as_str(), selection.namespace), ("https://prod", None));
        let overrides = Overrides {
            cluster: Some("prod".into()),
            user: Some("root".into()),
            namespace: Some("n".into()),
            ..Default::default()
        };
        let selection = select(&overrides).unwrap();
        assert_eq!((selection.cluster.server.as_str(), selection.user.token.reveal()), ("https://prod", "r"));
        assert_eq!(selection.namespace.as_deref(), Some("n"));
    }

    #[test]
    fn a_missing_entry_is_reported_with_the_existing_names() {
        let context = |name: &str| Overrides { context: Some(name.into()), ..Default::default() };
        let error = select(&context("wrok")).unwrap_err().to_string();
        assert_eq!(error, "context \"wrok\" does not exist (there are: live, lost, work)");
        let error = select(&context("lost")).unwrap_err().to_string();
        assert_eq!(error, "cluster \"gone\" does not exist (there are: dev, prod)");
        let user = Overrides { user: Some("you".into()), ..Default::default() };
        assert_eq!(
            select(&user).unwrap_err().to_string(),
            "user \"you\" does not exist (there are: me, root)"
        );
    }

    #[test]
    fn an_empty_config_is_its_own_error() {
        assert!(matches!(Kubeconfig::default().select(&Overrides::default()), Err(SelectError::Empty)));
        let server = Overrides { server: Some("https://x".into()), ..Default::default() };
        assert_eq!(Kubeconfig::default().select(&server).unwrap().cluster.server, "https://x");
    }

    #[test]
    fn an_override_also_replaces_dependent_settings() {
        let cluster = |overrides: Overrides| select(&overrides).unwrap().cluster;
        let insecure = cluster(Overrides { insecure: true, ..Default::default() });
        assert!(insecure.insecure_skip_tls_verify && insecure.certificate_authority_data.is_empty());
        assert_eq!(insecure.tls_server_name, "api");
        let elsewhere = cluster(Overrides { server: Some("https://other".into()), ..Default::default() });
        assert_eq!((elsewhere.server.as_str(), elsewhere.tls_server_name.as_str()), ("https://other", ""));
        assert_eq!(elsewhere.certificate_authority_data, "Y2E=");
    }
}
