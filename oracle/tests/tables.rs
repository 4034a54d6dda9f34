//! The schema tables of watchkeeper-wire are up to date with the pinned Kubernetes API.

use std::fs;
use std::path::Path;
use std::process::Command;

use watchkeeper_oracle::{Binaries, testdata};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/watchkeeper-wire/tables/kinds.txt");

#[test]
fn the_committed_tables_are_current() -> Outcome {
    let directory = tempfile::tempdir()?;
    let fresh = directory.path().join("kinds.txt");
    let written = Command::new(Binaries::get()?.path("tables")).arg(&fresh).status()?;
    assert!(written.success());

    let (fresh, committed) = (fs::read_to_string(fresh)?, fs::read_to_string(COMMITTED)?);
    let first_difference =
        fresh.lines().zip(committed.lines()).position(|(fresh, committed)| fresh != committed);
    assert!(
        fresh == committed,
        "{} differs from the output of oracle/cmd/tables from line {} on; to update it:\n    \
         cd oracle && go run ./cmd/tables ../crates/watchkeeper-wire/tables/kinds.txt",
        Path::new(COMMITTED).display(),
        first_difference.unwrap_or_else(|| fresh.lines().count().min(committed.lines().count())) + 1,
    );
    Ok(())
}

#[test]
fn the_kind_of_every_published_sample_is_in_the_tables() -> Outcome {
    let tables = fs::read_to_string(COMMITTED)?;
    let mut samples = 0;
    for sample in testdata()? {
        let sample = sample?;
        let group = if sample.group.is_empty() { "-" } else { &sample.group };
        let own = format!("kind {group} {} {} ", sample.version, sample.kind);
        let everywhere = format!("kind * * {} ", sample.kind);
        assert!(
            tables.lines().any(|line| line.starts_with(&own) || line.starts_with(&everywhere)),
            "no row starts with {own:?}"
        );
        assert!(sample.pb.starts_with(b"k8s\0") && sample.json.starts_with(b"{"), "{own}");
        samples += 1;
    }
    assert_eq!(samples, 193);
    Ok(())
}
