//! The documentation tables of watchkeeper-kinds are up to date with the pinned Kubernetes API.

use std::fs;
use std::path::Path;
use std::process::Command;

use watchkeeper_oracle::Binaries;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/watchkeeper-kinds/tables/docs.txt");

#[test]
fn the_committed_documentation_tables_are_current() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let fresh = directory.path().join("docs.txt");
    let written = Command::new(Binaries::get()?.path("docs")).arg(&fresh).status()?;
    assert!(written.success());

    let (fresh, committed) = (fs::read_to_string(fresh)?, fs::read_to_string(COMMITTED)?);
    let first_difference =
        fresh.lines().zip(committed.lines()).position(|(fresh, committed)| fresh != committed);
    assert!(
        fresh == committed,
        "{} differs from the output of oracle/cmd/docs from line {} on; to update it:\n    \
         cd oracle && go run ./cmd/docs ../crates/watchkeeper-kinds/tables/docs.txt",
        Path::new(COMMITTED).display(),
        first_difference.unwrap_or_else(|| fresh.lines().count().min(committed.lines().count())) + 1,
    );
    Ok(())
}
