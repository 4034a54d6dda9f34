//! Label selectors: parsing, errors, canonical text and matching.
//!
//! The tables follow Go's `k8s.io/apimachinery/pkg/labels` v0.37.1, apart from the wording of
//! errors. Tests for deviations say so.

use std::collections::BTreeMap;

use proptest::prelude::*;
use watchkeeper_core::{
    Condition, LabelSelector, Requirement, RequirementError, SelectorError, SelectorProblem,
};

fn canonical(text: &str) -> String {
    match LabelSelector::parse(text) {
        Ok(selector) => selector.to_string(),
        Err(error) => panic!("{text:?} was rejected: {error}"),
    }
}

fn parse_error(text: &str) -> String {
    match LabelSelector::parse(text) {
        Ok(selector) => panic!("{text:?} was parsed as {selector}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_form_has_a_canonical_text() {
    let table = [
        ("", ""),
        (" \t\r\n", ""),
        ("x", "x"),
        ("\rx", "x"),
        ("x ", "x"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x=a", "x=a"),
        ("x = a", "x=a"),
        ("x!=a", "x!=a"),
        ("x=", "x="),
        ("x= ,y", "x=,y"),
        ("x!=", "x!="),
        ("x>1,y<5", "x>1,y<5"),
        ("x in (a)", "x in (a)"),
        ("x in(a)", "x in (a)"),
        ("x notin\n (b, a)", "x notin (a,b)"),
        ("foo  in\t (abc)", "foo in (abc)"),
        ("x in (a,b) , !y", "x in (a,b),!y"),
        ("x,y", "x,y"),
        ("y,x", "x,y"),
        ("x=a,y!=b,z in (h,i,j)", "x=a,y!=b,z in (h,i,j)"),
        ("x notin (abc,,def),bar,z in (),w", "bar,w,x notin (,abc,def),z in ()"),
        (
            "0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)",
            "0.1.2.domain/99 notin (10.10.100.1,tick.tack.clock)",
        ),
        ("dns.example.com/key-with-dash in (so,what)", "dns.example.com/key-with-dash in (so,what)"),
    ];
    for (text, expected) in table {
        assert_eq!(canonical(text), expected, "{text:?}");
    }
}

#[test]
fn set_members_are_sorted_unique_and_may_be_empty() {
    let table = [
        ("x in ()", "x in ()"),
        ("x notin ( )", "x notin ()"),
        ("x in (,)", "x in ()"),
        ("x in (,,)", "x in ()"),
        ("x in (a,)", "x in (,a)"),
        ("x in (,a)", "x in (,a)"),
        ("x notin (, a)", "x notin (,a)"),
        ("x in (a,,)", "x in (,a)"),
        ("x in (a,,,,,,)", "x in (,a)"),
        ("x in (a,,a,,a,,a,,)", "x in (,a)"),
        ("x in (abc,abc)", "x in (abc)"),
        ("x in (b,B,a,10,9)", "x in (10,9,B,a,b)"),
    ];
    for (text, expected) in table {
        assert_eq!(canonical(text), expected, "{text:?}");
    }
}

#[test]
fn in_and_notin_are_keywords_only_in_operator_position() {
    let table = [
        ("in", "in"),
        ("!notin", "!notin"),
        ("in in (in)", "in in (in)"),
        ("notin notin (notin, in)", "notin notin (in,notin)"),
        ("in=notin", "in=notin"),
        ("in,notin", "in,notin"),
        ("a in (x,y,notin, z,in)", "a in (in,notin,x,y,z)"),
    ];
    for (text, expected) in table {
        assert_eq!(canonical(text), expected, "{text:?}");
    }
}

#[test]
fn requirements_of_one_key_keep_their_order() {
    assert_eq!(canonical("x!=b,y,x=a,!x,x"), "x!=b,x=a,!x,x,y");
}

/// Go prints `==` and leading zeros as they were written. Here equal selectors have equal text.
#[test]
fn equivalent_spellings_parse_to_equal_selectors() {
    assert_eq!(canonical("x==a"), "x=a");
    assert_eq!(LabelSelector::parse("x==a"), LabelSelector::parse("x=a"));
    assert_eq!(canonical("x>007,y<00"), "x>7,y<0");
}

#[test]
fn an_error_has_the_position_and_the_unexpected_token() {
    let key = "a label key or \"!\"";
    let operator = "one of =, ==, !=, in, notin, > and <";
    let table = [
        (",", format!("at 0: found \",\", expected {key}")),
        (",x", format!("at 0: found \",\", expected {key}")),
        ("x,", format!("at 2: found end of input, expected {key}")),
        ("a in (xyz),", format!("at 11: found end of input, expected {key}")),
        ("x,,y", format!("at 2: found \",\", expected {key}")),
        ("=a", format!("at 0: found \"=\", expected {key}")),
        ("(", format!("at 0: found \"(\", expected {key}")),
        ("!", "at 1: found end of input, expected a label key".into()),
        ("!!x", "at 1: found \"!\", expected a label key".into()),
        ("!=x", format!("at 0: found \"!=\", expected {key}")),
        ("!x=a", "at 2: found \"=\", expected \",\" or end of input".into()),
        ("!x in (a)", "at 3: found \"in\", expected \",\" or end of input".into()),
        ("x==a==b", "at 4: found \"==\", expected \",\" or end of input".into()),
        ("x===a", "at 3: found \"=\", expected a value".into()),
        ("x=!a", "at 2: found \"!\", expected a value".into()),
        ("x>=1", "at 2: found \"=\", expected a value".into()),
        ("x=(a)", "at 2: found \"(\", expected a value".into()),
        ("x=a b", "at 4: found \"b\", expected \",\" or end of input".into()),
        ("x y", format!("at 2: found \"y\", expected {operator}")),
        ("x nott in (y)", format!("at 2: found \"nott\", expected {operator}")),
        ("x IN (y)", format!("at 2: found \"IN\", expected {operator}")),
        ("a (", format!("at 2: found \"(\", expected {operator}")),
        ("x!", format!("at 1: found \"!\", expected {operator}")),
        ("a in b", "at 5: found \"b\", expected \"(\"".into()),
        ("a in", "at 4: found end of input, expected \"(\"".into()),
        ("a in, b", "at 4: found \",\", expected \"(\"".into()),
        ("a notin(", "at 8: found end of input, expected a value, \",\" or \")\"".into()),
        ("a in (!b)", "at 6: found \"!\", expected a value, \",\" or \")\"".into()),
        ("a in (xyz abc)", "at 10: found \"abc\", expected \",\" or \")\"".into()),
        ("a in (xyz", "at 9: found end of input, expected \",\" or \")\"".into()),
        ("a in (xyz)b notin ()", "at 10: found \"b\", expected \",\" or end of input".into()),
        ("x in (a))", "at 8: found \")\", expected \",\" or end of input".into()),
    ];
    for (text, expected) in table {
        assert_eq!(parse_error(text), expected, "{text:?}");
    }
}

#[test]
fn invalid_keys_and_values_are_rejected_with_their_position() {
    let name =
        "name must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit";
    let value = "must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit";
    let number = "must be an integer from 0 to 9223372036854775807";
    let table = [
        ("ok,-x", format!(r#"at 3: invalid label key "-x": {name}"#)),
        ("x_", format!(r#"at 0: invalid label key "x_": {name}"#)),
        ("é", format!(r#"at 0: invalid label key "é": {name}"#)),
        ("x\0", format!(r#"at 0: invalid label key "x\0": {name}"#)),
        ("a/", r#"at 0: invalid label key "a/": name must have 1 to 63 characters"#.into()),
        (
            "a/b/c",
            r#"at 0: invalid label key "a/b/c": must have at most one slash, between a DNS prefix and a name"#
                .into(),
        ),
        ("x=a||y=b", format!(r#"at 2: invalid value "a||y" for label "x": {value}"#)),
        ("x in (a, -b)", format!(r#"at 9: invalid value "-b" for label "x": {value}"#)),
        ("x!=é", format!(r#"at 3: invalid value "é" for label "x": {value}"#)),
        ("x<a", format!(r#"at 2: invalid value "a" for label "x": {number}"#)),
        ("x>", format!(r#"at 2: invalid value "" for label "x": {number}"#)),
        ("x>,y", format!(r#"at 2: invalid value "" for label "x": {number}"#)),
        ("x>1.5", format!(r#"at 2: invalid value "1.5" for label "x": {number}"#)),
        (
            "x>9223372036854775808",
            format!(r#"at 2: invalid value "9223372036854775808" for label "x": {number}"#),
        ),
        ("x>-1", format!(r#"at 2: invalid value "-1" for label "x": {value}"#)),
    ];
    for (text, expected) in table {
        assert_eq!(parse_error(text), expected, "{text:?}");
    }
}

#[test]
fn prefixes_names_and_values_have_length_limits() {
    let long = |count| "a".repeat(count);
    for key in [long(63), format!("{}/{}", long(253), long(63)), "a-b.c0/A.b_C".into(), "0/0".into()] {
        assert_eq!(canonical(&key), key);
    }
    let bad_prefixes =
        ["A", "a_b", ".a", "a.", "a..b", "-a", "a-", "a-.b", ""].map(|prefix| format!("{prefix}/n"));
    for key in
        bad_prefixes.into_iter().chain([long(64), format!("a/{}", long(64)), format!("{}/n", long(254))])
    {
        assert!(parse_error(&key).contains("invalid label key"), "{key:?}");
    }
    assert_eq!(canonical(&format!("x={}", long(63))), format!("x={}", long(63)));
    assert!(parse_error(&format!("x={}", long(64))).ends_with("must have at most 63 characters"));
    assert!(parse_error(&format!("x>{}1", "0".repeat(63))).ends_with("must have at most 63 characters"));
}

/// Go takes a NUL for the end of the text and ignores the rest, so that `"\0x"` selects everything.
/// Here NUL is an invalid character.
#[test]
fn a_nul_does_not_hide_the_rest_of_a_selector() {
    assert!(parse_error("\0x").starts_with("at 0: "));
    assert!(parse_error("x=a \0y").starts_with("at 4: "));
}

#[test]
fn errors_truncate_long_input() {
    assert!(parse_error(&format!("x {}", "y".repeat(100_000))).len() < 200);
    assert!(parse_error(&"é".repeat(100_000)).len() < 400);
}

#[test]
fn errors_are_structured() {
    let error = LabelSelector::parse("x in (a").unwrap_err();
    let problem = SelectorProblem::Unexpected { found: None, expected: "\",\" or \")\"" };
    assert_eq!(error, SelectorError { at: 7, problem });
}

#[test]
fn negations_match_absent_labels_and_comparisons_require_integers() {
    let table = [
        ("", "", true),
        ("x", "x=", true),
        ("x", "y=a", false),
        ("!x", "x=", false),
        ("!x", "y=a", true),
        ("x=a", "x=a", true),
        ("x=a", "x=b", false),
        ("x=", "", false),
        ("x=", "x=", true),
        ("x!=a", "", true),
        ("x!=a", "x=a", false),
        ("x!=", "x=", false),
        ("x in (a,b)", "x=b", true),
        ("x in (a,b)", "", false),
        ("x in ()", "", false),
        ("x in ()", "x=", true),
        ("x notin (a,b)", "", true),
        ("x notin (a,b)", "x=c", true),
        ("x notin (a,b)", "x=a", false),
        ("x>1", "x=2", true),
        ("x>1", "x=1", false),
        ("x>1", "x=v2", false),
        ("x>1", "", false),
        ("x<7", "x=-7", true),
        ("x<7", "x=+6", true),
        ("x<7", "x=99999999999999999999", false),
        ("x,y in (a)", "x=1;y=a", true),
        ("x,y in (a)", "x=1;y=b", false),
        ("x=a,x!=a", "x=a", false),
    ];
    for (text, labels, expected) in table {
        let labels: BTreeMap<&str, &str> =
            labels.split_terminator(';').filter_map(|pair| pair.split_once('=')).collect();
        let selector = LabelSelector::parse(text).unwrap();
        assert_eq!(selector.matches(|key| labels.get(key).copied()), expected, "{text:?} on {labels:?}");
    }
}

/// Go only considers the first requirement for a key.
#[test]
fn any_requirement_for_a_key_can_determine_its_value() {
    let selector = LabelSelector::parse("a=1,b in (2),c in (3,4),d!=5,e,e=6,f=").unwrap();
    let exact = ["a", "b", "c", "d", "e", "f", "g"].map(|key| selector.exact_value(key));
    assert_eq!(exact, [Some("1"), Some("2"), None, None, Some("6"), Some(""), None]);
}

#[test]
fn requirements_are_validated_on_construction() {
    let set = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    assert!(Requirement::new("x", Condition::In(set(&["a", ""]))).is_ok());
    assert_eq!(
        Requirement::new("x", Condition::NotIn(set(&[]))),
        Err(RequirementError::NoValues { key: "x".into() })
    );
    let rejected = [
        Requirement::new("", Condition::Exists),
        Requirement::new("a b", Condition::DoesNotExist),
        Requirement::new("x", Condition::Equals("a b".into())),
        Requirement::new("x", Condition::NotEquals("a".repeat(64))),
        Requirement::new("x", Condition::In(set(&["a", "b,c"]))),
        Requirement::new("x", Condition::GreaterThan(-1)),
        Requirement::new("x", Condition::LessThan(i64::MIN)),
    ];
    for requirement in rejected {
        assert!(requirement.is_err(), "{requirement:?}");
    }
}

#[test]
fn a_selector_from_labels_requires_all_of_them() {
    let selector = LabelSelector::from_labels([("tier", "front"), ("app", "web")]).unwrap();
    assert_eq!(selector.to_string(), "app=web,tier=front");
    assert!(LabelSelector::from_labels([("app", "not a value")]).is_err());
    assert!(LabelSelector::from_labels(BTreeMap::<String, String>::new()).unwrap().is_everything());
    assert_eq!(LabelSelector::EVERYTHING, LabelSelector::default());
    assert_eq!(LabelSelector::everything(), LabelSelector::default());
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-d]",
        "in|notin",
        "([a-z0-9]([a-z0-9.]{0,5}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?"
    ]
    .prop_filter("a prefix has no empty part", |key| !key.contains(".."))
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]", "[0-9]{1,3}", "in|notin", "([A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?)?"]
}

fn condition() -> impl Strategy<Value = Condition> {
    let set = || prop::collection::btree_set(value(), 1..4);
    prop_oneof![
        value().prop_map(Condition::Equals),
        value().prop_map(Condition::NotEquals),
        set().prop_map(Condition::In),
        set().prop_map(Condition::NotIn),
        Just(Condition::Exists),
        Just(Condition::DoesNotExist),
        prop_oneof![0..200_i64, 0..=i64::MAX].prop_map(Condition::GreaterThan),
        prop_oneof![0..200_i64, 0..=i64::MAX].prop_map(Condition::LessThan),
    ]
}

fn requirements() -> impl Strategy<Value = Vec<(String, Condition)>> {
    prop::collection::vec((key(), condition()), 0..5)
}

fn build(requirements: Vec<(String, Condition)>) -> LabelSelector {
    requirements
        .into_iter()
        .map(|(key, condition)| Requirement::new(key, condition).expect("the patterns are good"))
        .collect()
}

/// An independent implementation of conditions.
fn holds(condition: &Condition, value: Option<&String>) -> bool {
    let number = value.and_then(|value| value.parse::<i128>().ok()).filter(|it| i64::try_from(*it).is_ok());
    match (condition, value) {
        (Condition::Exists, value) => value.is_some(),
        (Condition::DoesNotExist | Condition::NotEquals(_) | Condition::NotIn(_), None) => true,
        (_, None) => false,
        (Condition::DoesNotExist, Some(_)) => false,
        (Condition::Equals(wanted), Some(value)) => wanted == value,
        (Condition::NotEquals(unwanted), Some(value)) => unwanted != value,
        (Condition::In(wanted), Some(value)) => wanted.iter().any(|it| it == value),
        (Condition::NotIn(unwanted), Some(value)) => unwanted.iter().all(|it| it != value),
        (Condition::GreaterThan(bound), _) => number.is_some_and(|number| number > i128::from(*bound)),
        (Condition::LessThan(bound), _) => number.is_some_and(|number| number < i128::from(*bound)),
    }
}

proptest! {
    /// `selector.L1`
    #[test]
    fn selectors_round_trip_through_text(requirements in requirements()) {
        let selector = build(requirements);
        prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
    }

    #[test]
    fn canonical_text_is_stable(
        text in "[xy,!=<>() \tin0-9]{0,24}|([xy](=|==|!=| in \\(|,|\\)|>)[ab5]?){0,6}"
    ) {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let canonical = selector.to_string();
            prop_assert_eq!(LabelSelector::parse(&canonical).unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,60}|[ -~\t\r\n\u{0}é]{0,60}") {
        if let Err(error) = LabelSelector::parse(&text) {
            prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at), "{}", error);
        }
    }

    #[test]
    fn matching_agrees_with_a_naive_model(
        requirements in requirements(),
        labels in prop::collection::btree_map(key(), value(), 0..5),
    ) {
        let expected = requirements.iter().all(|(key, condition)| holds(condition, labels.get(key)));
        let selector = build(requirements);
        prop_assert_eq!(selector.matches(|key| labels.get(key).map(String::as_str)), expected);
    }

    #[test]
    fn an_index_lookup_by_exact_value_is_complete(
        requirements in requirements(),
        labels in prop::collection::btree_map(key(), value(), 0..5),
    ) {
        let selector = build(requirements);
        if selector.matches(|key| labels.get(key).map(String::as_str)) {
            for requirement in selector.requirements() {
                if let Some(exact) = selector.exact_value(requirement.key()) {
                    prop_assert_eq!(labels.get(requirement.key()).map(String::as_str), Some(exact));
                }
            }
        }
    }
}
