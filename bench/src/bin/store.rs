//! What do readers and the writer of a store cost each other? Our store beside other ways to share one.
//!
//! Workload: 20,000 pods with an index of labels and one more; one thread puts 5,000 a second and replaces all of
//! them twice a second, others get, list by label and by index, and go through everything. Each shelf is in a
//! process of its own. Not counted: making the objects that are put.
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
use watchkeeper_bench::store::{Latencies, LeftRight, OneLock, Shards, Shelf, Snapshots, Strain};

/// Measures a store that is read and written at once
#[derive(Parser)]
struct Arguments {
    /// Only this one; by default all, one after the other
    #[arg(long, value_enum)]
    shelf: Option<Which>,
    /// How many objects
    #[arg(long, default_value_t = Pods::MANY)]
    objects: usize,
    /// How many are put a second
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    puts: u32,
    /// For how long, in seconds, with each number of readers
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// Watchkeeper's: sorted maps that share what they have in common
    Snapshots,
    /// One lock around hash maps, as client-go has it
    OneLock,
    /// Sixteen locks around hash maps
    Shards,
    /// Two copies of hash maps, one for readers
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
    match arguments.shelf {
        Some(Which::Snapshots) => strain("snapshots (ours)", &Snapshots::default(), arguments),
        Some(Which::OneLock) => strain("one lock", &OneLock::default(), arguments),
        Some(Which::Shards) => strain("16 locks", &Shards::default(), arguments),
        Some(Which::LeftRight) => strain("left and right", &LeftRight::default(), arguments),
        None => {
            println!(
                "| shelf, readers | get p50 | p99 | p99.9 | list p50 | p99 | scan p50 | p99 | put p50 | p99 | p99.9 | relist | MB |"
            );
            println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
            for shelf in Which::value_variants() {
                let name = shelf.to_possible_value().ok_or("it has a name")?;
                let run = Command::new(std::env::current_exe()?)
                    .args(["--shelf", name.get_name()])
                    .args(["--objects", &arguments.objects.to_string()])
                    .args(["--puts", &arguments.puts.to_string()])
                    .args(["--seconds", &arguments.seconds.to_string()])
                    .status()?;
                if !run.success() {
                    return Err(format!("{} ended with {run}", name.get_name()).into());
                }
            }
            Ok(())
        }
    }
}

/// Prints a row for each number of readers. Times are in microseconds.
fn strain(name: &str, shelf: &impl Shelf, arguments: &Arguments) -> Outcome<()> {
    let strain = Strain::new(arguments.objects, arguments.puts, Duration::from_secs(arguments.seconds))?;
    let before = Memory::read()?.now;
    strain.fill(shelf);
    let memory = (Memory::read()?.now - before) as f64 * 1024.0 / 1e6;
    for readers in [1, 2, 4, 8] {
        let strained = strain.on(shelf, readers);
        let time = |latencies: &Latencies, per_thousand| {
            latencies
                .at(per_thousand)
                .map_or_else(String::new, |time| format!("{:.1}", time.as_secs_f64() * 1e6))
        };
        let mut row = format!("| {name}, {readers} |");
        for (latencies, marks) in [
            (&strained.gets, &[500, 990, 999][..]),
            (&strained.lists, &[500, 990]),
            (&strained.scans, &[500, 990]),
            (&strained.puts, &[500, 990, 999]),
            (&strained.relists, &[500]),
        ] {
            for mark in marks {
                row.push_str(&format!(" {} |", time(latencies, *mark)));
            }
        }
        println!("{row} {memory:.0} |");
    }
    Ok(())
}
