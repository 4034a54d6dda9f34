//! Loading: where kubeconfig files are, and what is in them together.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::Kubeconfig;

/// Which files are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// This one, which must exist.
    File(PathBuf),
    /// All of these that exist, the first one first (K1): `$KUBECONFIG`.
    List(Vec<PathBuf>),
    /// `~/.kube/config`, if it exists.
    Default(PathBuf),
    /// None: there is no home directory.
    Nowhere,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// All files together.
    pub config: Kubeconfig,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The files that are not there. If all of `$KUBECONFIG` are, a user will want to know.
    pub missing: Vec<PathBuf>,
}

/// Files that could not be read. What the others say is in `rest`.
#[derive(Debug)]
pub struct LoadError {
    /// Each of them, and why.
    pub failures: Vec<(PathBuf, FileError)>,
    /// What the others say.
    pub rest: Box<Loaded>,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be opened or read.
    #[error("{0}")]
    Unreadable(#[source] io::Error),
    /// It is no kubeconfig.
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
    /// The files of `$KUBECONFIG`, or `~/.kube/config` where it is not set.
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

    /// Reads the files.
    ///
    /// # Errors
    /// If one could not be read, or was named and is not there.
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
        match failures.is_empty() {
            true => Ok(loaded),
            false => Err(LoadError { failures, rest: Box::new(loaded) }),
        }
    }
}

fn read(file: &Path) -> Result<Kubeconfig, FileError> {
    let text = fs::read_to_string(file).map_err(FileError::Unreadable)?;
    let mut config = Kubeconfig::parse(&text).map_err(FileError::Malformed)?;
    config.belong_to(file);
    Ok(config)
}

impl Kubeconfig {
    /// Says that all of this was read from a file. K2: paths in it are relative to that file.
    pub fn belong_to(&mut self, file: &Path) {
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
    fn the_variable_names_files_in_order_and_once_each() {
        let sources = Sources::from_variables(variables(&[("KUBECONFIG", "/a::/b:/a"), ("HOME", "/home/x")]));
        assert_eq!(sources, Sources::List(vec!["/a".into(), "/b".into()]));
        let sources = Sources::from_variables(variables(&[("KUBECONFIG", ""), ("HOME", "/home/x")]));
        assert_eq!(sources, Sources::Default("/home/x/.kube/config".into()));
        assert_eq!(Sources::from_variables(variables(&[])), Sources::Nowhere);
    }

    #[test]
    fn files_that_are_not_there_are_told_and_a_named_one_must_be_there() {
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
    fn every_broken_file_is_named_and_the_rest_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("a"), "- 1").unwrap();
        fs::write(path("b"), "current-context: x").unwrap();
        fs::write(path("c"), "clusters: [{name: dev, cluster: {server: {}}}]").unwrap();
        let error = Sources::List(vec![path("a"), path("b"), path("c")]).load().unwrap_err();
        assert_eq!(error.rest.config.current_context, "x");
        let text = error.to_string();
        assert!(text.contains("a: it is not a mapping; kubeconfig"), "{text}");
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
        config.belong_to(Path::new("/etc/kube/config"));
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
