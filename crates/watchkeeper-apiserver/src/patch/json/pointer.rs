//! JSON pointers.

use serde_json::Value;

/// A position in an object or a list, which need not exist.
pub(super) struct Place<'a> {
    container: &'a mut Value,
    key: String,
}

/// Returns the position at a path, or `None` if its parent does not exist. The path is split at every slash; anything
/// before the first one is ignored.
pub(super) fn parent<'a>(document: &'a mut Value, path: &str) -> Option<Place<'a>> {
    let (_, keys) = path.split_once('/')?;
    let (parents, key) = keys.rsplit_once('/').map_or((None, keys), |(parents, key)| (Some(parents), key));
    let mut container = document;
    for key in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let key = unescape(key);
        container = match container {
            Value::Object(fields) => fields.get_mut(&key)?,
            Value::Array(items) => {
                let index = index(&key, items.len()).ok()?;
                &mut items[index]
            }
            _ => return None,
        };
    }
    match container {
        Value::Object(_) | Value::Array(_) => Some(Place { container, key: unescape(key) }),
        _ => None,
    }
}

fn unescape(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

impl<'a> Place<'a> {
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the value; `Ok(None)` if an object does not have the field.
    pub(super) fn get(self) -> Result<Option<&'a Value>, String> {
        match self.container {
            Value::Object(fields) => Ok(fields.get(&self.key)),
            Value::Array(items) => {
                let index = index(&self.key, items.len())?;
                Ok(items.get(index))
            }
            _ => Ok(None),
        }
    }

    /// Sets a field or inserts an element.
    pub(super) fn add(self, value: Value) -> Result<(), String> {
        match self.container {
            Value::Object(fields) => {
                fields.insert(self.key, value);
            }
            Value::Array(items) if self.key == "-" => items.push(value),
            Value::Array(items) => {
                let number = number(&self.key)
                    .map_err(|why| format!("value was not a proper array index: '{}': {why}", self.key))?;
                items.insert(within(number, items.len() + 1)?, value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets a field, or replaces an existing element.
    pub(super) fn set(self, value: Value) -> Result<(), String> {
        match self.container {
            Value::Object(fields) => {
                fields.insert(self.key, value);
            }
            Value::Array(items) => {
                let index = index(&self.key, items.len())?;
                items[index] = value;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn remove(self) -> Result<Value, String> {
        match self.container {
            Value::Object(fields) => {
                let absent = || format!("Unable to remove nonexistent key: {}: missing value", self.key);
                fields.remove(&self.key).ok_or_else(absent)
            }
            Value::Array(items) => {
                let index = index(&self.key, items.len())?;
                Ok(items.remove(index))
            }
            _ => Ok(Value::Null),
        }
    }
}

/// Parses the index of an existing element.
fn index(key: &str, length: usize) -> Result<usize, String> {
    within(number(key)?, length)
}

/// Returns an index below `length`; a negative number counts from the end.
fn within(number: i64, length: usize) -> Result<usize, String> {
    let invalid = || format!("Unable to access invalid index: {number}: invalid index referenced");
    let signed = i64::try_from(length).map_err(|_| invalid())?;
    let index = if number < 0 { number.checked_add(signed) } else { Some(number) };
    index.and_then(|index| usize::try_from(index).ok()).filter(|index| *index < length).ok_or_else(invalid)
}

/// Parses an integer as Go does.
fn number(key: &str) -> Result<i64, String> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    key.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {}: {why}", super::super::gofmt::q(key))
    })
}
