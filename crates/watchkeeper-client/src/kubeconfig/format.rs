//! The kubeconfig file format.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use watchkeeper_wire::yaml;

use crate::Secret;

/// The content of a kubeconfig file, or of several merged files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kubeconfig {
    /// Clusters by name.
    pub clusters: BTreeMap<String, Cluster>,
    /// Users by name.
    pub users: BTreeMap<String, User>,
    /// Contexts by name.
    pub contexts: BTreeMap<String, Context>,
    /// The default context; empty if not set.
    pub current_context: String,
}

/// A cluster: the address of its server, and how to verify it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Cluster {
    /// `https://host:port/path`.
    #[serde(deserialize_with = "text")]
    pub server: String,
    /// The name expected in the server's certificate, if it differs from the host of `server`.
    #[serde(deserialize_with = "text")]
    pub tls_server_name: String,
    /// Whether to skip verification of the server's certificate.
    #[serde(deserialize_with = "or_default")]
    pub insecure_skip_tls_verify: bool,
    /// A PEM file with the certificate authorities of the server.
    #[serde(deserialize_with = "text")]
    pub certificate_authority: PathBuf,
    /// The certificate authorities as base64-encoded PEM.
    #[serde(deserialize_with = "text")]
    pub certificate_authority_data: String,
    /// The proxy: `http://`, `https://` or `socks5://`.
    #[serde(deserialize_with = "text")]
    pub proxy_url: String,
    /// Whether to disable compressed responses.
    #[serde(deserialize_with = "or_default")]
    pub disable_compression: bool,
    /// Extensions by name.
    #[serde(deserialize_with = "extensions")]
    pub extensions: BTreeMap<String, Value>,
    /// The file that the entry was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// A user: credentials and impersonation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct User {
    /// A PEM file with the client certificate.
    #[serde(deserialize_with = "text")]
    pub client_certificate: PathBuf,
    /// The client certificate as base64-encoded PEM.
    #[serde(deserialize_with = "text")]
    pub client_certificate_data: String,
    /// A PEM file with the client key.
    #[serde(deserialize_with = "text")]
    pub client_key: PathBuf,
    /// The client key as base64-encoded PEM.
    #[serde(deserialize_with = "text")]
    pub client_key_data: Secret,
    /// A bearer token.
    #[serde(deserialize_with = "text")]
    pub token: Secret,
    /// A file with a bearer token, reread about every minute.
    #[serde(rename = "tokenFile", deserialize_with = "text")]
    pub token_file: PathBuf,
    /// The user to impersonate.
    #[serde(rename = "as", deserialize_with = "text")]
    pub impersonate: String,
    /// The UID to impersonate.
    #[serde(rename = "as-uid", deserialize_with = "text")]
    pub impersonate_uid: String,
    /// The groups to impersonate.
    #[serde(rename = "as-groups", deserialize_with = "texts")]
    pub impersonate_groups: Vec<String>,
    /// The extra attributes to impersonate.
    #[serde(rename = "as-user-extra", deserialize_with = "lists_of_texts")]
    pub impersonate_extra: BTreeMap<String, Vec<String>>,
    /// User name for basic authentication.
    #[serde(deserialize_with = "text")]
    pub username: String,
    /// Password for basic authentication.
    #[serde(deserialize_with = "text")]
    pub password: Secret,
    /// A built-in auth provider.
    pub auth_provider: Option<AuthProvider>,
    /// An exec plugin.
    pub exec: Option<ExecCommand>,
    /// The file that the entry was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// A built-in auth provider.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct AuthProvider {
    /// `oidc`.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// The provider's settings.
    #[serde(default, deserialize_with = "map_of_texts")]
    pub config: BTreeMap<String, Secret>,
}

/// An exec plugin.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecCommand {
    /// The executable: a name looked up in `$PATH`, or a path.
    #[serde(deserialize_with = "text")]
    pub command: String,
    /// Its arguments.
    #[serde(deserialize_with = "texts")]
    pub args: Vec<String>,
    /// Environment variables in addition to those of this process.
    #[serde(deserialize_with = "or_default")]
    pub env: Vec<ExecVariable>,
    /// `client.authentication.k8s.io/v1` or `/v1beta1`.
    #[serde(deserialize_with = "text")]
    pub api_version: String,
    /// Shown to a user who does not have the plugin installed.
    #[serde(deserialize_with = "text")]
    pub install_hint: String,
    /// Whether to pass cluster information to the plugin.
    #[serde(deserialize_with = "or_default")]
    pub provide_cluster_info: bool,
    /// Whether the plugin may use standard input interactively.
    pub interactive_mode: Option<InteractiveMode>,
}

/// An environment variable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct ExecVariable {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Its value.
    #[serde(deserialize_with = "text")]
    pub value: Secret,
}

/// Whether a plugin may use standard input interactively.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum InteractiveMode {
    /// Never.
    Never,
    /// If standard input is a terminal.
    IfAvailable,
    /// Always: an error if standard input is not a terminal.
    Always,
}

/// A cluster, a user and a namespace.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The name of a cluster.
    #[serde(deserialize_with = "text")]
    pub cluster: String,
    /// The name of a user.
    #[serde(deserialize_with = "text")]
    pub user: String,
    /// The default namespace; empty means `default`.
    #[serde(deserialize_with = "text")]
    pub namespace: String,
    /// The file that the entry was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

impl Kubeconfig {
    /// Parses the text of one file, in YAML or JSON. Paths in it stay relative.
    ///
    /// # Errors
    /// The problem and the entry that has it. The caller adds the file name.
    ///
    /// ```
    /// use watchkeeper_client::kubeconfig::Kubeconfig;
    ///
    /// let config = Kubeconfig::parse("clusters: [{name: dev, cluster: {server: 'https://dev:6443'}}]")?;
    /// assert_eq!(config.clusters["dev"].server, "https://dev:6443");
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = yaml::read(text)?;
        let mut value = Value::from(read.document);
        if value.is_null() {
            return Ok(Self::default());
        }
        if !value.is_object() {
            return Err("not a mapping".to_owned());
        }
        let field = |name: &str| {
            let value = value.get(name).cloned().unwrap_or_default();
            Text::deserialize(value).map(|text| text.0).map_err(|error| format!("{name}: {error}"))
        };
        let (version, kind, current_context) =
            (field("apiVersion")?, field("kind")?, field("current-context")?);
        if !matches!(version.as_str(), "" | "v1") || !matches!(kind.as_str(), "" | "Config") {
            return Err(format!("expected kind Config of apiVersion v1, found kind {kind:?} of {version:?}"));
        }
        Ok(Self {
            clusters: entries(&mut value, "clusters", "cluster")?,
            users: entries(&mut value, "users", "user")?,
            contexts: entries(&mut value, "contexts", "context")?,
            current_context,
        })
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads a list of `{name: ..., cluster: ...}` with unique names.
fn entries<T: serde::de::DeserializeOwned + Default>(
    config: &mut Value,
    list: &str,
    field: &str,
) -> Result<BTreeMap<String, T>, String> {
    let items = match config.get_mut(list).map(Value::take) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(format!("{list} is not a list")),
    };
    let mut read = BTreeMap::new();
    for (position, mut item) in items.into_iter().enumerate() {
        let name = item.get("name").cloned().unwrap_or_default();
        let name = Text::deserialize(name).map_or(String::new(), |name| name.0);
        if name.is_empty() {
            return Err(format!("{list}[{position}] has no name"));
        }
        let value = match item.get_mut(field).map(Value::take) {
            None | Some(Value::Null) => T::default(),
            Some(value) => {
                serde_json::from_value(value).map_err(|error| format!("{field} {name:?}: {error}"))?
            }
        };
        if read.insert(name.clone(), value).is_some() {
            return Err(format!("{list} has more than one {name:?}"));
        }
    }
    Ok(read)
}

fn extensions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error> {
    #[derive(Deserialize)]
    struct Extension {
        name: String,
        #[serde(default)]
        extension: Value,
    }
    let list = Option::<Vec<Extension>>::deserialize(deserializer)?;
    Ok(list.unwrap_or_default().into_iter().map(|it| (it.name, it.extension)).collect())
}

/// A string. Like Go's YAML reader, accepts a number or boolean in its place, and `null` for an absent field:
/// `password: 123456` needs no quotes.
#[derive(Default)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            Value::Bool(value) => Ok(Self(value.to_string())),
            Value::Array(_) => Err(serde::de::Error::custom("expected a string, found a list")),
            Value::Object(_) => Err(serde::de::Error::custom("expected a string, found a mapping")),
        }
    }
}

fn text<'de, D: Deserializer<'de>, T: From<String>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Text::deserialize(deserializer)?.0.into())
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let list: Vec<Text> = or_default(deserializer)?;
    Ok(list.into_iter().map(|text| text.0).collect())
}

fn map_of_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Secret>, D::Error> {
    let map: BTreeMap<String, Text> = or_default(deserializer)?;
    Ok(map.into_iter().map(|(name, text)| (name, text.0.into())).collect())
}

fn lists_of_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let map: BTreeMap<String, Vec<Text>> = or_default(deserializer)?;
    Ok(map.into_iter().map(|(name, list)| (name, list.into_iter().map(|text| text.0).collect())).collect())
}

/// Reads `null` as an absent field, as Go does.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read() {
        let text = r"
apiVersion: v1
kind: Config
current-context: work
preferences: {}
clusters:
- name: dev
  cluster:
    server: https://dev:6443
    tls-server-name: api
    insecure-skip-tls-verify: true
    certificate-authority: ca.crt
    certificate-authority-data: Y2E=
    proxy-url: socks5://p:1
    disable-compression: true
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]
users:
- name: me
  user:
    client-certificate: c.crt
    client-certificate-data: Yw==
    client-key: c.key
    client-key-data: aw==
    token: t
    tokenFile: /tok
    as: her
    as-uid: '7'
    as-groups: [g]
    as-user-extra: {scopes: [a, b]}
    username: u
    password: p
    auth-provider: {name: oidc, config: {client-id: c}}
    exec:
      command: aws
      args: [eks]
      env: [{name: A, value: b}]
      apiVersion: client.authentication.k8s.io/v1
      installHint: get it
      provideClusterInfo: true
      interactiveMode: IfAvailable
contexts:
- {name: work, context: {cluster: dev, user: me, namespace: shop}}
";
        let config = Kubeconfig::parse(text).unwrap();
        let cluster = &config.clusters["dev"];
        assert_eq!((cluster.server.as_str(), cluster.tls_server_name.as_str()), ("https://dev:6443", "api"));
        assert!(cluster.insecure_skip_tls_verify && cluster.disable_compression);
        assert_eq!(cluster.extensions["client.authentication.k8s.io/exec"]["audience"], "x");
        let user = &config.users["me"];
        assert_eq!((user.token.reveal(), user.token_file.to_str()), ("t", Some("/tok")));
        assert_eq!((user.impersonate.as_str(), user.impersonate_extra["scopes"].len()), ("her", 2));
        assert_eq!(user.auth_provider.as_ref().unwrap().config["client-id"].reveal(), "c");
        let exec = user.exec.as_ref().unwrap();
        assert_eq!(
            (exec.command.as_str(), exec.interactive_mode),
            ("aws", Some(InteractiveMode::IfAvailable))
        );
        assert_eq!(config.contexts["work"].namespace, "shop");
        assert_eq!(config.current_context, "work");
    }

    #[test]
    fn empty_files_and_null_lists_are_empty_configs() {
        for text in ["", "# nothing\n", "{}", "clusters: null\nusers:\ncurrent-context: ''\n"] {
            assert!(Kubeconfig::parse(text).unwrap().is_empty(), "{text}");
        }
    }

    #[test]
    fn errors_name_the_entry() {
        for (text, error) in [
            ("- a", "not a mapping"),
            (
                "kind: Pod\napiVersion: v1",
                "expected kind Config of apiVersion v1, found kind \"Pod\" of \"v1\"",
            ),
            ("clusters: {}", "clusters is not a list"),
            ("clusters: [{cluster: {}}]", "clusters[0] has no name"),
            ("users: [{name: a}, {name: a}]", "users has more than one \"a\""),
            ("users: [{name: a, user: {token: [1]}}]", "user \"a\": expected a string, found a list"),
        ] {
            assert_eq!(Kubeconfig::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn numbers_and_booleans_are_accepted_as_strings() {
        let text = "current-context: 1\nusers: [{name: 1, user: {password: 123456, exec: {args: [--port, 80, yes]}}}]";
        let config = Kubeconfig::parse(text).unwrap();
        assert_eq!(config.current_context, "1");
        assert_eq!(config.users["1"].password.reveal(), "123456");
        assert_eq!(config.users["1"].exec.as_ref().unwrap().args, ["--port", "80", "true"]);
    }

    #[test]
    fn debug_output_contains_no_secrets() {
        let config =
            Kubeconfig::parse("users: [{name: a, user: {token: hunter2, password: hunter2}}]").unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
