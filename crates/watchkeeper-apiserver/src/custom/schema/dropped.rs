//! Dropped fields: the paths of what pruning removed, for warnings and for strict validation.

use crate::http::go_text::beginning;
use crate::http::{FINDING_PATH_BYTES, STRICT_FINDINGS};

/// The paths of dropped fields: at most [`STRICT_FINDINGS`] of them, each cut to [`FINDING_PATH_BYTES`], so that many
/// unknown fields below a long name do not multiply that name.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    paths: Vec<String>,
}

impl Dropped {
    /// Records a path.
    pub(super) fn add(&mut self, path: &str) {
        if self.paths.len() < STRICT_FINDINGS {
            self.paths.push(beginning(path, FINDING_PATH_BYTES).to_owned());
        }
    }

    /// Records a field of the object at a path.
    pub(super) fn add_field(&mut self, path: &str, name: &str) {
        if self.paths.len() < STRICT_FINDINGS {
            let name = beginning(name, FINDING_PATH_BYTES);
            self.add(&format!("{}.{name}", beginning(path, FINDING_PATH_BYTES)));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the paths, sorted.
    pub(super) fn into_sorted(mut self) -> Vec<String> {
        self.paths.sort();
        self.paths
    }
}
