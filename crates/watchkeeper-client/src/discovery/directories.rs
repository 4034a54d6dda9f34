//! kubectl's cache directories, which we share.

use std::path::{Component, Path, PathBuf};

use http::Uri;

/// The directories of the discovery caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDirectories {
    /// The directory for one server: kubectl's `discovery/<host>`.
    pub discovery: PathBuf,
    /// The directory for HTTP responses of all servers: kubectl's `http`.
    pub http: PathBuf,
}

impl CacheDirectories {
    /// Returns kubectl's directories: below `$KUBECACHEDIR`, or else `~/.kube/cache`. `None` without a home directory.
    pub fn for_kubectl(server: &Uri) -> Option<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("KUBECACHEDIR").or_else(|| Some(set("HOME")?.join(".kube").join("cache")))?;
        Some(Self::under(&root, server))
    }

    /// Returns kubectl's directories below `root` (kubectl's `--cache-dir`).
    pub fn under(root: &Path, server: &Uri) -> Self {
        let discovery = root.join("discovery").join(host_directory(&server.to_string()));
        Self { discovery, http: root.join("http") }
    }
}

/// Returns the directory name for a server: its address without the scheme, with characters that may not be allowed
/// in file names replaced by `_`. `https://10.0.0.1:6443/prefix/` becomes `10.0.0.1_6443/prefix`.
///
/// The result is relative and contains no `..`.
pub fn host_directory(server: &str) -> PathBuf {
    let host = server.replacen("https://", "", 1).replacen("http://", "", 1);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_/.()".contains(c);
    let host: String = host.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut directory = PathBuf::new();
    for part in Path::new(&host).components() {
        match part {
            Component::Normal(part) => directory.push(part),
            Component::ParentDir => {
                directory.pop();
            }
            _ => {}
        }
    }
    directory
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_directory_of_a_server_is_the_one_kubectl_uses() {
        for (server, directory) in [
            ("https://127.0.0.1:6443", "127.0.0.1_6443"),
            ("https://127.0.0.1:6443/", "127.0.0.1_6443"),
            ("http://api.example-one.com", "api.example_one.com"),
            ("api.example.com:443/k8s/clusters/c-x", "api.example.com_443/k8s/clusters/c_x"),
            ("https://[::1]:8443", "___1__8443"),
            ("https://a//b/./c/../d", "a/b/d"),
            ("https://a/(b)", "a/(b)"),
            ("https://häst", "h_st"),
            ("https://../../etc", "etc"),
        ] {
            assert_eq!(host_directory(server), Path::new(directory), "{server}");
        }
        let server: Uri = "https://h:1/p".parse().unwrap();
        let below = CacheDirectories::under(Path::new("/c"), &server);
        assert_eq!(below.discovery, Path::new("/c/discovery/h_1/p"));
        assert_eq!(below.http, Path::new("/c/http"));
    }

    proptest! {
        #[test]
        fn a_directory_is_relative_and_has_only_safe_characters(server in ".*") {
            let directory = host_directory(&server);
            prop_assert!(directory.components().all(|part| matches!(part, Component::Normal(_))));
            let text = directory.to_str().unwrap();
            prop_assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "_/.()".contains(c)));
        }
    }
}
