//! The page that a registry writes, against the rules of the text format.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use proptest::prelude::*;
use watchkeeper_metrics::{OVERFLOW, RegisterError, Registry, SERIES_LIMIT, Sort};

#[test]
fn families_are_written_by_name_and_series_by_label() {
    let registry = Registry::new();
    let depth = registry.gauge("depth", "How many wait.", ["name"]).unwrap();
    let answers = registry.counter("answers_total", "Answers.", ["code", "host"]).unwrap();
    registry.counter("unused_total", "Nobody counts.", ["a"]).unwrap();
    let time = registry.histogram("time_seconds", "How long.", ["verb"], &[0.5, 1.0]).unwrap();
    registry.computed("age_seconds", "How old.", || f64::INFINITY).unwrap();
    depth.with(["q"]).set(3.0);
    depth.with(["q"]).add(-1.0);
    answers.with(["404", "a:1"]).increment();
    answers.with(["200", "a:1"]).add(2);
    for seconds in [0.1, 0.5, 0.7, 2.0] {
        time.with(["GET"]).observe(seconds);
    }
    assert_eq!(
        registry.render(),
        "# HELP age_seconds How old.
# TYPE age_seconds gauge
age_seconds +Inf
# HELP answers_total Answers.
# TYPE answers_total counter
answers_total{code=\"200\",host=\"a:1\"} 2
answers_total{code=\"404\",host=\"a:1\"} 1
# HELP depth How many wait.
# TYPE depth gauge
depth{name=\"q\"} 2
# HELP time_seconds How long.
# TYPE time_seconds histogram
time_seconds_bucket{verb=\"GET\",le=\"0.5\"} 2
time_seconds_bucket{verb=\"GET\",le=\"1\"} 3
time_seconds_bucket{verb=\"GET\",le=\"+Inf\"} 4
time_seconds_sum{verb=\"GET\"} 3.3
time_seconds_count{verb=\"GET\"} 4
"
    );
}

#[test]
fn what_is_computed_has_labels_and_what_is_of_one_series_is_added_up() {
    let registry = Registry::new();
    let pending = || {
        let of = |name: &str, count: f64| ([name.to_owned()], count);
        vec![of("b", 1.0), of("a", 2.0), of("b", 3.0)]
    };
    registry.computed_series("pending", "How many wait.", ["name"], Sort::Gauge, pending).unwrap();
    registry.computed_series("none_total", "Nothing.", ["name"], Sort::Counter, Vec::new).unwrap();
    let many = || (0..=SERIES_LIMIT + 1).map(|number| ([format!("{number:05}")], 1.0)).collect();
    registry.computed_series("x_total", "Too many.", ["name"], Sort::Counter, many).unwrap();
    let page = registry.render();
    assert!(page.starts_with(
        "# HELP pending How many wait.\n# TYPE pending gauge\npending{name=\"a\"} 2\npending{name=\"b\"} 4\n"
    ));
    assert!(page.contains("# TYPE x_total counter\n") && !page.contains("none_total"));
    assert!(page.ends_with(&format!("x_total{{name=\"{OVERFLOW}\"}} 2\n")), "all are counted");
    let taken = registry.computed_series("pending", "How many wait.", ["name"], Sort::Gauge, pending);
    assert_eq!(taken.unwrap_err(), RegisterError::Taken("pending".to_owned()));
}

#[test]
fn what_changes_by_itself_is_set_before_a_page_as_long_as_it_is_there() {
    let registry = Registry::new();
    let age = registry.gauge("age_seconds", "How old.", ["name"]).unwrap().with(["a"]);
    let thing = Arc::new(());
    let weak = Arc::downgrade(&thing);
    registry.before_render(move || {
        age.add(1.0);
        weak.upgrade().is_some()
    });
    assert!(registry.render().ends_with("age_seconds{name=\"a\"} 1\n"));
    drop(thing);
    assert!(registry.render().ends_with(" 2\n"), "it is asked once more");
    assert!(registry.render().ends_with(" 2\n"), "and then no more");
}

#[test]
fn a_name_means_one_thing() {
    let registry = Registry::new();
    let one = registry.counter("a_total", "A.", ["x"]).unwrap();
    registry.counter("a_total", "A.", ["x"]).unwrap().with(["1"]).increment();
    assert_eq!(one.with(["1"]).value(), 1, "it is the same family");
    let taken = |name: &str| RegisterError::Taken(name.to_owned());
    assert_eq!(registry.counter("a_total", "A.", ["y"]).unwrap_err(), taken("a_total"));
    assert_eq!(registry.counter("a_total", "B.", ["x"]).unwrap_err(), taken("a_total"));
    assert_eq!(registry.gauge("a_total", "A.", ["x"]).unwrap_err(), taken("a_total"));
    assert_eq!(registry.computed("a_total", "A.", || 0.0).unwrap_err(), taken("a_total"));
    registry.histogram("h", "H.", [], &[1.0]).unwrap();
    assert_eq!(registry.histogram("h", "H.", [], &[2.0]).unwrap_err(), taken("h"));
    registry.histogram("h", "H.", [], &[1.0]).unwrap();
}

#[test]
fn what_cannot_be_scraped_cannot_be_registered() {
    let registry = Registry::new();
    let name = |name: &str| RegisterError::Name(name.to_owned());
    assert_eq!(registry.counter("a-b", "", []).unwrap_err(), name("a-b"));
    assert_eq!(registry.gauge("a", "", ["__x"]).unwrap_err(), name("__x"));
    assert_eq!(registry.gauge("a", "", ["x", "x"]).unwrap_err(), name("x"));
    assert_eq!(registry.histogram("a", "", ["le"], &[1.0]).unwrap_err(), name("le"));
    for buckets in [&[1.0, 1.0][..], &[2.0, 1.0], &[f64::INFINITY], &[f64::NAN, 1.0]] {
        assert_eq!(
            registry.histogram("a", "", [], buckets).unwrap_err().to_string(),
            "the buckets of \"a\" are not finite, or do not grow"
        );
    }
    assert_eq!(registry.render(), "");
}

#[test]
fn series_are_bounded_and_nothing_is_lost() {
    let registry = Registry::new();
    let family = registry.counter("a_total", "A.", ["x", "y"]).unwrap();
    for number in 0..SERIES_LIMIT + 10 {
        family.with([&number.to_string(), "1"]).increment();
    }
    family.with(["0", "1"]).increment();
    let page = registry.render();
    let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(samples.len(), SERIES_LIMIT + 1);
    assert!(samples.contains(&&*format!("a_total{{x=\"{OVERFLOW}\",y=\"{OVERFLOW}\"}} 10")));
    assert!(samples.contains(&"a_total{x=\"0\",y=\"1\"} 2"), "one that is known goes on");
}

#[test]
fn many_count_at_once() {
    let registry = Registry::new();
    let (times, depth) =
        (registry.histogram("t", "", [], &[1.0]).unwrap(), registry.gauge("d", "", []).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    times.with([]).observe(0.5);
                    depth.with([]).add(1.0);
                }
            });
        }
    });
    assert_eq!((times.with([]).count(), times.with([]).sum()), (4000, 2000.0));
    assert_eq!(depth.with([]).value(), 4000.0);
}

/// Reads a line `name{label="value"} number` as the format has it.
fn read(line: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = line.split_once('{')?;
    let mut rest = rest.strip_prefix("x=\"")?.chars();
    let mut value = String::new();
    loop {
        match rest.next()? {
            '"' => break,
            '\\' => value.push(match rest.next()? {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                _ => return None,
            }),
            other => value.push(other),
        }
    }
    Some((name, value, rest.as_str().strip_prefix("} ")?))
}

proptest! {
    #[test]
    fn every_label_value_is_read_back(value in ".*|[\\\\\"\n{}=,a ]*", count in 0u64..1000) {
        let registry = Registry::new();
        registry.counter("a_total", "A.", ["x"]).unwrap().with([&value]).add(count);
        let page = registry.render();
        let lines: Vec<&str> = page.split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), 3, "a value cannot make a line of its own");
        prop_assert_eq!(read(lines[2]), Some(("a_total", value, &*count.to_string())));
    }
}
