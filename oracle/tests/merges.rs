//! The merge tables that watchkeeper-apiserver applies by are the API's of today.

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
    let differs = fresh.lines().zip(committed.lines()).position(|(fresh, committed)| fresh != committed);
    assert!(
        fresh == committed,
        "{} is not what oracle/cmd/merges writes, from line {} on; to refresh it:\n    \
         cd oracle && go run ./cmd/merges ../crates/watchkeeper-apiserver/tables/merge.txt",
        Path::new(COMMITTED).display(),
        differs.unwrap_or_else(|| fresh.lines().count().min(committed.lines().count())) + 1,
    );
    Ok(())
}
