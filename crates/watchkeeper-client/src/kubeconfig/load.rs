//! Finds and loads kubeconfig files.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::Kubeconfig;

/// The kubeconfig files to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// This file, which must exist.
    File(PathBuf),
    /// These files, as far as they exist; earlier files take precedence (`kubeconfig.K1`): `$KUBECONFIG`.
    List(Vec<PathBuf>),
    /// `~/.kube/config`, if it exists.
    Default(PathBuf),
    /// None, because there is no home directory.
    Nowhere,
}

/// The loaded files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The merged content.
    pub config: Kubeconfig,
    /// The files that were loaded.
    pub files: Vec<PathBuf>,
    /// The files of `$KUBECONFIG` that do not exist.
    pub missing: Vec<PathBuf>,
}

/// One or more files could not be loaded.
#[derive(Debug)]
pub struct LoadError {
    /// Each of them with its error.
    pub failures: Vec<(PathBuf, FileError)>,
    /// The result of loading the other files.
    pub rest: Box<Loaded>,
}

/// An error loading a kubeconfig file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Unreadable(#[source] io::Error),
    /// The file is not a valid kubeconfig.
    #[error("{0}")]
    Malformed(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (file, error)) in self.failures.iter().enumerate() {
            let separator = if position > 0 { "; " } else { "" };
            write!(f, "{separator}kubeconfig {}: {error}", file.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

impl Sources {
    /// Returns the files of `$KUBECONFIG`, or `~/.kube/config` if it is not set.
    pub fn infer() -> Self {
        Self::from_variables(|name| env::var_os(name))
    }

    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(list) = set("KUBECONFIG") {
            let mut files: Vec<PathBuf> = Vec::new();
            for file in env::split_paths(&list).filter(|file| !file.as_os_str().is_empty()) {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
            return Self::List(files);
        }
        match set("HOME").or_else(|| set("USERPROFILE")) {
            Some(home) => Self::Default(Path::new(&home).join(".kube").join("config")),
            None => Self::Nowhere,
        }
    }

    /// Loads and merges the files.
    ///
    /// # Errors
    /// If a file cannot be loaded, or [`Sources::File`] does not exist.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        let (files, must_exist) = match self {
            Self::File(file) => (std::slice::from_ref(file), true),
            Self::List(files) => (files.as_slice(), false),
            Self::Default(file) => (std::slice::from_ref(file), false),
            Self::Nowhere => ([].as_slice(), false),
        };
        let mut loaded = Loaded::default();
        let mut failures = Vec::new();
        for file in files {
            match read(file) {
                Ok(config) => {
                    loaded.config.merge(config);
                    loaded.files.push(file.clone());
                }
                Err(FileError::Unreadable(error))
                    if !must_exist && error.kind() == io::ErrorKind::NotFound =>
                {
                    loaded.missing.push(file.clone());
                }
                Err(error) => failures.push((file.clone(), error)),
            }
        }
        if failures.is_empty() { Ok(loaded) } else { Err(LoadError { failures, rest: Box::new(loaded) }) }
    }
}

fn read(file: &Path) -> Result<Kubeconfig, FileError> {
    let text = fs::read_to_string(file).map_err(FileError::Unreadable)?;
    let mut config = Kubeconfig::parse(&text).map_err(FileError::Malformed)?;
    config.set_file(file);
    Ok(config)
}

impl Kubeconfig {
    /// Records the file that all entries were read from, and resolves relative paths against it (`kubeconfig.K2`).
    pub fn set_file(&mut self, file: &Path) {
        let directory = file.parent().unwrap_or(Path::new(""));
        let resolve = |path: &mut PathBuf| {
            if !path.as_os_str().is_empty() && path.is_relative() {
                *path = directory.join(&*path);
            }
        };
        for cluster in self.clusters.values_mut() {
            resolve(&mut cluster.certificate_authority);
            cluster.file = Some(file.to_owned());
        }
        for user in self.users.values_mut() {
            resolve(&mut user.client_certificate);
            resolve(&mut user.client_key);
            resolve(&mut user.token_file);
            if let Some(exec) = &mut user.exec
                && exec.command.contains(std::path::MAIN_SEPARATOR)
            {
                let mut command = PathBuf::from(&exec.command);
                resolve(&mut command);
                exec.command = command.to_string_lossy().into_owned();
            }
            user.file = Some(file.to_owned());
        }
        for context in self.contexts.values_mut() {
            context.file = Some(file.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(set: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        |name| set.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into())
    }

    #[test]
    fn kubeconfig_lists_each_file_once_in_order() {
        let sources = Sources::from_variables(variables(&[("KUBECONFIG", "/a::/b:/a"), ("HOME", "/home/x")]));
        assert_eq!(sources, Sources::List(vec!["/a".into(), "/b".into()]));
        let sources = Sources::from_variables(variables(&[("KUBECONFIG", ""), ("HOME", "/home/x")]));
        assert_eq!(sources, Sources::Default("/home/x/.kube/config".into()));
        assert_eq!(Sources::from_variables(variables(&[])), Sources::Nowhere);
    }

    #[test]
    fn missing_files_are_reported_and_an_explicit_file_must_exist() {
        let directory = tempfile::tempdir().unwrap();
        let (here, gone) = (directory.path().join("here"), directory.path().join("gone"));
        fs::write(&here, "current-context: x").unwrap();
        let loaded = Sources::List(vec![gone.clone(), here.clone()]).load().unwrap();
        assert_eq!((loaded.files, loaded.missing), (vec![here], vec![gone.clone()]));
        assert_eq!(loaded.config.current_context, "x");
        let error = Sources::File(gone.clone()).load().unwrap_err();
        assert!(error.to_string().starts_with(&format!("kubeconfig {}: ", gone.display())), "{error}");
    }

    #[test]
    fn every_invalid_file_is_named_and_the_others_are_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("a"), "- 1").unwrap();
        fs::write(path("b"), "current-context: x").unwrap();
        fs::write(path("c"), "clusters: [{name: dev, cluster: {server: {}}}]").unwrap();
        let error = Sources::List(vec![path("a"), path("b"), path("c")]).load().unwrap_err();
        assert_eq!(error.rest.config.current_context, "x");
        let text = error.to_string();
        assert!(text.contains("a: not a mapping; kubeconfig"), "{text}");
        assert!(text.contains("c: cluster \"dev\": "), "{text}");
    }

    #[test]
    fn paths_are_relative_to_their_file() {
        let mut config = Kubeconfig::parse(
            "clusters: [{name: c, cluster: {certificate-authority: pki/ca.crt}}]
users:
- {name: a, user: {client-certificate: /abs.crt, tokenFile: t, exec: {command: bin/get-token}}}
- {name: b, user: {exec: {command: aws}}}",
        )
        .unwrap();
        config.set_file(Path::new("/etc/kube/config"));
        assert_eq!(config.clusters["c"].certificate_authority, Path::new("/etc/kube/pki/ca.crt"));
        let user = &config.users["a"];
        assert_eq!(user.client_certificate, Path::new("/abs.crt"));
        assert_eq!(user.client_key, Path::new(""));
        assert_eq!(user.token_file, Path::new("/etc/kube/t"));
        assert_eq!(user.exec.as_ref().unwrap().command, "/etc/kube/bin/get-token");
        assert_eq!(config.users["b"].exec.as_ref().unwrap().command, "aws", "a name is looked up in $PATH");
        assert_eq!(user.file.as_deref(), Some(Path::new("/etc/kube/config")));
    }
}
