//! Config: everything that a client must know of a server, and of who asks.
//!
//! From: a [kubeconfig](crate::kubeconfig), the service account of a pod ([`Config::in_cluster`]), or a
//!       caller who knows.
//! To:   the transport and the REST client.
//!
//! - F1: credentials are only sent over TLS, unless [`Config::plain_credentials`] says otherwise.
//! - F2: secrets do not show in debug output.

mod address;
mod in_cluster;
mod resolve;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;

use crate::Secret;
use crate::auth::PluginPolicy;
use crate::kubeconfig::{CheckError, ExecCommand, LoadError, Overrides, SelectError, Sources};
use crate::metrics::{Metrics, NoMetrics};

pub use address::{AddressError, server_address};
pub use in_cluster::{NotInCluster, ServiceAccount};

/// How long a connection may take to be made.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of an answer that is read as a whole.
pub const MAX_RESPONSE_BYTES: u64 = 128 << 20;

/// What a client must know.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Where the server is: `https://host:port/prefix`. All paths go below the prefix.
    pub server: Uri,
    /// The namespace of requests that name none.
    pub namespace: String,
    /// Who may vouch for the server.
    pub authorities: Authorities,
    /// The name that the server's certificate must have, where it is not that of the address.
    pub tls_server_name: Option<String>,
    /// The client's own certificate.
    pub certificate: Option<ClientCertificate>,
    /// How the client says who it is, besides its certificate.
    pub authorization: Authorization,
    /// Which programs may be run to say who the client is; all of them by default. No file says this.
    pub plugin_policy: PluginPolicy,
    /// Whom the client acts as.
    pub impersonate: Option<Impersonate>,
    /// Whether credentials may go over plain HTTP (F1). They may not, unless this is set.
    pub plain_credentials: bool,
    /// The way to the server.
    pub proxy: Proxy,
    /// Whether answers may be compressed. They may, unless a kubeconfig says otherwise.
    pub compression: bool,
    /// How long a connection may take to be made; [`CONNECT_TIMEOUT`] by default. TLS may take 10 s of it.
    pub connect_timeout: Duration,
    /// The most bytes of an answer that is read as a whole, as sent and as decompressed; [`MAX_RESPONSE_BYTES`] by
    /// default. A longer one is an error. Watches, logs, and the lists of informers are read piece by piece, and are
    /// not limited by this.
    pub max_response_bytes: u64,
    /// What the client calls itself.
    pub user_agent: String,
    /// Who hears what the client does; nobody by default.
    pub metrics: Arc<dyn Metrics>,
}

/// Who may vouch for the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Authorities {
    /// Those that this machine trusts.
    System,
    /// These, in PEM.
    Pem(String),
    /// Those in a PEM file, which is read again when it changes.
    File(PathBuf),
    /// Anybody: the server is not checked at all.
    Anybody,
}

/// A client's certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientCertificate {
    /// In PEM.
    Pem {
        /// The certificate, and those between it and its authority.
        certificate: String,
        /// Its key.
        key: Secret,
    },
    /// In files, which are read again when they change.
    Files {
        /// The certificate, and those between it and its authority.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// How a client says who it is, besides its certificate.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Authorization {
    /// It does not.
    #[default]
    None,
    /// By a token.
    Token(Secret),
    /// By a token in a file, which is read again now and then.
    TokenFile(PathBuf),
    /// By name and password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// By what a program says.
    Exec(Box<Exec>),
    /// By an identity token, which is refreshed when it has run out.
    Oidc(Box<Oidc>),
}

/// A program that says who the client is.
#[derive(Debug, Clone, PartialEq)]
pub struct Exec {
    /// The program.
    pub command: ExecCommand,
    /// What it is told of the cluster, if it wants to know.
    pub cluster: Option<serde_json::Value>,
}

/// An identity token, and how to get the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Oidc {
    /// What the kubeconfig says: `idp-issuer-url`, `client-id`, `id-token`, `refresh-token`, ...
    pub settings: BTreeMap<String, Secret>,
    /// Where a new token is written to: the file and the user in it.
    pub kept_in: Option<(PathBuf, String)>,
}

/// Whom the client acts as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonate {
    /// The name.
    pub user: String,
    /// The uid; empty for none.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The way to the server.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// What `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say; the straight one to this machine itself.
    #[default]
    Environment,
    /// The straight one.
    Direct,
    /// Through this one: `http://`, `https://` or `socks5://`, with `user:password@` if need be.
    Through(Uri),
}

/// Does not show a password (F2).
impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |uri: &Uri| {
            let authority = uri.authority().map_or("", |authority| authority.as_str());
            let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
            format!("{}://{place}", uri.scheme_str().unwrap_or_default())
        };
        match self {
            Self::Environment => f.write_str("Environment"),
            Self::Direct => f.write_str("Direct"),
            Self::Through(uri) => f.debug_tuple("Through").field(&shown(uri)).finish(),
        }
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file could not be read: mend or remove it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What was asked for is not configured.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// This is not a pod, and nothing else is configured.
    #[error(transparent)]
    NotInCluster(#[from] NotInCluster),
    /// The address of the server, or of the proxy, is none.
    #[error("{entry}: {source}")]
    Address {
        /// Where it stands.
        entry: String,
        /// What is wrong with it.
        source: AddressError,
    },
    /// What is said in base64 is not, or is not text.
    #[error("{entry}: {field} is not a text in base64")]
    Data {
        /// Where it stands.
        entry: String,
        /// Which field.
        field: &'static str,
    },
    /// A provider of credentials that does not exist (any more).
    #[error("{entry}: there is no auth-provider {name:?}: use an exec plugin")]
    Provider {
        /// Where it stands.
        entry: String,
        /// Its name.
        name: String,
    },
}

impl From<CheckError> for ConfigError {
    fn from(error: CheckError) -> Self {
        Self::Select(SelectError::Invalid(error))
    }
}

impl Config {
    /// A server, and nobody who asks.
    pub fn new(server: Uri) -> Self {
        Self {
            server,
            namespace: "default".to_owned(),
            authorities: Authorities::System,
            tls_server_name: None,
            certificate: None,
            authorization: Authorization::None,
            plugin_policy: PluginPolicy::AllowAll,
            impersonate: None,
            plain_credentials: false,
            proxy: Proxy::Environment,
            compression: true,
            connect_timeout: CONNECT_TIMEOUT,
            max_response_bytes: MAX_RESPONSE_BYTES,
            user_agent: default_user_agent(),
            metrics: Arc::new(NoMetrics),
        }
    }

    /// What is configured: the files of `$KUBECONFIG` or the default one; in a pod without either, its
    /// service account.
    ///
    /// # Errors
    /// If a file is broken, or nothing is configured.
    pub fn infer() -> Result<Self, ConfigError> {
        Self::load(&Sources::infer(), &Overrides::default())
    }

    /// What these files say, or in a pod without any its service account; and flags that count for more.
    ///
    /// # Errors
    /// If a file is broken, or nothing is configured, or what was asked for is not there.
    pub fn load(sources: &Sources, overrides: &Overrides) -> Result<Self, ConfigError> {
        let loaded = sources.load()?;
        match loaded.config.select(overrides) {
            Ok(selection) => Self::from_selection(&selection),
            Err(SelectError::Empty) if !matches!(sources, Sources::File(_)) => match ServiceAccount::find() {
                Ok(account) => Ok(account.config(overrides)?),
                Err(_) => Err(SelectError::Empty.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// The service account of this pod.
    ///
    /// # Errors
    /// If this is no pod, or its service account cannot be read.
    pub fn in_cluster() -> Result<Self, ConfigError> {
        ServiceAccount::find()?.config(&Overrides::default())
    }

    /// Whether requests go over TLS.
    pub fn is_secure(&self) -> bool {
        self.server.scheme() == Some(&http::uri::Scheme::HTTPS)
    }
}

/// `program/version (os/arch) watchkeeper`.
fn default_user_agent() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
    let visible = |c: &char| c.is_ascii_graphic() && !"()".contains(*c);
    let name: String = name.unwrap_or("unknown").chars().filter(visible).collect();
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    format!("{name} ({os}/{arch}) watchkeeper/{version}")
}
