//! The text format of the schema tables: one line per kind, message or field.
//!
//! ```text
//! kind <group or -> <version> <Kind> <message>
//! message <name>
//! <number> <JSON name, or . if inlined> <shape> <form> <omission> [<patch strategy> [<merge key>]]
//! ```
//!
//! It is text so that an update of Kubernetes is a readable diff. It is parsed once, at first use, into
//! rows that borrow from it.

use std::collections::HashMap;

use watchkeeper_core::table::{self, TableError};

use super::{Field, Form, Message, MessageId, Omit, Patch, PatchStrategy, Schema, Shape, Visible};
use crate::protobuf::{Tag, Wire};

pub(super) fn read(text: &'static str) -> Result<Schema, TableError> {
    let mut ids = HashMap::new();
    for row in table::rows(text) {
        let Some(name) = row.text.strip_prefix("message ") else { continue };
        let id = MessageId(u16::try_from(ids.len()).map_err(|_| row.error("too many messages"))?);
        ids.insert(name, id);
    }

    let mut kinds = HashMap::new();
    let mut messages: Vec<(&'static str, Vec<Field>)> = Vec::with_capacity(ids.len());
    for row in table::rows(text) {
        let words = row.words();
        match words[..] {
            ["kind", group, version, kind, message] => {
                let id = ids.get(message).ok_or_else(|| row.error(format!("no message {message}")))?;
                kinds.insert((table::value(group), version, kind), *id);
            }
            ["message", name] => messages.push((name, Vec::new())),
            [_, _, _, _, _, ..] => {
                let field = field(&words, &ids).map_err(|problem| row.error(problem))?;
                let (_, fields) = messages.last_mut().ok_or_else(|| row.error("no message yet"))?;
                if fields.last().is_some_and(|last| last.number >= field.number) {
                    return Err(row.error("field numbers must ascend (schema.T1)"));
                }
                fields.push(field);
            }
            _ => return Err(row.invalid()),
        }
    }
    link(messages, kinds).map_err(|problem| TableError { line: 1, problem })
}

fn field(words: &[&'static str], ids: &HashMap<&'static str, MessageId>) -> Result<Field, String> {
    let number = words[0].parse().map_err(|_| format!("bad field number {:?}", words[0]))?;
    let shape = match words[2] {
        "one" => Shape::One,
        "ptr" => Shape::Optional,
        "list" => Shape::List,
        "map" => Shape::Map,
        "inline" => Shape::Inline,
        other => return Err(format!("unknown shape {other:?}")),
    };
    let omit = match words[4] {
        "-" => Omit::Never,
        "e" => Omit::Empty,
        "ez" | "z" => Omit::EmptyOrZero,
        other => return Err(format!("unknown omission {other:?}")),
    };
    let strategy = match words.get(5) {
        None => None,
        Some(&"merge") => Some(PatchStrategy::Merge),
        Some(&"replace") => Some(PatchStrategy::Replace),
        Some(&"retainKeys") => Some(PatchStrategy::RetainKeys),
        Some(&"merge,retainKeys") => Some(PatchStrategy::MergeRetainKeys),
        Some(other) => return Err(format!("unknown patch strategy {other:?}")),
    };
    let patch = strategy.map(|strategy| Patch { strategy, merge_key: words.get(6).copied() });
    let name = if words[1] == "." { "" } else { words[1] };
    let form = form(words[3], ids)?;
    let hides_zero = shape == Shape::One
        && match form {
            Form::Bool | Form::Int32 | Form::Int64 | Form::String | Form::Bytes | Form::Strings => {
                omit != Omit::Never
            }
            Form::Time | Form::MicroTime => omit == Omit::EmptyOrZero,
            Form::Double if omit != Omit::Never => {
                return Err("omitting a zero double is not supported".to_owned());
            }
            _ if omit == Omit::EmptyOrZero => {
                return Err(format!("omitting a zero {} is not supported", words[3]));
            }
            _ => false,
        };
    let wire = match shape {
        Shape::Map => Wire::Bytes, // an entry of a map is a message
        _ => form.wire(),
    };
    let tag = Tag { field: number, wire };
    Ok(Field { name, number, tag, key: tag.key(), shape, form, omit, patch, slot: 0, hides_zero })
}

fn form(word: &str, ids: &HashMap<&'static str, MessageId>) -> Result<Form, String> {
    let message = |name: &str| ids.get(name).copied().ok_or_else(|| format!("no message {name:?}"));
    Ok(match word {
        "bool" => Form::Bool,
        "i32" => Form::Int32,
        "i64" => Form::Int64,
        "f64" => Form::Double,
        "string" => Form::String,
        "bytes" => Form::Bytes,
        "@time" => Form::Time,
        "@microtime" => Form::MicroTime,
        "@quantity" => Form::Quantity,
        "@intorstring" => Form::IntOrString,
        "@raw" => Form::RawExtension,
        "@fieldsv1" => Form::FieldsV1,
        "@json" => Form::Json,
        "@strings" => Form::Strings,
        _ => match word.split_once(':') {
            Some(("@schemaorbool", name)) => Form::SchemaOrBool(message(name)?),
            Some(("@schemaorarray", name)) => Form::SchemaOrArray(message(name)?),
            Some(("@schemaorstringarray", name)) => Form::SchemaOrStrings(message(name)?),
            _ => Form::Message(message(word)?),
        },
    })
}

/// Assigns slots to fields, and computes the JSON view of each message.
fn link(
    rows: Vec<(&'static str, Vec<Field>)>,
    kinds: HashMap<(&'static str, &'static str, &'static str), MessageId>,
) -> Result<Schema, String> {
    let mut slots: Vec<Option<u8>> = vec![None; rows.len()];
    for id in 0..rows.len() {
        count_slots(id, &rows, &mut slots, 0)?;
    }
    let count = |id: MessageId| slots[usize::from(id.0)].expect("every message was counted");
    let mut messages: Vec<Message> = Vec::with_capacity(rows.len());
    for (name, mut fields) in rows {
        let mut next = 0;
        for field in &mut fields {
            field.slot = next;
            next += match (field.shape, field.form) {
                (Shape::Inline, Form::Message(inner)) => count(inner),
                _ => 1,
            };
        }
        messages.push(Message {
            name,
            fields: fields.into(),
            visible: Box::default(),
            by_slot: Box::default(),
            always: 0,
        });
    }
    for id in 0..messages.len() {
        let mut visible = Vec::new();
        collect(MessageId(u16::try_from(id).expect("ids are 16 bits")), 0, &messages, &mut visible)?;
        visible.sort_by_key(|field| field.name);
        if let Some(pair) = visible.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(format!("{} has {} twice", messages[id].name, pair[0].name));
        }
        let shown = |field: &Visible| {
            let field = &messages[usize::from(field.owner.0)].fields[usize::from(field.position)];
            let a_struct = field.shape == Shape::One
                && !matches!(
                    field.form,
                    Form::Bool
                        | Form::Int32
                        | Form::Int64
                        | Form::Double
                        | Form::String
                        | Form::Bytes
                        | Form::Strings
                );
            field.omit == Omit::Never || (a_struct && field.omit == Omit::Empty)
        };
        let always = visible.iter().filter(|field| shown(field)).fold(0, |set, field| set | 1 << field.slot);
        messages[id].always = always;
        messages[id].visible = visible.clone().into();
        visible.sort_by_key(|field| field.slot);
        messages[id].by_slot = visible.into();
    }
    Ok(Schema { messages, kinds })
}

fn count_slots(
    id: usize,
    rows: &[(&'static str, Vec<Field>)],
    slots: &mut [Option<u8>],
    depth: usize,
) -> Result<u8, String> {
    if let Some(count) = slots[id] {
        return Ok(count);
    }
    let name = rows[id].0;
    if depth > 8 {
        return Err(format!("{name} inlines itself (schema.T3)"));
    }
    let mut count = 0;
    for field in &rows[id].1 {
        count += match (field.shape, field.form) {
            (Shape::Inline, Form::Message(inner)) => {
                count_slots(usize::from(inner.0), rows, slots, depth + 1)?
            }
            (Shape::Inline, _) => return Err(format!("{name} inlines a field that is not a message")),
            _ => 1,
        };
        if count > 64 {
            return Err(format!("{name} has more than 64 fields (schema.T2)"));
        }
    }
    slots[id] = Some(count);
    Ok(count)
}

fn collect(id: MessageId, base: u8, messages: &[Message], visible: &mut Vec<Visible>) -> Result<(), String> {
    for (position, field) in messages[usize::from(id.0)].fields.iter().enumerate() {
        let slot = base + field.slot;
        match (field.shape, field.form) {
            (Shape::Inline, Form::Message(inner)) => collect(inner, slot, messages, visible)?,
            _ => {
                let position = u8::try_from(position).map_err(|_| "more than 256 fields".to_owned())?;
                visible.push(Visible { name: field.name, slot, owner: id, position });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &'static str) -> String {
        read(text).expect_err("the table is wrong").to_string()
    }

    #[test]
    fn invalid_tables_are_rejected_with_a_line_number() {
        assert_eq!(problem("kind - v1 A m.A"), "line 1: no message m.A");
        assert_eq!(problem("1 a one string -"), "line 1: no message yet");
        assert_eq!(problem("message m\n1 a one string"), "line 2: invalid row \"1 a one string\"");
        assert_eq!(problem("message m\n1 a two string -"), "line 2: unknown shape \"two\"");
        assert_eq!(problem("message m\n1 a one @new -"), "line 2: no message \"@new\"");
        assert_eq!(
            problem("message m\n2 a one string -\n1 b one string -"),
            "line 3: field numbers must ascend (schema.T1)"
        );
    }

    #[test]
    fn recursive_inlining_is_rejected() {
        assert!(problem("message m\n1 . inline m -").contains("inlines itself"));
    }

    #[test]
    fn duplicate_names_are_rejected() {
        let text = "message m\n1 a one string -\n2 . inline n -\nmessage n\n1 a one string -";
        assert!(problem(text).contains("has a twice"));
    }
}
