//! Bounds: the maximum number of pods and the minimum number of available ones during a rollout.

use crate::view::Deployment;

/// The bounds of one deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) desired: i64,
    pub(super) surge: i64,
    pub(super) unavailable: i64,
}

impl Bounds {
    pub(super) fn of(deployment: &Deployment) -> Self {
        let replicas = deployment.replicas();
        let desired = i64::from(replicas);
        if deployment.recreates() {
            return Self { desired, surge: 0, unavailable: 0 };
        }
        let rolling = &deployment.spec.strategy.rolling_update;
        let surge = rolling.max_surge.as_ref().map_or(0, |surge| surge.of(replicas, true).into());
        let unavailable =
            rolling.max_unavailable.as_ref().map_or(0, |number| number.of(replicas, false).into());
        // Rounding down may give 0; without surge either, the rollout could never advance.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        Self { desired, surge, unavailable: unavailable.min(desired) }
    }

    /// Returns the maximum number of pods.
    pub(super) fn max(&self) -> i64 {
        self.desired + self.surge
    }

    /// Returns the minimum number of available pods.
    pub(super) fn min_available(&self) -> i64 {
        self.desired - self.unavailable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn rounding_never_blocks_a_rollout() {
        let cases = [
            (10, json!("25%"), json!("25%"), (3, 2)),
            (10, json!(3), json!(2), (3, 2)),
            (1, json!("25%"), json!("25%"), (1, 0)),
            (2, json!("0%"), json!("1%"), (0, 1)),
            (2, json!(0), json!(5), (0, 2)),
            (0, json!(0), json!("25%"), (0, 0)),
            (0, json!(2), json!(1), (2, 0)),
        ];
        for (desired, surge, unavailable, expected) in cases {
            let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
            assert_eq!(
                bounds(desired, &json!({"type": "RollingUpdate", "rollingUpdate": rolling})),
                expected
            );
        }
        assert_eq!(bounds(10, &json!({"type": "Recreate"})), (0, 0));
    }

    fn bounds(desired: i64, strategy: &Value) -> (i64, i64) {
        let deployment = json!({"spec": {"replicas": desired, "strategy": strategy}});
        let bounds = Bounds::of(&serde_json::from_value(deployment).unwrap());
        (bounds.surge, bounds.unavailable)
    }
}
