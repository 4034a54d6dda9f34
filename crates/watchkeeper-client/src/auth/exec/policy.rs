//! Policy: which programs may be run.

use std::env;
use std::path::{Component, Path, PathBuf};

use super::super::AuthError;

/// Which plugins may be run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PluginPolicy {
    /// All of them.
    #[default]
    AllowAll,
    /// None.
    DenyAll,
    /// Those that a kubeconfig names by one of these names or paths, or that one of these leads to.
    Allowlist(Vec<String>),
}

impl PluginPolicy {
    /// Whether it makes sense.
    pub(super) fn check(&self) -> Result<(), AuthError> {
        let Self::Allowlist(entries) = self else { return Ok(()) };
        if entries.is_empty() {
            return Err(AuthError::new("the allowlist of plugins is empty: deny all of them instead"));
        }
        for entry in entries {
            if entry.is_empty() {
                return Err(AuthError::new("the allowlist of plugins has an empty entry"));
            }
            let clean = clean(entry);
            if clean != Path::new(entry) || clean.as_os_str() != entry.as_str() {
                return Err(AuthError::new(format!(
                    "the allowlist of plugins has {entry:?}, which is to be written {clean:?}"
                )));
            }
        }
        Ok(())
    }

    /// The program to run, if it may be.
    pub(super) async fn admit(&self, command: &str) -> Result<PathBuf, AuthError> {
        match self {
            Self::AllowAll => Ok(command.into()),
            Self::DenyAll => Err(AuthError::new("may not be run: no plugin may")),
            Self::Allowlist(entries) => {
                let (entries, command) = (entries.clone(), command.to_owned());
                let found = tokio::task::spawn_blocking(move || find(&entries, &command)).await;
                found.map_err(|error| AuthError::because("cannot be looked for", error))?
            }
        }
    }
}

/// What is run is what was compared: a resolved path.
fn find(entries: &[String], command: &str) -> Result<PathBuf, AuthError> {
    let command = clean(command);
    let path = look_up(&command).ok_or_else(|| AuthError::new("is not found"))?;
    let is_listed = |path: &Path| entries.iter().any(|entry| Path::new(entry) == path);
    let same_name = |entry: &&String| Path::new(entry).file_name() == path.file_name();
    let leads_there = || {
        let mut resolved = entries.iter().filter(same_name).filter_map(|entry| look_up(Path::new(entry)));
        resolved.any(|entry| entry == path)
    };
    match is_listed(&command) || is_listed(&path) || leads_there() {
        true => Ok(path),
        false => Err(AuthError::new("may not be run: it is not in the allowlist of plugins")),
    }
}

/// A path as it is; for a name, the first program of that name in `$PATH`. Directories of `$PATH` that
/// depend on where this process is do not count.
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

/// The shortest way to write a path, without looking at files.
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
    match parts.is_empty() {
        true => ".".into(),
        false => parts.iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowlist_is_written_cleanly() {
        let check = |entries: &[&str]| {
            let entries = entries.iter().map(|it| (*it).to_owned()).collect();
            PluginPolicy::Allowlist(entries).check().map_err(|error| error.what)
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
            let expected =
                format!("the allowlist of plugins has {entry:?}, which is to be written {clean:?}");
            assert_eq!(check(&[entry]), Err(expected));
        }
    }

    #[tokio::test]
    async fn a_name_is_allowed_by_name_or_by_where_it_leads() {
        let sh = look_up(Path::new("sh")).unwrap();
        let allowed = async |entry: &str, command: &str| {
            PluginPolicy::Allowlist(vec![entry.to_owned()]).admit(command).await.map_err(|error| error.what)
        };
        let path = sh.to_str().unwrap();
        for (entry, command) in [("sh", "sh"), (path, "sh"), ("sh", path), (path, path)] {
            assert_eq!(allowed(entry, command).await, Ok(sh.clone()), "{entry} {command}");
        }
        let refused = "may not be run: it is not in the allowlist of plugins";
        assert_eq!(allowed("ls", "sh").await, Err(refused.to_owned()));
        assert_eq!(allowed("/elsewhere/sh", "sh").await, Err(refused.to_owned()));
        assert_eq!(allowed("sh", "no-such-program").await, Err("is not found".to_owned()));
        assert!(PluginPolicy::DenyAll.admit("sh").await.is_err());
        assert_eq!(PluginPolicy::AllowAll.admit("sh").await.unwrap(), Path::new("sh"));
    }
}
