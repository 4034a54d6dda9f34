//! Connect: from the flags that kubectl has for it to a server.
//!
//! From: flags, kubeconfig files and the environment.
//! To:   a [`Connection`]: a client, the namespace that is meant, and what names stand for.
//!
//! - What kubectl has discovered within the last hours is believed, and what is discovered here is kept where
//!   kubectl finds it.

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
use crate::warnings::Told;

/// The flags of a command that speaks with a server.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Flags {
    /// The kubeconfig to use [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use [default: its current one]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) context: Option<String>,
    /// The cluster of the kubeconfig to use
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    cluster: Option<String>,
    /// The user of the kubeconfig to use
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    user: Option<String>,
    /// The namespace to use [default: that of the context]
    #[arg(short, long, value_name = "NAME", global = true)]
    namespace: Option<String>,
    /// The address of the server
    #[arg(short, long, value_name = "URL", global = true, hide_short_help = true)]
    server: Option<String>,
    /// The user to act as
    #[arg(long = "as", value_name = "USER", global = true, hide_short_help = true)]
    impersonate: Option<String>,
    /// A group to act in; may be given several times
    #[arg(long = "as-group", value_name = "GROUP", global = true, hide_short_help = true)]
    impersonate_groups: Vec<String>,
    /// The uid to act with
    #[arg(long = "as-uid", value_name = "UID", global = true, hide_short_help = true)]
    impersonate_uid: Option<String>,
    /// A bearer token
    #[arg(long, value_name = "TOKEN", global = true, hide_short_help = true)]
    token: Option<Secret>,
    /// Who may vouch for the server: a file of certificates
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    certificate_authority: Option<PathBuf>,
    /// The certificate to show: a file
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    client_certificate: Option<PathBuf>,
    /// The key of the certificate: a file
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    client_key: Option<PathBuf>,
    /// The name that the server's certificate must have
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    tls_server_name: Option<String>,
    /// Do not check the server's certificate: whoever answers is believed
    #[arg(long, global = true, hide_short_help = true)]
    insecure_skip_tls_verify: bool,
    /// How long a single request may take: 500ms, 5s, 2m; 0 for as long as it takes
    #[arg(long, value_name = "TIME", global = true, hide_short_help = true, value_parser = request_timeout)]
    request_timeout: Option<Duration>,
    /// Where to keep what was discovered [default: $KUBECACHEDIR, or ~/.kube/cache]
    #[arg(long, value_name = "DIR", global = true, hide_short_help = true)]
    cache_dir: Option<PathBuf>,
}

/// A server, and what is known of it. Nothing is sent before something is asked for.
#[allow(dead_code, reason = "some of it is for commands to come")]
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// What a client is made of: for those who make one of their own.
    pub(crate) config: Config,
    /// The namespace that is meant, if not all of them are.
    pub(crate) namespace: String,
    pub(crate) discovery: Arc<dyn Discovery>,
    /// The server itself, whatever is kept of its answers.
    asked: DiscoveryClient,
    /// What arguments stand for.
    pub(crate) mapper: RestMapper,
    /// How long a request may take.
    pub(crate) timeout: Option<Duration>,
    warnings: Arc<Told>,
}

impl Flags {
    /// Everything that a client must know.
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
    /// To the server that the flags mean.
    pub(crate) fn open(flags: &Flags) -> Result<Self, Failure> {
        let config = flags.config()?;
        let client = Client::new(&config)?;
        let warnings = Arc::new(Told::default());
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

    /// What the server is.
    pub(crate) async fn server_version(&self) -> Result<ServerVersion, DiscoveryError> {
        self.asked.server_version().await
    }

    /// Requests of a group and version, in JSON. What the server warns of is told on standard error.
    pub(crate) fn rest(&self, of: &GroupVersion) -> RestClient {
        self.client.rest(of, Content::json()).warnings(self.warnings.clone())
    }
}

/// A time as Go writes it, or a number of seconds.
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
    fn a_timeout_is_a_time_or_a_number_of_seconds() {
        let timeout = |text: &str| flags(&["--request-timeout", text]).map(|flags| flags.request_timeout);
        assert_eq!(timeout("2").unwrap(), Some(Duration::from_secs(2)));
        assert_eq!(timeout("1m30s").unwrap(), Some(Duration::from_secs(90)));
        assert!(timeout("soon").is_err() && timeout("").is_err());
    }

    #[test]
    fn flags_count_for_more_than_the_file() {
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
