//! The merge tables of watchkeeper-apiserver are up to date with the pinned Kubernetes API.

use std::fs;
use std::path::Path;
use std::process::Command;

use watchkeeper_oracle::Binaries;

const COMMITTED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/watchkeeper-apiserver/tables/merge.txt");

#[test]
fn the_committed_merge_tables_are_current() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let fresh = directory.path().join("merge.txt");
    let written = Command::new(Binaries::get()?.path("merges")).arg(&fresh).status()?;
    assert!(written.success());

    let (fresh, committed) = (fs::read_to_string(fresh)?, fs::read_to_string(COMMITTED)?);
    let first_difference =
        fresh.lines().zip(committed.lines()).position(|(fresh, committed)| fresh != committed);
    assert!(
        fresh == committed,
        "{} differs from the output of oracle/cmd/merges from line {} on; to update it:\n    \
         cd oracle && go run ./cmd/merges ../crates/watchkeeper-apiserver/tables/merge.txt",
        Path::new(COMMITTED).display(),
        first_difference.unwrap_or_else(|| fresh.lines().count().min(committed.lines().count())) + 1,
    );
    Ok(())
}
