//! Selection: the one cluster, user and namespace that are meant.

use std::path::PathBuf;

use super::check::{self, CheckError};
use super::{Cluster, Context, Kubeconfig, User};
use crate::Secret;

/// What counts for more than the files: flags of a command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// The context to use in place of the current one.
    pub context: Option<String>,
    /// The cluster to use in place of the context's.
    pub cluster: Option<String>,
    /// The user to use in place of the context's.
    pub user: Option<String>,
    /// The namespace to use in place of the context's.
    pub namespace: Option<String>,
    /// Another server. The TLS server name of the file does not count then.
    pub server: Option<String>,
    /// The name that the server's certificate must have.
    pub tls_server_name: Option<String>,
    /// Any certificate will do. Authorities of the file do not count then.
    pub insecure: bool,
    /// Who may vouch for the server, in place of what the file says.
    pub certificate_authority: Option<PathBuf>,
    /// The way to the server.
    pub proxy_url: Option<String>,
    /// A bearer token.
    pub token: Option<Secret>,
    /// A certificate, in place of the file's.
    pub client_certificate: Option<PathBuf>,
    /// The key of the certificate, in place of the file's.
    pub client_key: Option<PathBuf>,
    /// Whom to act as.
    pub impersonate: Option<String>,
    /// In which groups.
    pub impersonate_groups: Vec<String>,
    /// With which uid.
    pub impersonate_uid: Option<String>,
}

/// One cluster, one user, one namespace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The name of the context; empty where there is none.
    pub context: String,
    /// The name of the cluster; empty where there is none.
    pub cluster_name: String,
    /// The server.
    pub cluster: Cluster,
    /// The name of the user; empty where there is none.
    pub user_name: String,
    /// Who one is there.
    pub user: User,
    /// The namespace of requests that name none; `None` where nothing was said.
    pub namespace: Option<String>,
}

/// Why nothing could be selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// Nothing is configured: look for a service account, or tell the user to configure something.
    #[error("no configuration has been provided: set $KUBECONFIG or name a file")]
    Empty,
    /// There is no such context.
    #[error("context {name:?} does not exist{}", listed(.known))]
    NoContext {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There is no such cluster.
    #[error("cluster {name:?} does not exist{}", listed(.known))]
    NoCluster {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There is no such user.
    #[error("user {name:?} does not exist{}", listed(.known))]
    NoUser {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// What was selected makes no sense.
    #[error(transparent)]
    Invalid(CheckError),
}

fn listed(known: &[String]) -> String {
    match known.is_empty() {
        true => String::new(),
        false => format!(" (there are: {})", known.join(", ")),
    }
}

impl Kubeconfig {
    /// Selects what the overrides say, or else the current context.
    ///
    /// # Errors
    /// If what was asked for is not there, or makes no sense, or nothing is configured.
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
        let said = overrides.namespace.clone().or(Some(context.namespace));
        let selection = Selection {
            context: context_name.to_owned(),
            cluster_name: cluster_name.to_owned(),
            user_name: user_name.to_owned(),
            cluster: overrides.lay_over_cluster(cluster),
            user: overrides.lay_over_user(user),
            namespace: said.filter(|namespace| !namespace.is_empty()),
        };
        if selection.cluster == Cluster::default() {
            return Err(SelectError::Empty);
        }
        check::selection(&selection).map_err(SelectError::Invalid)?;
        Ok(selection)
    }
}

impl Overrides {
    fn lay_over_cluster(&self, mut cluster: Cluster) -> Cluster {
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

    fn lay_over_user(&self, mut user: User) -> User {
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
        if let Some(whom) = &self.impersonate {
            user.impersonate.clone_from(whom);
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
    fn the_current_context_counts_unless_another_is_named() {
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
    fn what_is_not_there_is_named_beside_what_is() {
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
    fn nothing_at_all_is_an_error_of_its_own() {
        assert!(matches!(Kubeconfig::default().select(&Overrides::default()), Err(SelectError::Empty)));
        let server = Overrides { server: Some("https://x".into()), ..Default::default() };
        assert_eq!(Kubeconfig::default().select(&server).unwrap().cluster.server, "https://x");
    }

    #[test]
    fn what_is_overridden_takes_what_belongs_to_it_along() {
        let cluster = |overrides: Overrides| select(&overrides).unwrap().cluster;
        let insecure = cluster(Overrides { insecure: true, ..Default::default() });
        assert!(insecure.insecure_skip_tls_verify && insecure.certificate_authority_data.is_empty());
        assert_eq!(insecure.tls_server_name, "api");
        let elsewhere = cluster(Overrides { server: Some("https://other".into()), ..Default::default() });
        assert_eq!((elsewhere.server.as_str(), elsewhere.tls_server_name.as_str()), ("https://other", ""));
        assert_eq!(elsewhere.certificate_authority_data, "Y2E=");
    }
}
