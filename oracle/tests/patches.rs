//! Patches: our results and errors equal those of the real API server's libraries.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use watchkeeper_apiserver::patch::{self, PatchFormat};
use watchkeeper_oracle::Binaries;
use watchkeeper_wire::schema;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The number of random cases.
const CASES: usize = 110_000;

/// Number of times that Go repeats a case whose result differs from ours: Go iterates over maps in random order, and reports only the
/// first of several faults in a patch.
const RUNS: usize = 1_000;

fn program() -> Result<PathBuf, Box<dyn std::error::Error>> {
    Ok(Binaries::get()?.path("patches"))
}

/// A document, a patch, and Go's result.
struct Case {
    topic: String,
    kind: [String; 3],
    index: String,
    document: Vec<u8>,
    patch: Vec<u8>,
    outcome: String,
    text: String,
}

/// Runs the Go program, and calls `each` for every case that it prints.
fn cases(arguments: &[String], mut each: impl FnMut(&Case) -> Outcome) -> Outcome {
    let mut program = Command::new(program()?).args(arguments).stdout(Stdio::piped()).spawn()?;
    let mut stream = BufReader::with_capacity(1 << 18, program.stdout.take().ok_or("stdout is not a pipe")?);
    let mut first = [0];
    while stream.read(&mut first)? == 1 {
        let mut fields = Vec::with_capacity(9);
        for number in 0..9 {
            let mut length = [0; 4];
            length[0] = first[0];
            stream.read_exact(if number == 0 { &mut length[1..] } else { &mut length })?;
            let mut field = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut field)?;
            fields.push(field);
        }
        let text = |field: &[u8]| String::from_utf8(field.to_vec());
        each(&Case {
            topic: text(&fields[0])?,
            kind: [text(&fields[1])?, text(&fields[2])?, text(&fields[3])?],
            index: text(&fields[4])?,
            document: fields[5].clone(),
            patch: fields[6].clone(),
            outcome: text(&fields[7])?,
            text: text(&fields[8])?,
        })?;
    }
    let status = program.wait()?;
    if status.success() { Ok(()) } else { Err(format!("the program failed: {status}").into()) }
}

/// Returns our result in Go's form: an outcome, and the document or the error message.
fn ours(case: &Case) -> Result<(String, Result<Value, String>), Box<dyn std::error::Error>> {
    let document: Value = serde_json::from_slice(&case.document)?;
    let lines = |faults: Vec<String>| Value::from(faults.join("\n"));
    let result = match case.topic.as_str() {
        "json" => patch::json(document, &case.patch),
        "merge" => patch::merge(document, serde_json::from_slice(&case.patch)?),
        "strategic" => {
            let [group, version, kind] = &case.kind;
            let schema = schema::builtin();
            let message = schema.message(group, version, kind).ok_or("kind not found in the tables")?;
            patch::strategic(document, serde_json::from_slice(&case.patch)?, schema, message)
        }
        "faults json" => patch::faults(PatchFormat::Json, &case.patch).map(lines),
        "faults merge" => patch::faults(PatchFormat::Merge, &case.patch).map(lines),
        "faults strategic" => patch::faults(PatchFormat::Strategic, &case.patch).map(lines),
        other => return Err(format!("unknown topic {other}").into()),
    };
    Ok(match result {
        Ok(patched) => ("ok".to_owned(), Ok(patched)),
        Err(error) => (error.code().to_string(), Err(error.to_string())),
    })
}

/// Whether Go's result equals ours. Where Go panics, the real server responds with 500; for JSON patches we may succeed.
fn agrees(case: &Case, ours: &(String, Result<Value, String>)) -> Result<bool, Box<dyn std::error::Error>> {
    let (outcome, result) = ours;
    Ok(match (case.outcome.as_str(), result) {
        ("panic", _) => case.topic == "json" || outcome == "500",
        ("ok", Ok(Value::String(lines))) => case.text == *lines,
        ("ok", Ok(patched)) => serde_json::from_str::<Value>(&case.text)? == *patched,
        (go, Err(text)) => go == outcome && case.text == *text,
        _ => false,
    })
}

#[test]
fn patches_are_applied_and_rejected_as_in_go() -> Outcome {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut differing = HashMap::new();
    cases(&[format!("-n={CASES}")], |case| {
        *counts.entry((case.topic.clone(), case.outcome.clone())).or_default() += 1;
        let ours = ours(case)?;
        if !agrees(case, &ours)? {
            differing.insert(case.index.clone(), ours);
        }
        Ok(())
    })?;
    println!("{counts:?}, {} repeated", differing.len());
    assert_eq!(counts.values().sum::<usize>(), CASES);
    assert!(
        differing.len() < CASES / 200,
        "{} differ; the first: {:?}",
        differing.len(),
        differing.keys().min()
    );

    let mut resolved = HashSet::new();
    let mut last = HashMap::new();
    if !differing.is_empty() {
        let indices: Vec<_> = differing.keys().cloned().collect();
        cases(&[format!("-index={}", indices.join(",")), format!("-runs={RUNS}")], |case| {
            if agrees(case, &differing[&case.index])? {
                resolved.insert(case.index.clone());
            }
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let description = format!(
                "{:?}\ndocument: {}\npatch: {}\nGo: {} {}",
                case.kind,
                show(&case.document),
                show(&case.patch),
                case.outcome,
                case.text
            );
            last.insert(case.index.clone(), description);
            Ok(())
        })?;
    }
    let unresolved: Vec<_> = differing.iter().filter(|(index, _)| !resolved.contains(*index)).collect();
    for (index, (outcome, result)) in unresolved.iter().take(5) {
        let result = result.as_ref().map_or_else(Clone::clone, Value::to_string);
        println!("case {index} {}\nours: {outcome} {result}\n", last.get(*index).map_or("", String::as_str));
    }
    assert!(unresolved.is_empty(), "{} of {CASES} differ", unresolved.len());
    Ok(())
}
