//! Builds a config from a kubeconfig's selection.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::address::{proxy_address, server_address};
use super::{
    Authorities, Authorization, ClientCertificate, Config, ConfigError, Exec, Impersonate, Oidc, Proxy,
};
use crate::kubeconfig::{Cluster, Selection, User};

/// The cluster extension that is passed to exec plugins.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

impl Config {
    /// Creates a config from a selection. Reads only files that a config cannot refer to: a client certificate or key whose
    /// other half is inline, and the certificate authority for an exec plugin that requests cluster information.
    ///
    /// # Errors
    /// If an address or base64 data is invalid, or such a client certificate or key cannot be read.
    pub fn from_selection(selection: &Selection) -> Result<Self, ConfigError> {
        let (cluster, user) = (&selection.cluster, &selection.user);
        let certificate = certificate(selection)?;
        let authorities = authorities(selection)?;
        let secure = authorities != Authorities::System || certificate.is_some();
        let address = |source| ConfigError::Address { entry: cluster_entry(selection), source };
        let server = server_address(&cluster.server, secure).map_err(address)?;
        let mut config = Self::new(server);
        config.authorization = authorization(selection, &config)?;
        config.certificate = certificate;
        config.authorities = authorities;
        config.tls_server_name = Some(cluster.tls_server_name.clone()).filter(|name| !name.is_empty());
        config.impersonate = impersonate(user);
        config.compression = !cluster.disable_compression;
        if !cluster.proxy_url.is_empty() {
            config.proxy = Proxy::Url(proxy_address(&cluster.proxy_url).map_err(address)?);
        }
        if let Some(namespace) = &selection.namespace {
            config.namespace.clone_from(namespace);
        }
        Ok(config)
    }
}

fn authorities(selection: &Selection) -> Result<Authorities, ConfigError> {
    let cluster = &selection.cluster;
    if cluster.insecure_skip_tls_verify {
        return Ok(Authorities::SkipVerify);
    }
    if !cluster.certificate_authority_data.is_empty() {
        let entry = || cluster_entry(selection);
        let pem = text(&cluster.certificate_authority_data, "certificate-authority-data", entry)?;
        return Ok(Authorities::Pem(pem));
    }
    if cluster.certificate_authority.as_os_str().is_empty() {
        return Ok(Authorities::System);
    }
    Ok(Authorities::File(cluster.certificate_authority.clone()))
}

fn certificate(selection: &Selection) -> Result<Option<ClientCertificate>, ConfigError> {
    let user = &selection.user;
    let entry = || user_entry(selection);
    let is_set = |path: &PathBuf| !path.as_os_str().is_empty();
    let (files, data) = (
        (is_set(&user.client_certificate), is_set(&user.client_key)),
        (!user.client_certificate_data.is_empty(), !user.client_key_data.is_empty()),
    );
    let read = |path: &PathBuf, field| {
        std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            entry: entry(),
            field,
            file: path.clone(),
            source,
        })
    };
    let from_data = |data: &str, field| text(data, field, entry);
    Ok(match (files, data) {
        ((false, false), (false, false)) => None,
        ((true, true), _) => Some(ClientCertificate::Files {
            certificate: user.client_certificate.clone(),
            key: user.client_key.clone(),
        }),
        // One half may be a file and the other inline; then neither is reread.
        _ => Some(ClientCertificate::Pem {
            certificate: if files.0 {
                read(&user.client_certificate, "client-certificate")?
            } else {
                from_data(&user.client_certificate_data, "client-certificate-data")?
            },
            key: if files.1 {
                read(&user.client_key, "client-key")?.into()
            } else {
                from_data(user.client_key_data.reveal(), "client-key-data")?.into()
            },
        }),
    })
}

fn authorization(selection: &Selection, config: &Config) -> Result<Authorization, ConfigError> {
    let user = &selection.user;
    let has_certificate =
        !user.client_certificate.as_os_str().is_empty() || !user.client_certificate_data.is_empty();
    Ok(if !user.token_file.as_os_str().is_empty() {
        Authorization::TokenFile(user.token_file.clone())
    } else if !user.token.is_empty() {
        Authorization::Token(user.token.clone())
    } else if !user.username.is_empty() {
        Authorization::Basic { username: user.username.clone(), password: user.password.clone() }
    } else if let Some(command) = user.exec.as_ref().filter(|_| !has_certificate) {
        let cluster = command.provide_cluster_info.then(|| cluster_info(&selection.cluster, config));
        Authorization::Exec(Box::new(Exec { command: command.clone(), cluster }))
    } else if let Some(provider) = &user.auth_provider {
        if provider.name != "oidc" {
            let name = provider.name.clone();
            return Err(ConfigError::Provider { entry: user_entry(selection), name });
        }
        let saved_in = user.file.clone().map(|file| (file, selection.user_name.clone()));
        Authorization::Oidc(Box::new(Oidc { settings: provider.config.clone(), saved_in }))
    } else {
        Authorization::None
    })
}

/// Returns the cluster information passed to an exec plugin.
fn cluster_info(cluster: &Cluster, config: &Config) -> Value {
    let mut info = json!({"server": config.server.to_string().trim_end_matches('/')});
    let mut set = |name: &str, value: Value| {
        info[name] = value;
    };
    if !cluster.tls_server_name.is_empty() {
        set("tls-server-name", cluster.tls_server_name.as_str().into());
    }
    if cluster.insecure_skip_tls_verify {
        set("insecure-skip-tls-verify", true.into());
    }
    if !cluster.certificate_authority_data.is_empty() {
        set("certificate-authority-data", cluster.certificate_authority_data.as_str().into());
    } else if let Ok(pem) = std::fs::read(&cluster.certificate_authority) {
        set("certificate-authority-data", STANDARD.encode(pem).into());
    }
    if !cluster.proxy_url.is_empty() {
        set("proxy-url", cluster.proxy_url.as_str().into());
    }
    if cluster.disable_compression {
        set("disable-compression", true.into());
    }
    set("config", cluster.extensions.get(EXEC_EXTENSION).cloned().unwrap_or_default());
    info
}

fn impersonate(user: &User) -> Option<Impersonate> {
    (!user.impersonate.is_empty()).then(|| Impersonate {
        user: user.impersonate.clone(),
        uid: user.impersonate_uid.clone(),
        groups: user.impersonate_groups.clone(),
        extra: user.impersonate_extra.clone(),
    })
}

fn text(data: &str, field: &'static str, entry: impl Fn() -> String) -> Result<String, ConfigError> {
    let plain: String = data.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(plain).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| ConfigError::Data { entry: entry(), field })
}

fn cluster_entry(selection: &Selection) -> String {
    entry("cluster", &selection.cluster_name, selection.cluster.file.as_ref())
}

fn user_entry(selection: &Selection) -> String {
    entry("user", &selection.user_name, selection.user.file.as_ref())
}

fn entry(what: &str, name: &str, file: Option<&PathBuf>) -> String {
    match file {
        Some(file) => format!("{what} {name:?} in {}", file.display()),
        None => format!("{what} {name:?}"),
    }
}

#[cfg(test)]
mod tests {
    use watchkeeper_core::ErrorChain;

    use super::*;
    use crate::kubeconfig::{Kubeconfig, Overrides};
    use std::path::Path;

    fn config(cluster: &str, user: &str) -> Result<Config, ConfigError> {
        let text = format!(
            "current-context: x
contexts: [{{name: x, context: {{cluster: c, user: u, namespace: shop}}}}]
clusters: [{{name: c, cluster: {{{cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]"
        );
        let mut kubeconfig = Kubeconfig::parse(&text).unwrap();
        kubeconfig.set_file(Path::new("/k/config"));
        Config::from_selection(&kubeconfig.select(&Overrides::default())?)
    }

    #[test]
    fn a_selection_becomes_a_config() {
        let config = config(
            "server: 'https://a:6443/prefix/', certificate-authority-data: Y2E=, tls-server-name: api, proxy-url: 'socks5://p:1', disable-compression: true",
            "client-certificate: c.crt, client-key: c.key, token: t, as: her, as-groups: [g]",
        )
        .unwrap();
        assert_eq!(config.server, "https://a:6443/prefix");
        assert_eq!(config.authorities, Authorities::Pem("ca".to_owned()));
        assert_eq!(config.tls_server_name.as_deref(), Some("api"));
        assert_eq!(config.proxy, Proxy::Url("socks5://p:1".parse().unwrap()));
        assert!(!config.compression && !config.plain_credentials && config.is_secure());
        let files = ClientCertificate::Files { certificate: "/k/c.crt".into(), key: "/k/c.key".into() };
        assert_eq!(config.certificate, Some(files));
        assert_eq!(config.authorization, Authorization::Token("t".into()));
        assert_eq!(config.impersonate.unwrap().groups, ["g"]);
        assert_eq!(config.namespace, "shop");
    }

    #[test]
    fn one_file_is_loaded_with_paths_relative_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        std::fs::write(
            &file,
            "current-context: x
contexts: [{name: x, context: {cluster: c, namespace: shop}}]
clusters: [{name: c, cluster: {server: 'https://a', certificate-authority: ca.crt}}]",
        )
        .unwrap();
        let config = Config::from_file(&file).unwrap();
        assert_eq!((config.server.to_string().as_str(), config.namespace.as_str()), ("https://a/", "shop"));
        assert_eq!(config.authorities, Authorities::File(directory.path().join("ca.crt")));
        let missing = Config::from_file(directory.path().join("missing")).unwrap_err();
        assert!(missing.to_string().contains("missing: "), "{missing}");
    }

    #[test]
    fn a_server_without_a_scheme_uses_https_if_tls_settings_exist() {
        let server = |cluster: &str| config(cluster, "").unwrap().server.to_string();
        assert_eq!(server("server: 'a:80'"), "http://a:80/");
        assert_eq!(server("server: 'a:80', insecure-skip-tls-verify: true"), "https://a:80/");
    }

    #[test]
    fn a_plugin_is_used_only_without_other_credentials() {
        let exec =
            "exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, provideClusterInfo: true}";
        let cluster =
            "server: 'https://a', extensions: [{name: client.authentication.k8s.io/exec, extension: {k: v}}]";
        let Authorization::Exec(found) = config(cluster, exec).unwrap().authorization else { panic!() };
        assert_eq!(found.cluster.unwrap(), json!({"server": "https://a", "config": {"k": "v"}}));
        let with_token = config(cluster, &format!("token: t, {exec}")).unwrap();
        assert_eq!(with_token.authorization, Authorization::Token("t".into()));
        let with_certificate =
            config(cluster, &format!("client-certificate: c, client-key: k, {exec}")).unwrap();
        assert_eq!(with_certificate.authorization, Authorization::None);
    }

    #[test]
    fn errors_name_the_entry_and_the_field() {
        let error = |cluster, user| config(cluster, user).unwrap_err().to_string();
        assert_eq!(
            error("server: 'https://a', certificate-authority-data: '%'", ""),
            "cluster \"c\" in /k/config: invalid certificate-authority-data: not text in base64"
        );
        assert_eq!(
            error("server: 'https://a'", "client-certificate-data: '%', client-key-data: eA=="),
            "user \"u\" in /k/config: invalid client-certificate-data: not text in base64"
        );
        assert_eq!(
            error("server: 'https://a'", "client-certificate: absent.crt, client-key-data: eA=="),
            "user \"u\" in /k/config: failed to read client-certificate /k/absent.crt"
        );
        assert_eq!(
            ErrorChain(&config("server: 'ftp://a'", "").unwrap_err()).to_string(),
            "invalid cluster \"c\" in /k/config: invalid URL \"ftp://a\": must begin with http:// or https://"
        );
        assert_eq!(
            error("server: 'https://a'", "auth-provider: {name: gcp}"),
            "user \"u\" in /k/config: unsupported auth-provider \"gcp\": use an exec plugin"
        );
    }

    #[test]
    fn debug_output_contains_no_secrets() {
        let config = config("server: 'https://a'", "token: hunter2").unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
