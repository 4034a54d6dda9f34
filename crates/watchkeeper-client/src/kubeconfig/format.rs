//! The form of a kubeconfig file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use watchkeeper_wire::yaml;

use crate::Secret;

/// What is in a kubeconfig file, or in several that were merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kubeconfig {
    /// Servers by name.
    pub clusters: BTreeMap<String, Cluster>,
    /// Credentials by name.
    pub users: BTreeMap<String, User>,
    /// Pairs of both by name.
    pub contexts: BTreeMap<String, Context>,
    /// The context to use where none is named; empty for none.
    pub current_context: String,
}

/// A server, and how to know it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Cluster {
    /// `https://host:port/path`.
    #[serde(deserialize_with = "text")]
    pub server: String,
    /// The name that the server's certificate must have, where it is not that of the URL.
    #[serde(deserialize_with = "text")]
    pub tls_server_name: String,
    /// Whether any certificate will do.
    #[serde(deserialize_with = "or_default")]
    pub insecure_skip_tls_verify: bool,
    /// A PEM file with those who may vouch for the server.
    #[serde(deserialize_with = "text")]
    pub certificate_authority: PathBuf,
    /// The same, in base64.
    #[serde(deserialize_with = "text")]
    pub certificate_authority_data: String,
    /// `http://`, `https://` or `socks5://`: the way to the server.
    #[serde(deserialize_with = "text")]
    pub proxy_url: String,
    /// Whether answers are not to be compressed.
    #[serde(deserialize_with = "or_default")]
    pub disable_compression: bool,
    /// What other programs keep here, by name.
    #[serde(deserialize_with = "extensions")]
    pub extensions: BTreeMap<String, Value>,
    /// The file that this was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// Credentials.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct User {
    /// A PEM file.
    #[serde(deserialize_with = "text")]
    pub client_certificate: PathBuf,
    /// The same, in base64.
    #[serde(deserialize_with = "text")]
    pub client_certificate_data: String,
    /// A PEM file.
    #[serde(deserialize_with = "text")]
    pub client_key: PathBuf,
    /// The same, in base64.
    #[serde(deserialize_with = "text")]
    pub client_key_data: Secret,
    /// A bearer token.
    #[serde(deserialize_with = "text")]
    pub token: Secret,
    /// A file with a bearer token, which is read again now and then.
    #[serde(rename = "tokenFile", deserialize_with = "text")]
    pub token_file: PathBuf,
    /// Whom to act as.
    #[serde(rename = "as", deserialize_with = "text")]
    pub impersonate: String,
    /// With which uid.
    #[serde(rename = "as-uid", deserialize_with = "text")]
    pub impersonate_uid: String,
    /// In which groups.
    #[serde(rename = "as-groups", deserialize_with = "texts")]
    pub impersonate_groups: Vec<String>,
    /// With which attributes.
    #[serde(rename = "as-user-extra", deserialize_with = "lists_of_texts")]
    pub impersonate_extra: BTreeMap<String, Vec<String>>,
    /// For basic authentication.
    #[serde(deserialize_with = "text")]
    pub username: String,
    /// For basic authentication.
    #[serde(deserialize_with = "text")]
    pub password: Secret,
    /// A provider that is built in.
    pub auth_provider: Option<AuthProvider>,
    /// A program that gives credentials.
    pub exec: Option<ExecCommand>,
    /// The file that this was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// A provider of credentials that is built in.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct AuthProvider {
    /// `oidc`.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// What it keeps.
    #[serde(default, deserialize_with = "map_of_texts")]
    pub config: BTreeMap<String, Secret>,
}

/// A program that gives credentials.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecCommand {
    /// The program: a name for `$PATH`, or a path.
    #[serde(deserialize_with = "text")]
    pub command: String,
    /// Its arguments.
    #[serde(deserialize_with = "texts")]
    pub args: Vec<String>,
    /// Variables besides those of this process.
    #[serde(deserialize_with = "or_default")]
    pub env: Vec<ExecVariable>,
    /// `client.authentication.k8s.io/v1` or `/v1beta1`.
    #[serde(deserialize_with = "text")]
    pub api_version: String,
    /// What to tell a user who does not have the program.
    #[serde(deserialize_with = "text")]
    pub install_hint: String,
    /// Whether the program is told of the cluster.
    #[serde(deserialize_with = "or_default")]
    pub provide_cluster_info: bool,
    /// Whether the program may ask the user.
    pub interactive_mode: Option<InteractiveMode>,
}

/// A variable of a program's environment.
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

/// Whether a program may ask the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum InteractiveMode {
    /// It never asks.
    Never,
    /// It asks where standard input is a terminal.
    IfAvailable,
    /// It must be able to ask.
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
    /// The namespace of requests that name none; empty for `default`.
    #[serde(deserialize_with = "text")]
    pub namespace: String,
    /// The file that this was read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

impl Kubeconfig {
    /// Reads the text of one file, which is YAML or JSON. Paths in it stay as they are.
    ///
    /// # Errors
    /// What is wrong, and in which entry. The caller knows the file.
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
            return Err("it is not a mapping".to_owned());
        }
        let said = |name: &str| {
            let value = value.get(name).cloned().unwrap_or_default();
            Text::deserialize(value).map(|text| text.0).map_err(|error| format!("{name}: {error}"))
        };
        let (version, kind, current_context) = (said("apiVersion")?, said("kind")?, said("current-context")?);
        if !matches!(version.as_str(), "" | "v1") || !matches!(kind.as_str(), "" | "Config") {
            return Err(format!("it is a {kind} of {version}, not a Config of v1"));
        }
        Ok(Self {
            clusters: entries(&mut value, "clusters", "cluster")?,
            users: entries(&mut value, "users", "user")?,
            contexts: entries(&mut value, "contexts", "context")?,
            current_context,
        })
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads a list of `{name: ..., cluster: ...}`; no name may come twice.
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
            return Err(format!("{list} has {name:?} twice"));
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

/// A text. Go takes a number or a truth for one where a text is due, and `null` for an absent field:
/// `password: 123456` is as good as with quotes.
#[derive(Default)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            Value::Bool(value) => Ok(Self(value.to_string())),
            Value::Array(_) => Err(serde::de::Error::custom("a list where a text is due")),
            Value::Object(_) => Err(serde::de::Error::custom("a mapping where a text is due")),
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

/// Takes `null` for an absent field, as Go does.
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
    fn an_empty_file_and_null_lists_say_nothing() {
        for text in ["", "# nothing\n", "{}", "clusters: null\nusers:\ncurrent-context: ''\n"] {
            assert!(Kubeconfig::parse(text).unwrap().is_empty(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, error) in [
            ("- a", "it is not a mapping"),
            ("kind: Pod\napiVersion: v1", "it is a Pod of v1, not a Config of v1"),
            ("clusters: {}", "clusters is not a list"),
            ("clusters: [{cluster: {}}]", "clusters[0] has no name"),
            ("users: [{name: a}, {name: a}]", "users has \"a\" twice"),
            ("users: [{name: a, user: {token: [1]}}]", "user \"a\": a list where a text is due"),
        ] {
            assert_eq!(Kubeconfig::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn a_number_is_a_text_where_a_text_is_due() {
        let text = "current-context: 1\nusers: [{name: 1, user: {password: 123456, exec: {args: [--port, 80, yes]}}}]";
        let config = Kubeconfig::parse(text).unwrap();
        assert_eq!(config.current_context, "1");
        assert_eq!(config.users["1"].password.reveal(), "123456");
        assert_eq!(config.users["1"].exec.as_ref().unwrap().args, ["--port", "80", "true"]);
    }

    #[test]
    fn secrets_are_not_shown() {
        let config =
            Kubeconfig::parse("users: [{name: a, user: {token: hunter2, password: hunter2}}]").unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
