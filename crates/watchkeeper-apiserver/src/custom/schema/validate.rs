//! Validation of a value against a schema, with kube-apiserver's messages.
//!
//! Invariants:
//! - `schema.V1`: on an update, a value that breaks a rule is accepted if it is unchanged.
//!
//! kube-apiserver iterates over maps in random order. Here faults are in the order of field names.

use serde_json::{Map, Number, Value};
use watchkeeper_core::{Quoted, StatusCause};

use super::list;
use super::node::{Additional, Node, Width};
use super::number::{self, Held, is_whole};
use super::old::Old;
use super::outcome::{Breach, Outcome};
use crate::validate::field::place;

/// Returns what is wrong with a value; `root` is its path in the object, `None` if it is the object.
pub(super) fn validate(
    node: &Node,
    root: Option<&str>,
    value: &Value,
    old: Option<&Value>,
) -> Vec<StatusCause> {
    let old = old.map(|value| Old { value, node });
    let outcome = ratcheted(node, "", value, old);
    outcome.breaches.into_iter().map(|breach| breach.into_cause(root)).collect()
}

fn ratcheted(node: &Node, name: &str, value: &Value, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = check(node, name, value, old);
    if !outcome.is_valid() && old.is_some_and(|old| old.is_same(value)) {
        outcome.breaches.clear(); // schema.V1
    }
    outcome
}

fn check(node: &Node, name: &str, value: &Value, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    if value.is_null() {
        outcome.merge(of_type(node, name, value));
        outcome.merge(of_choices(node, name, value));
        return outcome;
    }
    let mut add = |part: Outcome| {
        outcome.merge(part);
        outcome.matches += 1;
    };
    if !node.kinds().is_empty() || node.format.is_some() || node.width.is_some() {
        add(of_type(node, name, value));
    }
    add(junctors(node, name, value, old));
    if let Value::String(text) = value {
        add(text_bounds(node, name, text));
        if let Some(format) = &node.format {
            let mut part = Outcome::default();
            if !format.fits(text) {
                part.add(Breach::of_type(name, format.name(), text));
            }
            add(part);
        }
    }
    if let Value::Number(number) = value {
        add(number::check(node, name, number));
    }
    if let Value::Array(items) = value {
        add(of_items(node, name, value, items, old));
    }
    add(of_choices(node, name, value));
    if let Value::Object(fields) = value {
        add(of_fields(node, name, fields, old));
    }
    outcome.matches += 1;
    outcome
}

/// Returns the type of a value, and Go's name of its format.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) => match Held::of(number) {
            Held::Int(_) => ("integer", "int64"),
            Held::Float(_) => ("number", "float64"),
        },
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn of_type(node: &Node, name: &str, value: &Value) -> Outcome {
    let kinds = node.kinds();
    let ok = || Outcome { matches: 1, ..Outcome::default() };
    let refuse = |wanted: &str, found: &str| {
        let mut outcome = Outcome::default();
        outcome.add(Breach::of_type(name, wanted, found));
        outcome
    };
    if value.is_null() {
        return if kinds.is_empty() || node.is_nullable || kinds.contains(&"null") {
            ok()
        } else {
            refuse(&kinds.join(","), "null")
        };
    }
    let (kind, format) = type_of(value);
    let fits_number = match value {
        Value::Number(number) => match Held::of(number) {
            Held::Int(_) => kinds.contains(&"number"),
            Held::Float(number) => kinds.contains(&"integer") && is_whole(number),
        },
        _ => false,
    };
    let fits = kinds.contains(&kind) || fits_number;
    let wanted_format = node.format.as_ref().map(|format| format.name());
    // kube-apiserver checks the format first; strings and lists have any format.
    if let Some(wanted) = wanted_format {
        let is_taken = matches!(value, Value::String(_) | Value::Array(_));
        if !is_taken && !fits {
            return refuse(wanted, format);
        }
        if is_taken && !kinds.contains(&"number") && !kinds.contains(&"integer") {
            return ok();
        }
    }
    if let (Some(width), false, false) =
        (node.width, fits, matches!(value, Value::String(_) | Value::Array(_)))
    {
        let wanted = match width {
            Width::Int32 => "int32",
            Width::Int64 => "int64",
            Width::Float => "float",
            Width::Double => "double",
        };
        if wanted != format {
            return refuse(wanted, format);
        }
    }
    if fits { ok() } else { refuse(&kinds.join(","), kind) }
}

fn of_choices(node: &Node, name: &str, value: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    if !node.choices.is_empty() && !node.choices.iter().any(|choice| is_choice(value, choice)) {
        outcome.add(Breach::not_supported(name, value, &node.choices));
    }
    outcome
}

/// Returns whether a value equals a choice, or does after Go's conversion to the same type.
fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(choice)) => match (Held::of(value), Held::of(choice)) {
            #[expect(clippy::cast_precision_loss, reason = "as Go converts it")]
            (Held::Int(value), Held::Float(choice)) => value as f64 == choice,
            #[expect(clippy::cast_possible_truncation, reason = "as Go converts it")]
            (Held::Float(value), Held::Int(choice)) => value as i64 == choice,
            (value, choice) => value == choice,
        },
        (Value::Number(value), Value::String(choice)) => is_character(value, choice),
        (value, choice) => value == choice,
    }
}

/// Go converts a number to a string by taking it as a code point.
fn is_character(number: &Number, text: &str) -> bool {
    let Held::Int(number) = Held::of(number) else { return false };
    let character =
        u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
    let mut characters = text.chars();
    characters.next() == Some(character) && characters.next().is_none()
}

fn text_bounds(node: &Node, name: &str, text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let invalid = |message: String| Breach::invalid(name, &Value::from(text), message);
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        outcome.add(Breach::too_long(name, most));
    } else if let Some(least) = node.min_length.filter(|least| length < *least) {
        outcome.add(invalid(format!("{name} in body should be at least {least} chars long")));
    } else if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.is_in(text)) {
        outcome.add(invalid(format!("{name} in body should match '{}'", pattern.text())));
    }
    outcome
}

fn of_items(node: &Node, name: &str, list: &Value, items: &[Value], old: Option<Old<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(child) = &node.items {
        for (at, item) in items.iter().enumerate() {
            let old = old.and_then(|old| old.item(item));
            outcome.merge(ratcheted(child, &place(name, format_args!("[{at}]")), item, old));
        }
    }
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_items.filter(|least| count < *least) {
        let message = format!("{name} in body should have at least {least} items");
        outcome.add(Breach::invalid(name, &Value::from(count), message));
    }
    if let Some(most) = node.max_items.filter(|most| count > *most) {
        outcome.add(Breach::too_many(name, "items", items.len(), most));
    }
    if node.is_unique && list.as_array().is_some_and(|items| has_twice(items)) {
        let message = format!("{name} in body shouldn't contain duplicates");
        outcome.add(Breach::invalid(name, &Value::from(""), message));
    }
    outcome.matches += 1;
    outcome
}

fn has_twice(items: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::new();
    !items.iter().all(|item| seen.insert(list::sorted(item).to_string()))
}

fn of_fields(node: &Node, name: &str, fields: &Map<String, Value>, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_properties.filter(|least| count < *least) {
        let message = format!("{name} in body should have at least {least} properties");
        outcome.add(Breach::invalid(name, &Value::from(count), message));
    }
    if let Some(most) = node.max_properties.filter(|most| count > *most) {
        outcome.add(Breach::too_many(name, "properties", fields.len(), most));
    }
    let unnamed = fields.iter().filter(|(key, _)| !node.properties.contains_key(*key));
    match &node.additional {
        Some(Additional::None) => {
            for (key, _) in unnamed {
                let message = format!("{name}.{key} in body is a forbidden property");
                outcome.add(Breach::invalid(name, &Value::from(key.as_str()), message));
            }
        }
        Some(Additional::Of(child)) => {
            for (key, value) in unnamed {
                let old = old.and_then(|old| old.key(key));
                outcome.merge(ratcheted(child, &place(name, format_args!(".{key}")), value, old));
            }
        }
        Some(Additional::Any) | None => {}
    }
    for (key, child) in &node.properties {
        let Some(value) = fields.get(key) else { continue };
        let place = if name.is_empty() { key.clone() } else { place(name, format_args!(".{key}")) };
        let is_type = name.is_empty() && matches!(key.as_str(), "apiVersion" | "kind");
        let old = old.filter(|_| !is_type).and_then(|old| old.key(key));
        outcome.merge(ratcheted(child, &place, value, old));
    }
    for key in node.required.iter().filter(|key| !fields.contains_key(*key)) {
        outcome.add(Breach::required(format!("{name}.{key}")));
    }
    outcome
}

fn junctors(node: &Node, name: &str, value: &Value, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    let quoted = Quoted(name);
    if !node.any_of.is_empty() {
        let (valid, best) = best_of(&node.any_of, true, name, value, old);
        if valid == 0 {
            outcome.add(Breach::nowhere(format!("{quoted} must validate at least one schema (anyOf)")));
        }
        outcome.merge(best);
    }
    if !node.one_of.is_empty() {
        let (valid, best) = best_of(&node.one_of, false, name, value, old);
        if valid != 1 {
            let why = match valid {
                0 => "Found none valid".to_owned(),
                valid => format!("Found {valid} valid alternatives"),
            };
            let message = format!("{quoted} must validate one and only one schema (oneOf). {why}");
            outcome.add(Breach::nowhere(message));
        }
        if valid < 2 {
            outcome.merge(best);
        }
    }
    if !node.all_of.is_empty() {
        let mut valid = 0;
        for node in &node.all_of {
            let part = check(node, name, value, old);
            valid += usize::from(part.is_valid());
            outcome.merge(part);
        }
        if valid != node.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let message = format!("{quoted} must validate all the schemas (allOf){none}");
            outcome.add(Breach::nowhere(message));
        }
    }
    if let Some(not) = &node.not
        && check(not, name, value, old).is_valid()
    {
        outcome.add(Breach::nowhere(format!("{quoted} must not validate the schema (not)")));
    }
    outcome.matches += 1;
    outcome
}

/// Returns how many alternatives a value matches, and the outcome of the first match, or else of the closest one.
fn best_of(
    nodes: &[Node],
    is_one_enough: bool,
    name: &str,
    value: &Value,
    old: Option<Old<'_>>,
) -> (usize, Outcome) {
    let (mut valid, mut best): (usize, Option<Outcome>) = (0, None);
    for node in nodes {
        let part = check(node, name, value, old);
        if part.is_valid() {
            valid += 1;
            if valid == 1 {
                best = Some(part);
            }
            if is_one_enough {
                break;
            }
        } else if valid == 0 && best.as_ref().is_none_or(|best| part.matches > best.matches) {
            best = Some(part);
        }
    }
    (valid, best.unwrap_or_default())
}
