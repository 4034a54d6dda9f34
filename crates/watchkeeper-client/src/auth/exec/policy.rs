//! Plugin policy: which executables may be run as credential plugins.

use std::env;
use std::path::{Component, Path, PathBuf};

use super::super::AuthError;

/// The credential plugins that may be run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PluginPolicy {
    /// Every plugin may be run.
    #[default]
    AllowAll,
    /// No plugin may be run.
    DenyAll,
    /// Only plugins whose command, or the path it resolves to, is one of these names or paths.
    Allowlist(Vec<String>),
}

impl PluginPolicy {
    /// Checks that the policy is well-formed.
    pub(super) fn check(&self) -> Result<(), AuthError> {
        let Self::Allowlist(entries) = self else { return Ok(()) };
        if entries.is_empty() {
            return Err(AuthError::new("plugin allowlist is empty; use DenyAll to deny every plugin"));
        }
        for entry in entries {
            if entry.is_empty() {
                return Err(AuthError::new("plugin allowlist has an empty entry"));
            }
            let clean = clean(entry);
            if clean != Path::new(entry) || clean.as_os_str() != entry.as_str() {
                return Err(AuthError::new(format!(
                    "plugin allowlist entry {entry:?} is not a clean path; use {clean:?}"
                )));
            }
        }
        Ok(())
    }

    /// Returns the path to run, if the policy allows it.
    pub(super) async fn admit(&self, command: &str) -> Result<PathBuf, AuthError> {
        match self {
            Self::AllowAll => Ok(command.into()),
            Self::DenyAll => Err(AuthError::new("denied by policy: no plugin may be run")),
            Self::Allowlist(entries) => {
                let (entries, command) = (entries.clone(), command.to_owned());
                let found = tokio::task::spawn_blocking(move || find(&entries, &command)).await;
                found.map_err(|error| AuthError::with_source("lookup failed", error))?
            }
        }
    }
}

/// Returns the resolved path, so that what runs is what was compared with the allowlist.
fn find(entries: &[String], command: &str) -> Result<PathBuf, AuthError> {
    let command = clean(command);
    let path = look_up(&command).ok_or_else(|| AuthError::new("executable not found"))?;
    let is_listed = |path: &Path| entries.iter().any(|entry| Path::new(entry) == path);
    let same_name = |entry: &&String| Path::new(entry).file_name() == path.file_name();
    let resolves_to_path = || {
        let mut resolved = entries.iter().filter(same_name).filter_map(|entry| look_up(Path::new(entry)));
        resolved.any(|entry| entry == path)
    };
    if is_listed(&command) || is_listed(&path) || resolves_to_path() {
        Ok(path)
    } else {
        Err(AuthError::new("denied by policy: not in the plugin allowlist"))
    }
}

/// Returns a path unchanged, and for a bare name the first executable of that name in `$PATH`. Relative
/// directories in `$PATH` are skipped.
fn look_up(command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 || command.is_absolute() {
        return is_program(command).then(|| command.to_owned());
    }
    let directories = env::var_os("PATH")?;
    let mut candidates =
        env::split_paths(&directories).filter(|it| it.is_absolute()).map(|it| it.join(command));
    candidates.find(|it| is_program(it))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Normalizes a path lexically, without touching the file system (Go's `filepath.Clean`).
fn clean(path: &str) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in Path::new(path).components() {
        match (part, parts.last()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            (part, _) => parts.push(part),
        }
    }
    if parts.is_empty() { ".".into() } else { parts.iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowlist_entries_must_be_clean_paths() {
        let check = |entries: &[&str]| {
            let entries = entries.iter().map(|it| (*it).to_owned()).collect();
            PluginPolicy::Allowlist(entries).check().map_err(|error| error.message)
        };
        assert_eq!(check(&["aws", "/usr/bin/gke", "../x"]), Ok(()));
        assert!(check(&[]).unwrap_err().contains("is empty"));
        assert!(check(&["aws", ""]).unwrap_err().contains("an empty entry"));
        for (entry, clean) in [
            ("./aws", "aws"),
            ("/usr//bin/aws", "/usr/bin/aws"),
            ("/usr/./bin/../aws", "/usr/aws"),
            ("/../aws", "/aws"),
            ("bin/", "bin"),
            ("a/..", "."),
        ] {
            let expected = format!("plugin allowlist entry {entry:?} is not a clean path; use {clean:?}");
            assert_eq!(check(&[entry]), Err(expected));
        }
    }

    #[tokio::test]
    async fn a_plugin_is_allowed_by_name_or_by_resolved_path() {
        let sh = look_up(Path::new("sh")).unwrap();
        let allowed = async |entry: &str, command: &str| {
            PluginPolicy::Allowlist(vec![entry.to_owned()])
                .admit(command)
                .await
                .map_err(|error| error.message)
        };
        let path = sh.to_str().unwrap();
        for (entry, command) in [("sh", "sh"), (path, "sh"), ("sh", path), (path, path)] {
            assert_eq!(allowed(entry, command).await, Ok(sh.clone()), "{entry} {command}");
        }
        let denied = "denied by policy: not in the plugin allowlist";
        assert_eq!(allowed("ls", "sh").await, Err(denied.to_owned()));
        assert_eq!(allowed("/elsewhere/sh", "sh").await, Err(denied.to_owned()));
        assert_eq!(allowed("sh", "no-such-program").await, Err("executable not found".to_owned()));
        assert!(PluginPolicy::DenyAll.admit("sh").await.is_err());
        assert_eq!(PluginPolicy::AllowAll.admit("sh").await.unwrap(), Path::new("sh"));
    }
}
