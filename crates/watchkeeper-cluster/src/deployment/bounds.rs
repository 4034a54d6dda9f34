//! Bounds: how many pods there may be, and how many there must be.

use crate::view::Deployment;

/// Of one deployment.
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
        // What is rounded down may be nothing: with no surge either, nothing could ever move.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        Self { desired, surge, unavailable: unavailable.min(desired) }
    }

    /// There may be so many.
    pub(super) fn most(&self) -> i64 {
        self.desired + self.surge
    }

    /// So many must serve.
    pub(super) fn least(&self) -> i64 {
        self.desired - self.unavailable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn bounds_are_rounded_so_that_something_can_move() {
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
