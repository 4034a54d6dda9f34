//! Connection: from kubectl's connection flags to an API server.
//!
//! Input: flags, kubeconfig files and the environment.
//! Output: a [`Connection`]: a client, the default namespace, and a REST mapper.
//!
//! Discovery results are shared with kubectl through its cache directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use watchkeeper_apiserver::expiry::parse_ttl;
use watchkeeper_client::discovery::{
    CacheDirectories, Discovery, DiscoveryClient, DiscoveryError, DiskCache, HttpCache, KUBECTL_TTL,
    MemoryCache, RestMapper, ServerVersion,
};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config, ConfigError, RestClient, Secret};
use watchkeeper_core::GroupVersion;

use crate::failure::Failure;
use crate::warnings::WarningPrinter;

/// Flags of every command that connects to an API server.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Flags {
    /// Path to the kubeconfig file [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Kubeconfig context to use [default: the current context]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) context: Option<String>,
    /// Kubeconfig cluster to use
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    cluster: Option<String>,
    /// Kubeconfig user to use
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    user: Option<String>,
    /// Namespace to use [default: the context's namespace]
    #[arg(short, long, value_name = "NAME", global = true)]
    namespace: Option<String>,
    /// Address of the API server
    #[arg(short, long, value_name = "URL", global = true, hide_short_help = true)]
    server: Option<String>,
    /// User to impersonate
    #[arg(long = "as", value_name = "USER", global = true, hide_short_help = true)]
    impersonate: Option<String>,
    /// Group to impersonate; can be repeated
    #[arg(long = "as-group", value_name = "GROUP", global = true, hide_short_help = true)]
    impersonate_groups: Vec<String>,
    /// UID to impersonate
    #[arg(long = "as-uid", value_name = "UID", global = true, hide_short_help = true)]
    impersonate_uid: Option<String>,
    /// Bearer token for authentication to the API server
    #[arg(long, value_name = "TOKEN", global = true, hide_short_help = true)]
    token: Option<Secret>,
    /// Path to a certificate file of the certificate authority
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    certificate_authority: Option<PathBuf>,
    /// Path to a client certificate file
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    client_certificate: Option<PathBuf>,
    /// Path to the client key file
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    client_key: Option<PathBuf>,
    /// Server name to verify the server certificate against
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    tls_server_name: Option<String>,
    /// Do not verify the server's certificate. This makes the connection insecure
    #[arg(long, global = true, hide_short_help = true)]
    insecure_skip_tls_verify: bool,
    /// Timeout of a single request: 500ms, 5s, 2m; 0 for no timeout
    #[arg(long, value_name = "TIME", global = true, hide_short_help = true, value_parser = request_timeout)]
    request_timeout: Option<Duration>,
    /// Discovery cache directory [default: $KUBECACHEDIR, or ~/.kube/cache]
    #[arg(long, value_name = "DIR", global = true, hide_short_help = true)]
    cache_dir: Option<PathBuf>,
}

/// A connection to an API server. Nothing is sent until the first request.
#[allow(dead_code, reason = "not every command uses every field")]
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Client configuration, for callers that build a client of their own.
    pub(crate) config: Config,
    /// Default namespace of requests that are not for all namespaces.
    pub(crate) namespace: String,
    pub(crate) discovery: Arc<dyn Discovery>,
    /// Uncached discovery.
    asked: DiscoveryClient,
    /// Maps command-line arguments to resources.
    pub(crate) mapper: RestMapper,
    /// Timeout of a single request.
    pub(crate) timeout: Option<Duration>,
    warnings: Arc<WarningPrinter>,
}

impl Flags {
    /// Loads the client configuration.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let sources = self.kubeconfig.clone().map_or_else(Sources::infer, Sources::File);
        Config::load(&sources, &self.overrides())
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            namespace: self.namespace.clone(),
            server: self.server.clone(),
            tls_server_name: self.tls_server_name.clone(),
            insecure: self.insecure_skip_tls_verify,
            certificate_authority: self.certificate_authority.clone(),
            token: self.token.clone(),
            client_certificate: self.client_certificate.clone(),
            client_key: self.client_key.clone(),
            impersonate: self.impersonate.clone(),
            impersonate_groups: self.impersonate_groups.clone(),
            impersonate_uid: self.impersonate_uid.clone(),
            ..Overrides::default()
        }
    }

    fn cache_directories(&self, config: &Config) -> Option<CacheDirectories> {
        match &self.cache_dir {
            Some(root) => Some(CacheDirectories::under(root, &config.server)),
            None => CacheDirectories::for_kubectl(&config.server),
        }
    }
}

impl Connection {
    /// Connects to the server that the flags select.
    pub(crate) fn open(flags: &Flags) -> Result<Self, Failure> {
        let config = flags.config()?;
        let client = Client::new(&config)?;
        let warnings = Arc::new(WarningPrinter::default());
        let mut asked =
            DiscoveryClient::new(RestClient::new(client.transport().clone(), "/", Content::json()));
        if let Some(timeout) = flags.request_timeout.filter(|timeout| !timeout.is_zero()) {
            asked = asked.timeout(timeout);
        }
        let discovery: Arc<dyn Discovery> = match flags.cache_directories(&config) {
            Some(directories) => {
                let asked = asked.clone().http_cache(HttpCache::new(directories.http, &config.server));
                Arc::new(DiskCache::new(Arc::new(asked), directories.discovery, KUBECTL_TTL))
            }
            None => Arc::new(MemoryCache::new(Arc::new(asked.clone()))),
        };
        Ok(Self {
            namespace: client.default_namespace().to_owned(),
            mapper: RestMapper::new(discovery.clone()).warnings(warnings.clone()),
            client,
            config,
            asked,
            discovery,
            timeout: flags.request_timeout.filter(|timeout| !timeout.is_zero()),
            warnings,
        })
    }

    /// Returns the server's version.
    pub(crate) async fn server_version(&self) -> Result<ServerVersion, DiscoveryError> {
        self.asked.server_version().await
    }

    /// Returns a JSON client for a group and version. Warnings of the server are printed to standard error.
    pub(crate) fn rest(&self, of: &GroupVersion) -> RestClient {
        self.client.rest(of, Content::json()).warnings(self.warnings.clone())
    }
}

/// Parses a Go duration, or a number of seconds.
fn request_timeout(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => parse_ttl(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        flags: Flags,
    }

    fn flags(arguments: &[&str]) -> Result<Flags, clap::Error> {
        Command::try_parse_from(std::iter::once("watchkeeper").chain(arguments.iter().copied()))
            .map(|command| command.flags)
    }

    #[test]
    fn request_timeout_is_a_duration_or_seconds() {
        let timeout = |text: &str| flags(&["--request-timeout", text]).map(|flags| flags.request_timeout);
        assert_eq!(timeout("2").unwrap(), Some(Duration::from_secs(2)));
        assert_eq!(timeout("1m30s").unwrap(), Some(Duration::from_secs(90)));
        assert!(timeout("soon").is_err() && timeout("").is_err());
    }

    #[test]
    fn flags_override_the_kubeconfig() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kube.yaml");
        std::fs::write(
            &file,
            "current-context: a\ncontexts: [{name: a, context: {cluster: a, namespace: shop}}]\n\
             clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n",
        )
        .unwrap();
        let file = file.to_str().unwrap();
        let config = |more: &[&str]| flags(&[&["--kubeconfig", file], more].concat()).unwrap().config();
        assert_eq!(config(&[]).unwrap().namespace, "shop");
        assert_eq!(config(&["-n", "other"]).unwrap().namespace, "other");
        assert_eq!(config(&["-s", "https://127.0.0.1:2"]).unwrap().server, "https://127.0.0.1:2/");
        let impersonated = config(&["--as", "jane", "--as-group", "a", "--as-group", "b"]).unwrap();
        assert_eq!(impersonated.impersonate.unwrap().groups, ["a", "b"]);
        let error = config(&["--context", "b"]).unwrap_err().to_string();
        assert_eq!(error, "context \"b\" does not exist (there are: a)");
    }
}
