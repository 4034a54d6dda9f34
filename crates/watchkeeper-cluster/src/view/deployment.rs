//! Deployments.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use watchkeeper_core::{LabelSelector, StructuredSelector};

use super::Meta;
use super::replica_set::{is_zero, is_zero_generation, selector};

/// The fields of a deployment that its controller reads.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Deployment {
    pub(crate) metadata: Meta,
    pub(crate) spec: DeploymentSpec,
    pub(crate) status: DeploymentStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeploymentSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    pub(crate) selector: Option<StructuredSelector>,
    /// Copied verbatim.
    pub(crate) template: Value,
    pub(crate) strategy: Strategy,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) progress_deadline_seconds: Option<i32>,
    pub(crate) paused: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Strategy {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) rolling_update: RollingUpdate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RollingUpdate {
    pub(crate) max_surge: Option<Amount>,
    pub(crate) max_unavailable: Option<Amount>,
}

/// An absolute number or a percentage: `2`, `25%`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Amount {
    Number(i32),
    Percent(String),
}

impl Amount {
    /// Resolves a percentage against `whole`. Anything unparsable counts as 0; the server rejects it anyway.
    pub(crate) fn of(&self, whole: i32, round_up: bool) -> i32 {
        match self {
            Self::Number(number) => *number,
            Self::Percent(text) => {
                let percent = text.strip_suffix('%').and_then(|number| number.parse::<i64>().ok());
                let hundredfold = percent.unwrap_or_default().saturating_mul(whole.into());
                let part = if round_up { hundredfold.saturating_add(99) } else { hundredfold };
                i32::try_from(part.div_euclid(100)).unwrap_or(i32::MAX)
            }
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeploymentStatus {
    #[serde(skip_serializing_if = "is_zero_generation")]
    pub(crate) observed_generation: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) updated_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) available_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) unavailable_replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminating_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<DeploymentCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collision_count: Option<i32>,
}

/// A condition that also has the time of its last update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeploymentCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) last_update_time: Option<String>,
    pub(crate) last_transition_time: Option<String>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Deployment {
    /// Returns the desired number of replicas.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    pub(crate) fn selector(&self) -> Option<LabelSelector> {
        selector(self.spec.selector.as_ref())
    }

    /// Returns whether old pods must be gone before new ones are created.
    pub(crate) fn recreates(&self) -> bool {
        self.spec.strategy.kind == "Recreate"
    }

    /// Returns the progress deadline in seconds, or `None` if it is not set.
    pub(crate) fn progress_deadline(&self) -> Option<i32> {
        self.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
    }

    /// Returns how many old replica sets to keep, or `None` for all of them.
    pub(crate) fn history_limit(&self) -> Option<i32> {
        self.spec.revision_history_limit.filter(|limit| *limit != i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_up_or_down() {
        let percent = |text: &str| Amount::Percent(text.to_owned());
        let cases = [
            (Amount::Number(3), 10, 3, 3),
            (percent("25%"), 10, 3, 2),
            (percent("25%"), 4, 1, 1),
            (percent("1%"), 1, 1, 0),
            (percent("0%"), 10, 0, 0),
            (percent("100%"), 7, 7, 7),
            (percent("none"), 7, 0, 0),
        ];
        for (amount, whole, up, down) in cases {
            assert_eq!(
                (amount.of(whole, true), amount.of(whole, false)),
                (up, down),
                "{amount:?} of {whole}"
            );
        }
    }
}
