//! Exec plugins: credentials from an external command, as specified by `client.authentication.k8s.io`.
//!
//! Input: the [`Exec`] of a config, and a [`PluginPolicy`].
//! Output: a token, a client certificate, or both, cached until they expire or the server rejects them.
//!
//! Invariants:
//! - `exec.E1`: a plugin runs at most once at a time, and is killed when its last waiter is dropped.
//! - `exec.E2`: a plugin's output is never shown.

mod credential;
mod policy;
mod run;
mod validity;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::cached::CachedCredential;
use super::instances::Instances;
use super::{AuthError, AuthFuture, Credential, Credentials, PemIdentity};
use crate::Config;
use crate::config::Exec;
use crate::metrics::Metrics;
use credential::Issued;
use run::Hints;
use validity::Validity;

pub use policy::PluginPolicy;
pub use run::{MAX_HINTS_PER_HOUR, OUTPUT_LIMIT, PLUGIN_TIMEOUT};

static PLUGINS: Instances<Plugin> = Instances::new();

/// A shared plugin, with the metrics of one client: a run is recorded by the client that caused it.
#[derive(Debug)]
pub(super) struct ExecPlugin {
    plugin: Arc<Plugin>,
    metrics: Arc<dyn Metrics>,
}

#[derive(Debug)]
struct Plugin {
    program: Arc<Program>,
    cached: CachedCredential<Arc<Issued>>,
}

#[derive(Debug)]
struct Program {
    /// Identifies the plugin within this process.
    number: u64,
    exec: Exec,
    policy: PluginPolicy,
    hints: Hints,
}

impl Plugin {
    /// Returns the instance for this command, cluster and policy.
    fn shared(exec: &Exec, policy: &PluginPolicy) -> Result<Arc<Self>, AuthError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        policy.check()?;
        let matches = |plugin: &Self| plugin.program.exec == *exec && plugin.program.policy == *policy;
        PLUGINS.get(matches, || {
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let (exec, policy) = (exec.clone(), policy.clone());
            let program = Program { number, exec, policy, hints: Hints::default() };
            Ok(Self { program: Arc::new(program), cached: CachedCredential::default() })
        })
    }
}

impl ExecPlugin {
    pub(super) fn new(exec: &Exec, config: &Config) -> Result<Self, AuthError> {
        let plugin = Plugin::shared(exec, &config.plugin_policy)?;
        Ok(Self { plugin, metrics: config.metrics.clone() })
    }

    async fn issued(&self) -> Result<(Arc<Issued>, u64), AuthError> {
        let is_valid =
            |issued: &Arc<Issued>| issued.expires.is_none_or(|expires| SystemTime::now() <= expires);
        let (program, metrics) = (self.plugin.program.clone(), self.metrics.clone());
        let issue = |old: Option<Arc<Issued>>| async move {
            let issued = program.issue(&*metrics).await?;
            program.record(&*metrics, old.as_deref(), &issued);
            Ok(Arc::new(issued))
        };
        self.plugin.cached.get(is_valid, issue).await
    }
}

impl Credentials for ExecPlugin {
    fn authorization(&self) -> AuthFuture<'_, Credential> {
        Box::pin(async move {
            let (issued, generation) = self.issued().await?;
            Ok(Credential { header: issued.header.clone(), generation })
        })
    }

    fn certificate(&self) -> AuthFuture<'_, Option<PemIdentity>> {
        Box::pin(async move { Ok(self.issued().await?.0.identity.clone()) })
    }

    fn invalidate(&self, generation: u64) {
        self.plugin.cached.invalidate(generation);
    }
}

impl Program {
    async fn issue(&self, metrics: &dyn Metrics) -> Result<Issued, AuthError> {
        let command = &self.exec.command;
        let issued = async {
            let program = self.policy.admit(&command.command).await?;
            let output = run::run(&self.exec, &program, &self.hints, metrics).await?;
            credential::read(&output, &command.api_version)
        };
        issued.await.map_err(|error: AuthError| AuthError {
            message: format!("exec plugin {:?}: {}", command.command, error.message),
            source: error.source,
        })
    }

    /// Records the expiry of the new certificate and the age of the replaced one.
    fn record(&self, metrics: &dyn Metrics, old: Option<&Issued>, new: &Issued) {
        let validity = |identity: &PemIdentity| Validity::of(&identity.certificate);
        let replaced =
            old.and_then(|old| old.identity.as_ref()).filter(|old| Some(*old) != new.identity.as_ref());
        if let Some(replaced) = replaced.and_then(validity) {
            let age = SystemTime::now().duration_since(replaced.not_before).unwrap_or_default();
            metrics.exec_plugin_rotation_age(age);
        }
        let expiry = new.identity.as_ref().and_then(validity).map(|validity| validity.not_after);
        metrics.exec_plugin_expiry(self.number, expiry);
    }
}
