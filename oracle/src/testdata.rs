//! Testdata: the objects that k8s.io/api publishes, one of every kind, with every field set.
//!
//! Input:  `testdata/HEAD` of the module k8s.io/api at the version that `go.mod` pins.
//! Output: the JSON, protobuf and YAML encodings of each object, for the codec tests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, io, vec};

use crate::binaries::manifest_dir;

/// Why the testdata could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestdataError {
    /// Go could not be started.
    #[error("failed to run go")]
    Go(#[source] io::Error),
    /// Go could not find or download the module.
    #[error("failed to download the module k8s.io/api: {0}")]
    Module(String),
    /// A file could not be read.
    #[error("failed to read {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// An object in three encodings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Indented JSON.
    pub json: Vec<u8>,
    /// Protobuf, including the envelope.
    pub pb: Vec<u8>,
    /// YAML.
    pub yaml: Vec<u8>,
}

/// An iterator over the samples that [`testdata`] found, sorted by file name.
#[derive(Debug)]
pub struct Testdata {
    files: vec::IntoIter<PathBuf>,
}

/// Downloads the module if it is not cached, and returns its samples.
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

/// Reads `GROUP.VERSION.KIND.json`, `.pb` and `.yaml`. The group may contain dots.
fn sample(file: &Path) -> Result<Sample, TestdataError> {
    let read = |path: PathBuf| fs::read(&path).map_err(|source| TestdataError::File { path, source });
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplitn(3, '.').map(str::to_owned);
    let [kind, version, group] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let group = if group == "core" { String::new() } else { group };
    let encoding = |extension| read(file.with_extension(extension));
    Ok(Sample { group, version, kind, json: encoding("json")?, pb: encoding("pb")?, yaml: encoding("yaml")? })
}

/// Runs `go` in the module's root.
fn go<const N: usize>(arguments: [&str; N]) -> Result<Output, TestdataError> {
    let output = Command::new("go")
        .args(arguments)
        .current_dir(manifest_dir())
        .stdin(Stdio::null())
        .output()
        .map_err(TestdataError::Go)?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(TestdataError::Module(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}
