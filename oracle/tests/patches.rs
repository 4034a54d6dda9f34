//! Patches come out as the libraries of the real API server make them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use watchkeeper_apiserver::patch::{self, PatchFormat};
use watchkeeper_oracle::Binaries;
use watchkeeper_wire::schema;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// How many documents are patched.
const CASES: usize = 110_000;

/// How often Go is asked again where it answered otherwise: it walks its maps in random order, and a patch with
/// several faults is refused for the one that it comes upon first.
const RUNS: usize = 1_000;

fn program() -> Result<PathBuf, Box<dyn std::error::Error>> {
    Ok(Binaries::get()?.path("patches"))
}

/// One document, one patch, and what Go made of them.
struct Case {
    topic: String,
    kind: [String; 3],
    index: String,
    document: Vec<u8>,
    patch: Vec<u8>,
    outcome: String,
    text: String,
}

/// Runs the program, and hands over its cases one at a time.
fn cases(arguments: &[String], mut each: impl FnMut(&Case) -> Outcome) -> Outcome {
    let mut program = Command::new(program()?).args(arguments).stdout(Stdio::piped()).spawn()?;
    let mut stream = BufReader::with_capacity(1 << 18, program.stdout.take().ok_or("its stdout is a pipe")?);
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
    if status.success() { Ok(()) } else { Err(format!("the program ended with {status}").into()) }
}

/// What we make of a case, in Go's words: an outcome, and the document or the text of the error.
fn ours(case: &Case) -> Result<(String, Result<Value, String>), Box<dyn std::error::Error>> {
    let document: Value = serde_json::from_slice(&case.document)?;
    let lines = |faults: Vec<String>| Value::from(faults.join("\n"));
    let made = match case.topic.as_str() {
        "json" => patch::json(document, &case.patch),
        "merge" => patch::merge(document, serde_json::from_slice(&case.patch)?),
        "strategic" => {
            let [group, version, kind] = &case.kind;
            let schema = schema::builtin();
            let message = schema.message(group, version, kind).ok_or("every kind is in the tables")?;
            patch::strategic(document, serde_json::from_slice(&case.patch)?, schema, message)
        }
        "faults json" => patch::faults(PatchFormat::Json, &case.patch).map(lines),
        "faults merge" => patch::faults(PatchFormat::Merge, &case.patch).map(lines),
        "faults strategic" => patch::faults(PatchFormat::Strategic, &case.patch).map(lines),
        other => return Err(format!("unknown topic {other}").into()),
    };
    Ok(match made {
        Ok(made) => ("ok".to_owned(), Ok(made)),
        Err(error) => (error.code().to_string(), Err(error.to_string())),
    })
}

/// Whether Go's answer is ours. Where Go panics the server answers 500, and a JSON patch of ours may do better.
fn agrees(case: &Case, ours: &(String, Result<Value, String>)) -> Result<bool, Box<dyn std::error::Error>> {
    let (outcome, made) = ours;
    Ok(match (case.outcome.as_str(), made) {
        ("panic", _) => case.topic == "json" || outcome == "500",
        ("ok", Ok(Value::String(lines))) => case.text == *lines,
        ("ok", Ok(made)) => serde_json::from_str::<Value>(&case.text)? == *made,
        (go, Err(text)) => go == outcome && case.text == *text,
        _ => false,
    })
}

#[test]
fn every_patch_is_applied_or_refused_as_by_go() -> Outcome {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut doubted = HashMap::new();
    cases(&[format!("-n={CASES}")], |case| {
        *counts.entry((case.topic.clone(), case.outcome.clone())).or_default() += 1;
        let ours = ours(case)?;
        if !agrees(case, &ours)? {
            doubted.insert(case.index.clone(), ours);
        }
        Ok(())
    })?;
    println!("{counts:?}, {} asked again", doubted.len());
    assert_eq!(counts.values().sum::<usize>(), CASES);
    assert!(doubted.len() < CASES / 200, "{} differ; the first: {:?}", doubted.len(), doubted.keys().min());

    let mut settled = HashSet::new();
    let mut last = HashMap::new();
    if !doubted.is_empty() {
        let indices: Vec<_> = doubted.keys().cloned().collect();
        cases(&[format!("-index={}", indices.join(",")), format!("-runs={RUNS}")], |case| {
            if agrees(case, &doubted[&case.index])? {
                settled.insert(case.index.clone());
            }
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let told = format!(
                "{:?}\ndocument: {}\npatch: {}\nGo: {} {}",
                case.kind,
                show(&case.document),
                show(&case.patch),
                case.outcome,
                case.text
            );
            last.insert(case.index.clone(), told);
            Ok(())
        })?;
    }
    let differ: Vec<_> = doubted.iter().filter(|(index, _)| !settled.contains(*index)).collect();
    for (index, (outcome, made)) in differ.iter().take(5) {
        let made = made.as_ref().map_or_else(Clone::clone, Value::to_string);
        println!("case {index} {}\nours: {outcome} {made}\n", last.get(*index).map_or("", String::as_str));
    }
    assert!(differ.is_empty(), "{} of {CASES} differ", differ.len());
    Ok(())
}
