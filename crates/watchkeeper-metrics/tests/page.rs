//! The page that a registry renders, in the text format of Prometheus.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use proptest::prelude::*;
use watchkeeper_metrics::{MetricType, OVERFLOW, RegisterError, Registry, SERIES_LIMIT};

#[test]
fn families_are_sorted_by_name_and_series_by_label() {
    let registry = Registry::new();
    let depth = registry.gauge("depth", "How many wait.", ["name"]).unwrap();
    let responses = registry.counter("responses_total", "Responses.", ["code", "host"]).unwrap();
    registry.counter("unused_total", "Nobody counts.", ["a"]).unwrap();
    let time = registry.histogram("time_seconds", "How long.", ["verb"], &[0.5, 1.0]).unwrap();
    registry.computed("age_seconds", "How old.", || f64::INFINITY).unwrap();
    depth.with(["q"]).set(3.0);
    depth.with(["q"]).add(-1.0);
    responses.with(["404", "a:1"]).increment();
    responses.with(["200", "a:1"]).add(2);
    for seconds in [0.1, 0.5, 0.7, 2.0] {
        time.with(["GET"]).observe(seconds);
    }
    assert_eq!(
        registry.render(),
        "# HELP age_seconds How old.
# TYPE age_seconds gauge
age_seconds +Inf
# HELP depth How many wait.
# TYPE depth gauge
depth{name=\"q\"} 2
# HELP responses_total Responses.
# TYPE responses_total counter
responses_total{code=\"200\",host=\"a:1\"} 2
responses_total{code=\"404\",host=\"a:1\"} 1
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
fn computed_values_with_equal_labels_are_added_up() {
    let registry = Registry::new();
    let pending = || {
        let of = |name: &str, count: f64| ([name.to_owned()], count);
        vec![of("b", 1.0), of("a", 2.0), of("b", 3.0)]
    };
    registry.computed_series("pending", "How many wait.", ["name"], MetricType::Gauge, pending).unwrap();
    registry.computed_series("none_total", "Nothing.", ["name"], MetricType::Counter, Vec::new).unwrap();
    let many = || (0..=SERIES_LIMIT + 1).map(|number| ([format!("{number:05}")], 1.0)).collect();
    registry.computed_series("x_total", "Too many.", ["name"], MetricType::Counter, many).unwrap();
    let page = registry.render();
    assert!(page.starts_with(
        "# HELP pending How many wait.\n# TYPE pending gauge\npending{name=\"a\"} 2\npending{name=\"b\"} 4\n"
    ));
    assert!(page.contains("# TYPE x_total counter\n") && !page.contains("none_total"));
    assert!(page.ends_with(&format!("x_total{{name=\"{OVERFLOW}\"}} 2\n")), "all values are counted");
    let taken = registry.computed_series("pending", "How many wait.", ["name"], MetricType::Gauge, pending);
    assert_eq!(taken.unwrap_err(), RegisterError::Taken("pending".to_owned()));
}

#[test]
fn refresh_runs_before_each_page_until_it_returns_false() {
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
    assert!(registry.render().ends_with(" 2\n"), "called once more");
    assert!(registry.render().ends_with(" 2\n"), "and then removed");
}

#[test]
fn a_name_has_one_meaning() {
    let registry = Registry::new();
    let one = registry.counter("a_total", "A.", ["x"]).unwrap();
    registry.counter("a_total", "A.", ["x"]).unwrap().with(["1"]).increment();
    assert_eq!(one.with(["1"]).value(), 1, "the same family");
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
fn invalid_names_and_buckets_are_rejected() {
    let registry = Registry::new();
    let name = |name: &str| RegisterError::Name(name.to_owned());
    assert_eq!(registry.counter("a-b", "", []).unwrap_err(), name("a-b"));
    assert_eq!(registry.gauge("a", "", ["__x"]).unwrap_err(), name("__x"));
    assert_eq!(registry.gauge("a", "", ["x", "x"]).unwrap_err(), name("x"));
    assert_eq!(registry.histogram("a", "", ["le"], &[1.0]).unwrap_err(), name("le"));
    for buckets in [&[1.0, 1.0][..], &[2.0, 1.0], &[f64::INFINITY], &[f64::NAN, 1.0]] {
        assert_eq!(
            registry.histogram("a", "", [], buckets).unwrap_err().to_string(),
            "invalid buckets of \"a\": bounds must be finite and increasing"
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
    assert!(samples.contains(&"a_total{x=\"0\",y=\"1\"} 2"), "known series still count");
}

#[test]
fn threads_count_concurrently() {
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

/// Parses a line `name{label="value"} number`.
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
    fn every_label_value_survives_a_round_trip(value in ".*|[\\\\\"\n{}=,a ]*", count in 0u64..1000) {
        let registry = Registry::new();
        registry.counter("a_total", "A.", ["x"]).unwrap().with([&value]).add(count);
        let page = registry.render();
        let lines: Vec<&str> = page.split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), 3, "a value cannot start a line");
        prop_assert_eq!(read(lines[2]), Some(("a_total", value, &*count.to_string())));
    }
}
