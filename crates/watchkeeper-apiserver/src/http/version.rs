//! The version reported by `/version`, which kubectl compares with its own.

use http::Method;
use serde::Serialize;
use watchkeeper_core::{Status, StatusReason};

use super::negotiate::generic;
use super::respond;

/// The version of a server. Clients read `gitVersion`, which must be a semantic version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionInfo {
    /// `1`.
    pub major: String,
    /// `37`.
    pub minor: String,
    /// The emulated version.
    pub emulation_major: String,
    /// The emulated version.
    pub emulation_minor: String,
    /// The oldest version that can be rolled back to.
    pub min_compatibility_major: String,
    /// The oldest version that can be rolled back to.
    pub min_compatibility_minor: String,
    /// `v1.37.1`.
    pub git_version: String,
    /// The commit it was built from.
    pub git_commit: String,
    /// `clean` or `dirty`.
    pub git_tree_state: String,
    /// The build date; `1970-01-01T00:00:00Z` if unknown.
    pub build_date: String,
    /// Empty: not built with Go.
    pub go_version: String,
    /// The compiler.
    pub compiler: String,
    /// `linux/amd64`.
    pub platform: String,
}

/// The Kubernetes version that the tables are generated from: `v1.37.1+watchkeeper`.
impl Default for VersionInfo {
    fn default() -> Self {
        Self::new(1, 37, 1)
    }
}

impl VersionInfo {
    /// Creates the version of a server that behaves like this version of Kubernetes.
    pub fn new(major: u32, minor: u32, patch: u32) -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            major: major.to_string(),
            minor: minor.to_string(),
            emulation_major: major.to_string(),
            emulation_minor: minor.to_string(),
            min_compatibility_major: major.to_string(),
            min_compatibility_minor: minor.saturating_sub(1).to_string(),
            git_version: format!("v{major}.{minor}.{patch}+watchkeeper"),
            git_commit: String::new(),
            git_tree_state: "clean".to_owned(),
            build_date: "1970-01-01T00:00:00Z".to_owned(),
            go_version: String::new(),
            compiler: "rustc".to_owned(),
            platform: format!("{}/{architecture}", std::env::consts::OS),
        }
    }

    /// Checks a request for `/version`, which is JSON and read-only.
    pub(crate) fn check(method: &Method, accept: &str) -> Result<(), Status> {
        if method != Method::GET {
            return Err(respond::method_not_allowed());
        }
        let mut types = accept.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim());
        if accept.is_empty() || types.any(|it| matches!(it, "*/*" | "application/json")) {
            return Ok(());
        }
        let message = "406: Not Acceptable\n\nAvailable representations: application/json".to_owned();
        Err(generic(406, StatusReason::NotAcceptable, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_version_is_that_of_the_tables() {
        let table = include_str!("../../tables/merge.txt");
        let version = table.lines().find_map(|line| line.strip_prefix("# k8s.io/kubernetes "));
        let version = version.expect("the table names the version of Kubernetes");
        assert_eq!(VersionInfo::default().git_version, format!("{version}+watchkeeper"));
    }
}
