//! Testdata: the objects that k8s.io/api publishes, one of every kind, with every field set.
//!
//! From: `testdata/HEAD` of the module k8s.io/api at the version that `go.mod` pins.
//! To:   the codec tests, as JSON, protobuf and YAML of the same object.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, io, vec};

use crate::binaries::checkout;

/// Why there is no testdata.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestdataError {
    /// Go could not be run.
    #[error("go could not be run")]
    Go(#[source] io::Error),
    /// Go could not find or fetch the module.
    #[error("go does not know the module k8s.io/api: {0}")]
    Module(String),
    /// A file could not be read.
    #[error("{path} could not be read")]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// One object in three forms.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Of the kind; empty for the core group.
    pub group: String,
    /// Of the kind.
    pub version: String,
    /// Of the object.
    pub kind: String,
    /// As JSON, indented.
    pub json: Vec<u8>,
    /// As protobuf, envelope and all.
    pub pb: Vec<u8>,
    /// As YAML.
    pub yaml: Vec<u8>,
}

/// The samples that [`testdata`] found, in the order of their names.
#[derive(Debug)]
pub struct Testdata {
    files: vec::IntoIter<PathBuf>,
}

/// Finds the published samples.
pub fn testdata() -> Result<Testdata, TestdataError> {
    go(["mod", "download", "k8s.io/api"])?;
    let module = go(["list", "-m", "-f", "{{.Dir}}", "k8s.io/api"])?.stdout;
    let directory = Path::new(String::from_utf8_lossy(&module).trim()).join("testdata/HEAD");
    let read = |source| TestdataError::File { path: directory.clone(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(&directory).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension() == Some(OsStr::new("json")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(Testdata { files: files.into_iter() })
}

impl Iterator for Testdata {
    type Item = Result<Sample, TestdataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.files.next().map(|file| sample(&file))
    }
}

/// Reads `GROUP.VERSION.KIND.json`, its `.pb` and its `.yaml`. A group may have dots of its own.
fn sample(file: &Path) -> Result<Sample, TestdataError> {
    let read = |path: PathBuf| fs::read(&path).map_err(|source| TestdataError::File { path, source });
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplitn(3, '.').map(str::to_owned);
    let [kind, version, group] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let group = if group == "core" { String::new() } else { group };
    let form = |extension| read(file.with_extension(extension));
    Ok(Sample { group, version, kind, json: form("json")?, pb: form("pb")?, yaml: form("yaml")? })
}

fn go<const N: usize>(arguments: [&str; N]) -> Result<Output, TestdataError> {
    let output = Command::new("go")
        .args(arguments)
        .current_dir(checkout())
        .stdin(Stdio::null())
        .output()
        .map_err(TestdataError::Go)?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(TestdataError::Module(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}
