//! Config: the settings of a client.
//!
//! Input: a [kubeconfig](crate::kubeconfig), the service account of a pod ([`Config::in_cluster`]), or the caller.
//! Output: the transport and the REST client.
//!
//! Invariants:
//! - `config.F1`: credentials are sent over TLS only, unless [`Config::plain_credentials`] is set.
//! - `config.F2`: secrets do not appear in debug output.

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
pub use in_cluster::{InClusterError, ServiceAccount};

/// Default time limit for establishing a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Default maximum size of a response that is read whole, in bytes.
pub const MAX_RESPONSE_BYTES: u64 = 128 << 20;

/// Default burst of a rate limit, as in client-go.
pub const DEFAULT_BURST: u32 = 10;

/// The settings of a client. (client-go: `rest.Config`.)
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The address of the server, `https://host:port/prefix`. All paths are below the prefix.
    pub server: Uri,
    /// The default namespace.
    pub namespace: String,
    /// The certificate authorities that the server's certificate is verified against.
    pub authorities: Authorities,
    /// The name expected in the server's certificate, if it differs from the host of `server`.
    pub tls_server_name: Option<String>,
    /// The client certificate.
    pub certificate: Option<ClientCertificate>,
    /// The credentials sent in the `Authorization` header.
    pub authorization: Authorization,
    /// The exec plugins that may be run; all of them by default. Not part of a kubeconfig.
    pub plugin_policy: PluginPolicy,
    /// The user to impersonate.
    pub impersonate: Option<Impersonate>,
    /// Whether credentials may be sent over plain HTTP (`config.F1`); false by default.
    pub plain_credentials: bool,
    /// The proxy between client and server.
    pub proxy: Proxy,
    /// Whether to accept compressed responses; true unless the kubeconfig disables it.
    pub compression: bool,
    /// Time limit for establishing a connection, of which TLS gets at most 10s; [`CONNECT_TIMEOUT`] by default.
    pub connect_timeout: Duration,
    /// Maximum size of a response that is read whole, compressed and decompressed, in bytes; [`MAX_RESPONSE_BYTES`]
    /// by default. A larger response is an error. Watches, logs and the lists of informers are streamed and
    /// not limited by this.
    pub max_response_bytes: u64,
    /// Maximum rate of requests per second, shared by everything made from one [`Client`](crate::Client); unlimited by
    /// default. Watches are not limited when they are first opened.
    pub qps: Option<f64>,
    /// Number of requests that may exceed `qps` in a burst; [`DEFAULT_BURST`] by default.
    pub burst: u32,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The receiver of the client's metrics; they are discarded by default.
    pub metrics: Arc<dyn Metrics>,
}

/// The certificate authorities that a server's certificate is verified against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Authorities {
    /// The system's root certificates.
    System,
    /// Certificates in PEM.
    Pem(String),
    /// A PEM file, reread when it changes.
    File(PathBuf),
    /// None: the server's certificate is not verified.
    SkipVerify,
}

/// A client certificate and its private key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientCertificate {
    /// PEM text.
    Pem {
        /// The certificate, followed by its intermediates.
        certificate: String,
        /// The private key.
        key: Secret,
    },
    /// PEM files, reread when they change.
    Files {
        /// The certificate, followed by its intermediates.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}

/// The credentials sent in the `Authorization` header.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Authorization {
    /// No header.
    #[default]
    None,
    /// A bearer token.
    Token(Secret),
    /// A bearer token in a file, reread about every minute.
    TokenFile(PathBuf),
    /// Basic authentication.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// Credentials issued by an exec plugin.
    Exec(Box<Exec>),
    /// An OIDC ID token, refreshed when it expires.
    Oidc(Box<Oidc>),
}

/// An exec plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Exec {
    /// The command.
    pub command: ExecCommand,
    /// The cluster information passed to the plugin, if it is requested.
    pub cluster: Option<serde_json::Value>,
}

/// OIDC settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Oidc {
    /// The settings in the kubeconfig: `idp-issuer-url`, `client-id`, `id-token`, `refresh-token`, ...
    pub settings: BTreeMap<String, Secret>,
    /// The kubeconfig, and the user in it, that refreshed tokens are written to.
    pub saved_in: Option<(PathBuf, String)>,
}

/// The user to impersonate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonate {
    /// The user name.
    pub user: String,
    /// The UID; empty if not set.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The extra attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The proxy between client and server.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; no proxy for loopback addresses.
    #[default]
    Environment,
    /// No proxy.
    Direct,
    /// This proxy: `http://`, `https://` or `socks5://`, optionally with `user:password@`.
    Url(Uri),
}

/// Omits the password (`config.F2`).
impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let redact = |uri: &Uri| {
            let authority = uri.authority().map_or("", |authority| authority.as_str());
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{}://{host}", uri.scheme_str().unwrap_or_default())
        };
        match self {
            Self::Environment => f.write_str("Environment"),
            Self::Direct => f.write_str("Direct"),
            Self::Url(uri) => f.debug_tuple("Url").field(&redact(uri)).finish(),
        }
    }
}

/// An error loading a configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A kubeconfig file could not be loaded: fix or remove it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The requested context, cluster or user is not configured.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The process does not run in a pod, and nothing else is configured.
    #[error(transparent)]
    InCluster(#[from] InClusterError),
    /// The server or proxy address is invalid.
    #[error("invalid {entry}")]
    Address {
        /// The kubeconfig entry.
        entry: String,
        /// The error.
        source: AddressError,
    },
    /// A field is not text in base64.
    #[error("{entry}: invalid {field}: not text in base64")]
    Data {
        /// The kubeconfig entry.
        entry: String,
        /// The field.
        field: &'static str,
    },
    /// A file that the entry refers to cannot be read.
    #[error("{entry}: failed to read {field} {}", .file.display())]
    Unreadable {
        /// The kubeconfig entry.
        entry: String,
        /// The field.
        field: &'static str,
        /// The file.
        file: PathBuf,
        /// The read error.
        source: std::io::Error,
    },
    /// The auth provider is not supported, or no longer.
    #[error("{entry}: unsupported auth-provider {name:?}: use an exec plugin")]
    Provider {
        /// The kubeconfig entry.
        entry: String,
        /// The name of the provider.
        name: String,
    },
}

impl From<CheckError> for ConfigError {
    fn from(error: CheckError) -> Self {
        Self::Select(SelectError::Invalid(error))
    }
}

impl Config {
    /// Creates a config for this server, without credentials.
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
            qps: None,
            burst: DEFAULT_BURST,
            user_agent: default_user_agent(),
            metrics: Arc::new(NoMetrics),
        }
    }

    /// Loads the files of `$KUBECONFIG`, or `~/.kube/config`. In a pod without either, uses its service account.
    ///
    /// Kubeconfig files take precedence over the service account.
    ///
    /// # Errors
    /// If a file is invalid, or nothing is configured.
    pub fn infer() -> Result<Self, ConfigError> {
        Self::load(&Sources::infer(), &Overrides::default())
    }

    /// Loads one kubeconfig file, with its current context.
    ///
    /// ```no_run
    /// use watchkeeper_client::{Client, Config};
    ///
    /// let config = Config::from_file("/etc/kubernetes/admin.conf")?;
    /// let client = Client::new(&config)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file does not exist or is invalid, or has no current context.
    pub fn from_file(path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        Self::load(&Sources::File(path.into()), &Overrides::default())
    }

    /// Loads these files. In a pod where none exists, uses its service account. `overrides` take precedence.
    ///
    /// # Errors
    /// If a file is invalid, nothing is configured, or a requested entry does not exist.
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

    /// Returns a config for the service account of the pod this process runs in.
    ///
    /// # Errors
    /// If the process does not run in a pod, or its service account cannot be read.
    pub fn in_cluster() -> Result<Self, ConfigError> {
        ServiceAccount::find()?.config(&Overrides::default())
    }

    /// Returns whether requests are sent over TLS.
    pub fn is_secure(&self) -> bool {
        self.server.scheme() == Some(&http::uri::Scheme::HTTPS)
    }
}

/// Returns `program (os/arch) watchkeeper/version`.
fn default_user_agent() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
    let visible = |c: &char| c.is_ascii_graphic() && !"()".contains(*c);
    let name: String = name.unwrap_or("unknown").chars().filter(visible).collect();
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    format!("{name} ({os}/{arch}) watchkeeper/{version}")
}
