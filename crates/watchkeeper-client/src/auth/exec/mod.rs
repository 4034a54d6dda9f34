//! Exec: credentials from a program, as `client.authentication.k8s.io` has it.
//!
//! From: an [`Exec`] of a config, and a [`PluginPolicy`].
//! To:   a token, a certificate, or both; until they expire, or the server has refused them.
//!
//! - E1: the program runs once at a time, whoever waits for it; nobody waits: it is killed.
//! - E2: what the program prints is never shown.

mod credential;
mod policy;
mod run;
mod validity;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::instances::Instances;
use super::kept::Kept;
use super::{AuthError, Awaited, Credentials, Given, PemIdentity};
use crate::Config;
use crate::config::Exec;
use crate::metrics::Metrics;
use credential::Issued;
use run::Hints;
use validity::Validity;

pub use policy::PluginPolicy;
pub use run::{HINTS_AN_HOUR, OUTPUT_LIMIT, PLUGIN_TIMEOUT};

static PLUGINS: Instances<Plugin> = Instances::new();

/// A plugin, as one client asks it: the client that has it run hears of the run.
#[derive(Debug)]
pub(super) struct Asked {
    plugin: Arc<Plugin>,
    metrics: Arc<dyn Metrics>,
}

#[derive(Debug)]
struct Plugin {
    program: Arc<Program>,
    kept: Kept<Arc<Issued>>,
}

#[derive(Debug)]
struct Program {
    /// Which of the plugins of this process it is.
    number: u64,
    exec: Exec,
    policy: PluginPolicy,
    hints: Hints,
}

impl Plugin {
    /// The one of this process for this program and cluster.
    fn shared(exec: &Exec, policy: &PluginPolicy) -> Result<Arc<Self>, AuthError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        policy.check()?;
        let is_meant = |plugin: &Self| plugin.program.exec == *exec && plugin.program.policy == *policy;
        PLUGINS.get(is_meant, || {
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let (exec, policy) = (exec.clone(), policy.clone());
            let program = Program { number, exec, policy, hints: Hints::default() };
            Ok(Self { program: Arc::new(program), kept: Kept::default() })
        })
    }
}

impl Asked {
    pub(super) fn new(exec: &Exec, config: &Config) -> Result<Self, AuthError> {
        let plugin = Plugin::shared(exec, &config.plugin_policy)?;
        Ok(Self { plugin, metrics: config.metrics.clone() })
    }

    async fn issued(&self) -> Result<(Arc<Issued>, u64), AuthError> {
        let holds = |issued: &Arc<Issued>| issued.expires.is_none_or(|end| SystemTime::now() <= end);
        let (program, metrics) = (self.plugin.program.clone(), self.metrics.clone());
        let ask = |old: Option<Arc<Issued>>| async move {
            let issued = program.ask(&*metrics).await?;
            program.tell(&*metrics, old.as_deref(), &issued);
            Ok(Arc::new(issued))
        };
        self.plugin.kept.get(holds, ask).await
    }
}

impl Credentials for Asked {
    fn authorization(&self) -> Awaited<'_, Given> {
        Box::pin(async move {
            let (issued, generation) = self.issued().await?;
            Ok(Given { header: issued.header.clone(), generation })
        })
    }

    fn certificate(&self) -> Awaited<'_, Option<PemIdentity>> {
        Box::pin(async move { Ok(self.issued().await?.0.identity.clone()) })
    }

    fn refused(&self, generation: u64) {
        self.plugin.kept.refuse(generation);
    }
}

impl Program {
    async fn ask(&self, metrics: &dyn Metrics) -> Result<Issued, AuthError> {
        let command = &self.exec.command;
        let asked = async {
            let program = self.policy.admit(&command.command).await?;
            let output = run::run(&self.exec, &program, &self.hints, metrics).await?;
            credential::read(&output, &command.api_version)
        };
        asked.await.map_err(|error: AuthError| AuthError {
            what: format!("plugin {:?} {}", command.command, error.what),
            source: error.source,
        })
    }

    /// Tells of the certificate that there is now, and of the one that there was.
    fn tell(&self, metrics: &dyn Metrics, old: Option<&Issued>, new: &Issued) {
        let validity = |identity: &PemIdentity| Validity::of(&identity.certificate);
        let was = old.and_then(|old| old.identity.as_ref()).filter(|was| Some(*was) != new.identity.as_ref());
        if let Some(was) = was.and_then(validity) {
            let age = SystemTime::now().duration_since(was.begins).unwrap_or_default();
            metrics.exec_plugin_rotation_age(age);
        }
        let ends = new.identity.as_ref().and_then(validity).map(|validity| validity.ends);
        metrics.exec_plugin_expiry(self.number, ends);
    }
}
