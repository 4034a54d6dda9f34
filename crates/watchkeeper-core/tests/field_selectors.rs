//! Field selectors: what is read, what is refused and where, what is printed, what is matched.
//!
//! The tables say what Go's `k8s.io/apimachinery/pkg/fields` v0.37.1 does with the same texts, less
//! the wording of errors. Where this crate departs from it, the test says so.

use std::collections::BTreeMap;

use proptest::prelude::*;
use watchkeeper_core::{FieldNameError, FieldOperator, FieldRequirement, FieldSelector};

fn terms(text: &str) -> Vec<(String, FieldOperator, String)> {
    let selector = FieldSelector::parse(text).unwrap_or_else(|error| panic!("{text:?} was refused: {error}"));
    let terms = selector.requirements().iter();
    terms.map(|term| (term.field().to_owned(), term.operator(), term.value().to_owned())).collect()
}

#[test]
fn every_term_is_split_at_its_first_operator() {
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
fn terms_that_say_nothing_are_left_out() {
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
        // Go sorts before it drops the second `=`, and so prints `x=b,x=a`, which it reads back
        // in the other order.
        ("x=a,x==b", "x=a,x=b"),
    ];
    for (text, expected) in table {
        assert_eq!(FieldSelector::parse(text).unwrap().to_string(), expected, "{text:?}");
    }
}

#[test]
fn a_refusal_names_the_place_and_what_stands_there() {
    let term = "a field and then one of =, == and !=";
    let escape = r"one of \\, \, and \=";
    let table = [
        ("a", format!(r#"at 0: found "a" but expected {term}"#)),
        ("a=b,c", format!(r#"at 4: found "c" but expected {term}"#)),
        ("a in (b)", format!(r#"at 0: found "a in (b)" but expected {term}"#)),
        (" ", format!(r#"at 0: found " " but expected {term}"#)),
        ("a>5", format!(r#"at 0: found "a>5" but expected {term}"#)),
        ("a=b=c", r#"at 3: found "=" but expected \= in a value"#.into()),
        ("a===b", r#"at 3: found "=" but expected \= in a value"#.into()),
        ("a!==b", r#"at 3: found "=" but expected \= in a value"#.into()),
        (r"a=\n", format!(r#"at 2: found "\\n" but expected {escape}"#)),
        (r"a=b\é", format!(r#"at 3: found "\\é" but expected {escape}"#)),
        (r"x=y,a=\", format!(r#"at 6: found "\\" but expected {escape}"#)),
    ];
    for (text, expected) in table {
        assert_eq!(FieldSelector::parse(text).unwrap_err().to_string(), expected, "{text:?}");
    }
    assert!(FieldSelector::parse(&"x".repeat(100_000)).unwrap_err().to_string().len() < 200);
}

#[test]
fn an_absent_field_is_as_good_as_an_empty_one() {
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
fn only_equality_fixes_a_value() {
    let selector = FieldSelector::parse("a=1,b!=2,c!=3,c=4,d=").unwrap();
    let exact = ["a", "b", "c", "d", "e"].map(|field| selector.exact_value(field));
    assert_eq!(exact, [Some("1"), None, Some("4"), Some(""), None]);
}

#[test]
fn a_field_that_could_not_be_read_back_cannot_be_built() {
    for field in ["", "a=b", "a,b", r"a\", "a!"] {
        let refused = FieldRequirement::new(field, FieldOperator::Equals, "x");
        assert_eq!(refused, Err(FieldNameError { field: field.into() }));
    }
}

fn requirement() -> impl Strategy<Value = FieldRequirement> {
    let operator = prop_oneof![Just(FieldOperator::Equals), Just(FieldOperator::NotEquals)];
    ("[xy]|[^!=,\\\\]{1,8}", operator, "[ab]|\\PC{0,8}|[\\\\,=!ab]{0,6}").prop_map(
        |(field, operator, value)| {
            FieldRequirement::new(field, operator, value).expect("the pattern has only good names")
        },
    )
}

proptest! {
    /// L1
    #[test]
    fn what_a_selector_prints_reads_back_equal(requirements in prop::collection::vec(requirement(), 0..5)) {
        let selector: FieldSelector = requirements.into_iter().collect();
        prop_assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
    }

    /// L1, for the names of fields that only a text can have.
    #[test]
    fn a_canonical_text_is_printed_as_it_was_read(text in "[xy=!,\\\\ ]{0,16}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            let canonical = selector.to_string();
            let again = FieldSelector::parse(&canonical).unwrap();
            prop_assert_eq!(again.to_string(), canonical);
            prop_assert_eq!(again, selector);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}|[xyé=!,\\\\ ]{0,40}") {
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
