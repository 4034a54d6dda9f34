//! Check: whether an object matches its type, with kube-apiserver's messages.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::apply::element::Element;
use crate::apply::types::{Atom, Listing, Plain, Type};
use crate::patch::go_type;
use watchkeeper_core::Quoted;

/// The maximum number of reported misfits.
const MISFITS: usize = 100;

/// The type errors of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfits(Vec<String>);

impl fmt::Display for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [one] => f.write_str(one),
            several => {
                f.write_str("errors:")?;
                several.iter().try_for_each(|misfit| write!(f, "\n  {misfit}"))
            }
        }
    }
}

/// Checks an applied configuration.
pub(in crate::apply) fn check(value: &Value, of: Type<'_>) -> Result<(), Misfits> {
    let mut checker = Checker::default();
    checker.value(value, of);
    if checker.found.is_empty() { Ok(()) } else { Err(Misfits(checker.found)) }
}

#[derive(Default)]
struct Checker {
    path: Vec<Element>,
    found: Vec<String>,
}

impl Checker {
    fn misfit(&mut self, why: impl fmt::Display) {
        if self.found.len() < MISFITS {
            let path: String = self.path.iter().map(ToString::to_string).collect();
            let separator = if path.is_empty() { "" } else { ": " };
            self.found.push(format!("{path}{separator}{why}"));
        }
    }

    fn value(&mut self, value: &Value, of: Type<'_>) {
        if value.is_null() {
            return;
        }
        match (of.atom(Some(value)), value) {
            (Atom::Scalar(plain), value) => {
                if let Some(why) = unfit(plain, value) {
                    self.misfit(why);
                }
            }
            (Atom::List(item, listing), Value::Array(items)) => self.items(items, Type::One(item), listing),
            (Atom::Map(map), Value::Object(fields)) => {
                for (name, value) in fields {
                    self.path.push(Element::field(name));
                    match map.field(name) {
                        Some(below) => self.value(value, below),
                        None => self.misfit("field not declared in schema"),
                    }
                    self.path.pop();
                }
            }
            (Atom::List(..), value) => self.misfit(format_args!("expected list, got {}", shown(value))),
            (Atom::Map(_), value) => self.misfit(format_args!("expected map, got {}", shown(value))),
        }
    }

    fn items(&mut self, items: &[Value], of: Type<'_>, listing: Listing<'_>) {
        let mut seen = BTreeSet::new();
        for (place, value) in items.iter().enumerate() {
            let element = match listing {
                Listing::Atomic => Element::Index(i64::try_from(place).unwrap_or(i64::MAX)),
                listing => match listing.element(value) {
                    Ok(element) => element,
                    Err(why) => return self.misfit(format_args!("element {place}: {why}")),
                },
            };
            if !seen.insert(element.clone()) {
                self.misfit(format_args!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            self.value(value, of);
            self.path.pop();
        }
    }
}

fn unfit(plain: Plain, value: &Value) -> Option<String> {
    let is_plain = !value.is_array() && !value.is_object();
    let fits = match plain {
        Plain::Numeric => value.is_number(),
        Plain::Text => value.is_string(),
        Plain::Boolean => value.is_boolean(),
        Plain::Untyped => is_plain,
    };
    if fits {
        return None;
    }
    Some(match plain {
        Plain::Numeric => format!("expected numeric (int or float), got {}", go_type(value)),
        Plain::Text => format!("expected string, got &{}", go_value(value)),
        Plain::Boolean => format!("expected boolean, got &{}", braced(value)),
        Plain::Untyped => format!("expected any scalar, got &{}", braced(value)),
    })
}

/// Formats a value as Go prints an interface: in braces.
fn braced(value: &Value) -> String {
    format!("{{{}}}", crate::patch::go_text(value))
}

/// Formats a value in Go syntax.
fn go_value(value: &Value) -> String {
    let inner = match value {
        Value::String(text) => Quoted(text).to_string(),
        Value::Array(_) | Value::Object(_) => format!("{}{{...}}", go_type(value)),
        plain => plain.to_string(),
    };
    format!("value.valueUnstructured{{Value:{inner}}}")
}

fn shown(value: &Value) -> String {
    format!("&{}", braced(value))
}
