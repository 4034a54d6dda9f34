//! Deployments.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use watchkeeper_core::{LabelSelector, StructuredSelector};

use super::Meta;
use super::replica_set::{is_zero, is_zero_generation, selector};

/// What its controller knows of a deployment.
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
    /// Handed on as it is.
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

/// So many, or so many of a hundred: `2`, `25%`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Amount {
    Number(i32),
    Percent(String),
}

impl Amount {
    /// Of a whole, with parts counted as one or not at all. What is neither is none: no server lets it pass.
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

/// A condition that also says when it was last looked at.
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
    /// How many are wanted.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    pub(crate) fn selector(&self) -> Option<LabelSelector> {
        selector(self.spec.selector.as_ref())
    }

    /// Whether its old pods are to be gone before new ones come.
    pub(crate) fn recreates(&self) -> bool {
        self.spec.strategy.kind == "Recreate"
    }

    /// How long it may go without progress, in seconds; `None` for ever.
    pub(crate) fn progress_deadline(&self) -> Option<i32> {
        self.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
    }

    /// How many old replica sets stay; `None` for all of them.
    pub(crate) fn history_limit(&self) -> Option<i32> {
        self.spec.revision_history_limit.filter(|limit| *limit != i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_rounded_as_they_are_asked_for() {
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
