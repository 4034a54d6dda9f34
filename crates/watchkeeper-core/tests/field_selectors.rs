//! Field selectors: parsing, errors, canonical text and matching.
//!
//! The tables follow Go's `k8s.io/apimachinery/pkg/fields` v0.37.1, apart from the wording of
//! errors. Tests for deviations say so.

use std::collections::BTreeMap;

use proptest::prelude::*;
use watchkeeper_core::{FieldNameError, FieldOperator, FieldRequirement, FieldSelector};

fn terms(text: &str) -> Vec<(String, FieldOperator, String)> {
    let selector =
        FieldSelector::parse(text).unwrap_or_else(|error| panic!("{text:?} was rejected: {error}"));
    let terms = selector.requirements().iter();
    terms.map(|term| (term.field().to_owned(), term.operator(), term.value().to_owned())).collect()
}

#[test]
fn terms_are_split_at_the_first_operator() {
    use FieldOperator::{Equals, NotEquals};
    let table = [
        ("a=b", ("a", Equals, "b")),
        ("a==b", ("a", Equals, "b")),
        ("a!=b", ("a", NotEquals, "b")),
        ("a=", ("a", Equals, "")),
        ("a!=", ("a", NotEquals, "")),
        ("=b", ("", Equals, "b")),
        ("!=b", ("", NotEquals, "b")),
        (" a = b ", (" a ", Equals, " b ")),
        ("a!b=c", ("a!b", Equals, "c")),
        ("a!!=c", ("a!", NotEquals, "c")),
        ("a=!b", ("a", Equals, "!b")),
        ("a=b!", ("a", Equals, "b!")),
        (r"a=\\", ("a", Equals, r"\")),
        (r"a=\,\=", ("a", Equals, ",=")),
        (r"a=b\\c\,d\=e", ("a", Equals, r"b\c,d=e")),
        (r"a\,b=c", (r"a\,b", Equals, "c")),
        (r"a\=b", (r"a\", Equals, "b")),
        ("a=in (b)", ("a", Equals, "in (b)")),
        ("é=ü", ("é", Equals, "ü")),
    ];
    for (text, (field, operator, value)) in table {
        assert_eq!(terms(text), [(field.to_owned(), operator, value.to_owned())], "{text:?}");
    }
}

#[test]
fn empty_terms_are_ignored() {
    for text in ["", ",", ",,,", "=", "==", "!=", "=,!="] {
        assert!(FieldSelector::parse(text).unwrap().is_everything(), "{text:?}");
    }
    assert_eq!(FieldSelector::parse(",a=b,,=,c=d,").unwrap().to_string(), "a=b,c=d");
}

#[test]
fn a_canonical_selector_is_sorted_by_its_terms_and_escaped() {
    let table = [
        ("y=a,x=b", "x=b,y=a"),
        ("a=1,a.b=1,a!=1", "a!=1,a.b=1,a=1"),
        (r"x=\,\=\\", r"x=\,\=\\"),
        ("x=a,x=a", "x=a,x=a"),
        // Go sorts before it normalizes `==`, and prints `x=b,x=a`, which does not round-trip.
        ("x=a,x==b", "x=a,x=b"),
    ];
    for (text, expected) in table {
        assert_eq!(FieldSelector::parse(text).unwrap().to_string(), expected, "{text:?}");
    }
}

#[test]
fn an_error_has_the_position_and_the_unexpected_token() {
    let term = "a field and one of =, == and !=";
    let escape = r"one of \\, \, and \=";
    let table = [
        ("a", format!(r#"at 0: found "a", expected {term}"#)),
        ("a=b,c", format!(r#"at 4: found "c", expected {term}"#)),
        ("a in (b)", format!(r#"at 0: found "a in (b)", expected {term}"#)),
        (" ", format!(r#"at 0: found " ", expected {term}"#)),
        ("a>5", format!(r#"at 0: found "a>5", expected {term}"#)),
        ("a=b=c", r#"at 3: found "=", expected \= in a value"#.into()),
        ("a===b", r#"at 3: found "=", expected \= in a value"#.into()),
        ("a!==b", r#"at 3: found "=", expected \= in a value"#.into()),
        (r"a=\n", format!(r#"at 2: found "\\n", expected {escape}"#)),
        (r"a=b\é", format!(r#"at 3: found "\\é", expected {escape}"#)),
        (r"x=y,a=\", format!(r#"at 6: found "\\", expected {escape}"#)),
    ];
    for (text, expected) in table {
        assert_eq!(FieldSelector::parse(text).unwrap_err().to_string(), expected, "{text:?}");
    }
    assert!(FieldSelector::parse(&"x".repeat(100_000)).unwrap_err().to_string().len() < 200);
}

#[test]
fn an_absent_field_equals_an_empty_one() {
    let table = [
        ("", "", true),
        ("x=a", "x=a", true),
        ("x=a", "", false),
        ("x=", "", true),
        ("x=", "x=", true),
        ("x!=a", "", true),
        ("x!=", "", false),
        ("x!=a", "x=a", false),
        ("x=a,y!=b", "x=a", true),
        ("x=a,y!=b", "x=a;y=b", false),
        ("x=a,x=b", "x=a", false),
    ];
    for (text, fields, expected) in table {
        let fields: BTreeMap<&str, &str> =
            fields.split_terminator(';').filter_map(|pair| pair.split_once('=')).collect();
        let selector = FieldSelector::parse(text).unwrap();
        assert_eq!(selector.matches(|field| fields.get(field).copied()), expected, "{text:?} on {fields:?}");
    }
}

#[test]
fn only_equality_determines_a_value() {
    let selector = FieldSelector::parse("a=1,b!=2,c!=3,c=4,d=").unwrap();
    let exact = ["a", "b", "c", "d", "e"].map(|field| selector.exact_value(field));
    assert_eq!(exact, [Some("1"), None, Some("4"), Some(""), None]);
}

#[test]
fn fields_that_do_not_round_trip_are_rejected() {
    for field in ["", "a=b", "a,b", r"a\", "a!"] {
        let requirement = FieldRequirement::new(field, FieldOperator::Equals, "x");
        assert_eq!(requirement, Err(FieldNameError { field: field.into() }));
    }
}

fn requirement() -> impl Strategy<Value = FieldRequirement> {
    let operator = prop_oneof![Just(FieldOperator::Equals), Just(FieldOperator::NotEquals)];
    ("[xy]|[^!=,\\\\]{1,8}", operator, "[ab]|\\PC{0,8}|[\\\\,=!ab]{0,6}").prop_map(
        |(field, operator, value)| {
            FieldRequirement::new(field, operator, value).expect("the pattern only generates valid names")
        },
    )
}

proptest! {
    /// `selector.L1`
    #[test]
    fn selectors_round_trip_through_text(requirements in prop::collection::vec(requirement(), 0..5)) {
        let selector: FieldSelector = requirements.into_iter().collect();
        prop_assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
    }

    /// `selector.L1`, including field names that only parsing can produce.
    #[test]
    fn canonical_text_is_stable(text in "[xy=!,\\\\ ]{0,16}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            let canonical = selector.to_string();
            let again = FieldSelector::parse(&canonical).unwrap();
            prop_assert_eq!(again.to_string(), canonical);
            prop_assert_eq!(again, selector);
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}|[xyé=!,\\\\ ]{0,40}") {
        if let Err(error) = FieldSelector::parse(&text) {
            prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at), "{}", error);
        }
    }

    #[test]
    fn matching_agrees_with_a_naive_model(
        requirements in prop::collection::vec(requirement(), 0..4),
        fields in prop::collection::btree_map("[xy]", "[ab]?", 0..3),
    ) {
        let expected = requirements.iter().all(|it| {
            let value = fields.get(it.field()).cloned().unwrap_or_default();
            match it.operator() {
                FieldOperator::Equals => value == it.value(),
                FieldOperator::NotEquals => value != it.value(),
            }
        });
        let selector: FieldSelector = requirements.into_iter().collect();
        prop_assert_eq!(selector.matches(|field| fields.get(field).map(String::as_str)), expected);
    }
}
