//! Question: how much do the readers and the writer of a store slow each other down?
//! Compares our store with other ways to share one.
//!
//! Workload: 20,000 pods with a label index and one more index; one thread puts 5,000 objects per second and replaces all
//! of them twice a second, while other threads get, list by label and by index, and scan. Each store runs in a
//! new process. Not counted: creating the objects to put.
//!
//! ```text
//! cargo run --release -p watchkeeper-bench --bin store
//! ```

use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use watchkeeper_bench::informer::Memory;
use watchkeeper_bench::pods::Pods;
use watchkeeper_bench::server::Outcome;
use watchkeeper_bench::store::{LeftRight, OneLock, Samples, Shards, SharedStore, Snapshots, Workload};

/// Measures the latencies of a store that is read and written concurrently
#[derive(Parser)]
struct Arguments {
    /// The store to measure [default: all, one after the other]
    #[arg(long, value_enum)]
    store: Option<Which>,
    /// Number of objects
    #[arg(long, default_value_t = Pods::MANY)]
    objects: usize,
    /// Puts per second
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    puts: u32,
    /// Duration in seconds, for each number of readers
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// Watchkeeper's store: immutable snapshots with shared nodes
    Snapshots,
    /// One lock around hash maps, as in client-go
    OneLock,
    /// Sixteen locks around hash maps
    Shards,
    /// Two copies of hash maps, one for readers and one for the writer
    LeftRight,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("store: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Outcome<()> {
    match arguments.store {
        Some(Which::Snapshots) => run("snapshots (ours)", &Snapshots::default(), arguments),
        Some(Which::OneLock) => run("one lock", &OneLock::default(), arguments),
        Some(Which::Shards) => run("16 locks", &Shards::default(), arguments),
        Some(Which::LeftRight) => run("two copies", &LeftRight::default(), arguments),
        None => {
            println!(
                "| store, readers | get p50 | p99 | p99.9 | list p50 | p99 | scan p50 | p99 | put p50 | p99 | p99.9 | relist | MB |"
            );
            println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
            for store in Which::value_variants() {
                let name = store.to_possible_value().ok_or("a store has no name")?;
                let status = Command::new(std::env::current_exe()?)
                    .args(["--store", name.get_name()])
                    .args(["--objects", &arguments.objects.to_string()])
                    .args(["--puts", &arguments.puts.to_string()])
                    .args(["--seconds", &arguments.seconds.to_string()])
                    .status()?;
                if !status.success() {
                    return Err(format!("{} exited with {status}", name.get_name()).into());
                }
            }
            Ok(())
        }
    }
}

/// Measures one store, and prints a row for each number of readers. Times are in microseconds.
fn run(name: &str, store: &impl SharedStore, arguments: &Arguments) -> Outcome<()> {
    let workload = Workload::new(arguments.objects, arguments.puts, Duration::from_secs(arguments.seconds))?;
    let before = Memory::read()?.now;
    workload.fill(store);
    let memory = (Memory::read()?.now - before) as f64 * 1024.0 / 1e6;
    for readers in [1, 2, 4, 8] {
        let measured = workload.run(store, readers);
        let time = |samples: &Samples, per_thousand| {
            samples
                .percentile(per_thousand)
                .map_or_else(String::new, |time| format!("{:.1}", time.as_secs_f64() * 1e6))
        };
        let mut row = format!("| {name}, {readers} |");
        for (samples, percentiles) in [
            (&measured.gets, &[500, 990, 999][..]),
            (&measured.lists, &[500, 990]),
            (&measured.scans, &[500, 990]),
            (&measured.puts, &[500, 990, 999]),
            (&measured.relists, &[500]),
        ] {
            for percentile in percentiles {
                row.push_str(&format!(" {} |", time(samples, *percentile)));
            }
        }
        println!("{row} {memory:.0} |");
    }
    Ok(())
}
