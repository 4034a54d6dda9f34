//! Taints and tolerations.

use serde::{Deserialize, Serialize};

/// A taint of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Taint {
    pub(crate) key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub(crate) effect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_added: Option<String>,
}

/// A toleration of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Toleration {
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) value: String,
    pub(crate) effect: String,
    pub(crate) toleration_seconds: Option<i64>,
}

impl Taint {
    pub(crate) fn new(key: &str, effect: &str) -> Self {
        Self { key: key.to_owned(), effect: effect.to_owned(), ..Self::default() }
    }

    /// Returns whether key and effect are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.key, &self.effect) == (&other.key, &other.effect)
    }
}

impl Toleration {
    pub(crate) fn covers(&self, taint: &Taint) -> bool {
        let of_effect = self.effect.is_empty() || self.effect == taint.effect;
        let of_key = self.key.is_empty() || self.key == taint.key;
        let of_value = match self.operator.as_str() {
            "" | "Equal" => self.value == taint.value,
            "Exists" => true,
            _ => false,
        };
        of_effect && of_key && of_value
    }
}

pub(crate) fn tolerates(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| toleration.covers(taint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_without_a_key_covers_all_taints() {
        let taint = Taint { value: "gpu".to_owned(), ..Taint::new("for", "NoSchedule") };
        for (key, operator, value, effect, covers) in [
            ("for", "Equal", "gpu", "NoSchedule", true),
            ("for", "", "gpu", "", true),
            ("for", "Equal", "cpu", "NoSchedule", false),
            ("for", "Exists", "", "", true),
            ("for", "Exists", "", "NoExecute", false),
            ("other", "Exists", "", "", false),
            ("", "Exists", "", "", true),
            ("for", "Gt", "gpu", "", false),
        ] {
            let [key, operator, value, effect] = [key, operator, value, effect].map(str::to_owned);
            let toleration = Toleration { key, operator, value, effect, toleration_seconds: None };
            assert_eq!(toleration.covers(&taint), covers, "{toleration:?}");
        }
    }
}
