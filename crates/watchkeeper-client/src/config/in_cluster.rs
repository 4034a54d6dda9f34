//! In-cluster configuration: the service account of a pod.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, io};

use super::address::server_address;
use super::{Authorities, Authorization, Config, ConfigError};
use crate::kubeconfig::Overrides;

/// The directory where a pod's service account is mounted.
const DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A service account as mounted into a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    /// `host:port` of the API server.
    pub server: String,
    /// The directory with `token`, `ca.crt` and `namespace`.
    pub directory: PathBuf,
    /// The namespace of the pod, if known.
    pub namespace: Option<String>,
}

/// The reason why in-cluster configuration is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InClusterError {
    /// The process does not run in a pod.
    #[error("not running in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set")]
    NoService,
    /// The service account token cannot be read.
    #[error("failed to read service account token {file}")]
    NoToken {
        /// The token file.
        file: PathBuf,
        /// The read error.
        source: io::Error,
    },
}

impl ServiceAccount {
    /// Returns the service account of the pod this process runs in.
    ///
    /// # Errors
    /// If the process does not run in a pod, or its token cannot be read.
    pub fn find() -> Result<Self, InClusterError> {
        Self::find_in(Path::new(DIRECTORY), |name| env::var_os(name))
    }

    fn find_in(
        directory: &Path,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, InClusterError> {
        let set =
            |name: &str| variable(name).and_then(|it| it.into_string().ok()).filter(|it| !it.is_empty());
        let (Some(host), Some(port)) = (set("KUBERNETES_SERVICE_HOST"), set("KUBERNETES_SERVICE_PORT"))
        else {
            return Err(InClusterError::NoService);
        };
        let file = directory.join("token");
        if let Err(source) = std::fs::read(&file) {
            return Err(InClusterError::NoToken { file, source });
        }
        let server = if host.contains(':') && !host.starts_with('[') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        };
        let in_file = || std::fs::read_to_string(directory.join("namespace")).ok();
        let namespace = set("POD_NAMESPACE").or_else(in_file).map(|text| text.trim().to_owned());
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        Ok(Self { server, directory: directory.to_owned(), namespace })
    }

    /// Returns a config for this account. Token and authorities are reread when they change.
    ///
    /// # Errors
    /// If the server address is invalid.
    pub fn config(&self, overrides: &Overrides) -> Result<Config, ConfigError> {
        let address = overrides.server.as_deref().unwrap_or(&self.server);
        let server = server_address(address, true)
            .map_err(|source| ConfigError::Address { entry: "service account".to_owned(), source })?;
        let mut config = Config::new(server);
        config.authorization = match &overrides.token {
            Some(token) => Authorization::Token(token.clone()),
            None => Authorization::TokenFile(self.directory.join("token")),
        };
        config.authorities = match &overrides.certificate_authority {
            _ if overrides.insecure => Authorities::SkipVerify,
            Some(file) => Authorities::File(file.clone()),
            None => Authorities::File(self.directory.join("ca.crt")),
        };
        config.tls_server_name.clone_from(&overrides.tls_server_name);
        let namespace = overrides.namespace.as_ref().or(self.namespace.as_ref());
        if let Some(namespace) = namespace {
            config.namespace.clone_from(namespace);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(set: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        |name| set.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into())
    }

    #[test]
    fn the_service_account_of_a_pod_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let pod = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "443")];
        let find = |set: &[(&str, &str)]| ServiceAccount::find_in(directory.path(), variables(set));
        assert!(matches!(find(&[]), Err(InClusterError::NoService)));
        assert!(matches!(find(&pod), Err(InClusterError::NoToken { .. })));
        std::fs::write(directory.path().join("token"), "t").unwrap();
        std::fs::write(directory.path().join("namespace"), "shop\n").unwrap();
        let account = find(&pod).unwrap();
        let config = account.config(&Overrides::default()).unwrap();
        assert_eq!(
            (config.server.to_string().as_str(), config.namespace.as_str()),
            ("https://[fd00::1]:443/", "shop")
        );
        assert_eq!(config.authorization, Authorization::TokenFile(directory.path().join("token")));
        assert_eq!(config.authorities, Authorities::File(directory.path().join("ca.crt")));
        let other = find(&[pod[0], pod[1], ("POD_NAMESPACE", "here")]).unwrap();
        assert_eq!(other.namespace.as_deref(), Some("here"));
    }

    #[test]
    fn overrides_take_precedence_over_the_account() {
        let account = ServiceAccount { server: "a:1".into(), directory: "/d".into(), namespace: None };
        let overrides = Overrides {
            server: Some("https://b".into()),
            token: Some("t".into()),
            insecure: true,
            namespace: Some("n".into()),
            ..Default::default()
        };
        let config = account.config(&overrides).unwrap();
        assert_eq!((config.server.to_string().as_str(), config.namespace.as_str()), ("https://b/", "n"));
        assert_eq!(config.authorization, Authorization::Token("t".into()));
        assert_eq!(config.authorities, Authorities::SkipVerify);
    }
}
