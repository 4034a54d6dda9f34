//! Strategic merge patch: a merge patch whose schema says which lists are merged, and by which key.
//!
//! | in a patch | effect |
//! |---|---|
//! | `field: null` | deletes the field |
//! | `{"$patch": "replace", ...}` | the rest of this object replaces the object |
//! | `{"$patch": "delete"}` | empties the object; in a merged list, with a merge key, deletes the element |
//! | `[..., {"$patch": "replace"}]` | the other elements replace the merged list |
//! | `$retainKeys: [...]` | deletes the fields of the object that are not listed |
//! | `$setElementOrder/field: [...]` | puts the elements of the merged list in this order |
//! | `$deleteFromPrimitiveList/field: [...]` | deletes these values from the list |
//!
//! Directives of an object are applied in this order: `$patch`, `$retainKeys`, `$setElementOrder`,
//! `$deleteFromPrimitiveList`, the fields. If there is nothing to merge with, the patch becomes the value,
//! without its nulls and without objects with a `$patch`.

mod list;
mod lookup;
mod order;
mod scalar;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::mem;

use serde_json::{Map, Value};
use watchkeeper_wire::schema::{Message, Schema};

use self::list::Lists;
use self::lookup::{Strategy, Type};
use self::order::Order;
use self::scalar::{Kind, Scalar};
use super::{PatchError, check_depth, gofmt};

/// Applies a strategic merge patch to an object of the kind that `message` describes.
///
/// ```
/// # use watchkeeper_apiserver::patch;
/// use serde_json::json;
/// use watchkeeper_wire::schema;
///
/// let document = json!({"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}});
/// let body = json!({"spec": {"containers": [{"name": "a", "image": "x:2"}, {"name": "b", "$patch": "delete"}]}});
/// let pod = schema::builtin().message("", "v1", "Pod").expect("a pod is built in");
///
/// let patched = patch::strategic(document, body, schema::builtin(), pod)?;
/// assert_eq!(patched, json!({"spec": {"containers": [{"name": "a", "image": "x:2"}]}}));
/// # Ok::<(), patch::PatchError>(())
/// ```
pub fn apply(document: Value, patch: Value, schema: &Schema, message: &Message) -> Result<Value, PatchError> {
    check_depth(&document)?;
    check_depth(&patch)?;
    let object = |value| match value {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        other => Err(PatchError::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            gofmt::json_noun(&other)
        ))),
    };
    let merged = merge_object(object(document)?, object(patch)?, Type::root(schema, message))?;
    Ok(Value::Object(merged))
}

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;

/// Merges an object of type `of`.
fn merge_object(mut original: Object, mut patch: Object, of: Type<'_>) -> Result<Object, PatchError> {
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(PATCH);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Object::new()),
        Some(other) => return Err(unknown_directive(other, &patch)),
    }
    retain_keys(&mut original, &mut patch)?;
    let ordered: Vec<String> =
        patch.keys().filter(|name| name.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in ordered {
        let order = patch.remove(&directive).unwrap_or_default();
        merge_in_order(&mut original, &mut patch, &directive, order, of)?;
    }
    let (deletions, fields): (Vec<_>, Vec<_>) =
        patch.into_iter().partition(|(name, _)| name.starts_with(DELETE_FROM_PRIMITIVE_LIST)); // patch.P3: in this order
    for (directive, values) in deletions {
        let refused = "invalid patch format of primitive list";
        let name = match field_of(&directive, DELETE_FROM_PRIMITIVE_LIST, refused)? {
            "" => directive,
            name => name.to_owned(),
        };
        merge_field(&mut original, name, values, of, Lists::Deletion)?;
    }
    for (name, value) in fields {
        merge_field(&mut original, name, value, of, Lists::Values)?;
    }
    Ok(original)
}

/// Merges one field of an object.
fn merge_field(
    original: &mut Object,
    name: String,
    patch: Value,
    of: Type<'_>,
    lists: Lists,
) -> Result<(), PatchError> {
    if patch.is_null() {
        original.remove(&name);
        return Ok(());
    }
    let merged = match (original.get_mut(&name), patch) {
        (Some(Value::Object(current)), Value::Object(patch)) => {
            let (field, rule) = of.object(&name)?;
            let replaced = rule.strategy == Strategy::Replace;
            Some(Value::Object(if replaced {
                patch
            } else {
                merge_object(mem::take(current), patch, field)?
            }))
        }
        (Some(Value::Array(current)), Value::Array(patch)) => {
            let (element, rule) = of.list(&name)?;
            Some(Value::Array(list::merge(mem::take(current), patch, element, rule, lists)?.items))
        }
        (Some(current), patch) if Kind::of(current) == Kind::of(&patch) => Some(patch),
        (_, _) if lists == Lists::Deletion => return Ok(()), // nothing to delete from
        (_, mut patch) => {
            drop_nulls(&mut patch);
            without_directives(patch)
        }
    };
    match merged {
        Some(value) => original.insert(name, value),
        None => original.remove(&name),
    };
    Ok(())
}

/// `$retainKeys`: clears the fields that it does not name. It must name all fields that the patch sets.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let Some(names) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let Value::Array(names) = names else {
        return Err(malformed());
    };
    let retained = names.iter().map(Scalar::hashed).collect::<Result<HashSet<_>, _>>()?;
    let retains = |name: &str| retained.contains(&Scalar::text(name));
    let parallel =
        |name: &str| name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !parallel(name) && !retains(name)) {
        return Err(malformed());
    }
    original.retain(|name, _| retains(name));
    Ok(())
}

/// `$setElementOrder/field`: merges the field and orders its elements. Removes the field from the patch.
fn merge_in_order(
    original: &mut Object,
    patch: &mut Object,
    directive: &str,
    order: Value,
    of: Type<'_>,
) -> Result<(), PatchError> {
    let order = expect_list(order)?;
    let name = field_of(directive, SET_ELEMENT_ORDER, "invalid patch format of setElementOrder list")?;
    let of_original = original.get_mut(name).map(mem::take).map(expect_list).transpose()?;
    let of_patch = patch.remove(name).map(expect_list).transpose()?;
    let (element, rule) = of.list(name)?;
    order::check(of_patch.as_deref().unwrap_or_default(), &order, rule.merge_key)?;

    let (listed, patched) =
        (of_original.as_deref().unwrap_or_default(), of_patch.as_deref().unwrap_or_default());
    let kind = order::element_kind(listed, patched); // reported after other faults
    let mut live = Order::of(listed, rule.merge_key, *kind.as_ref().unwrap_or(&Kind::Null));
    let merged = match (of_original, of_patch) {
        (None, None) => return Ok(()),
        (Some(items), None) => items,
        (None, Some(items)) => items.into_iter().filter_map(without_directives).collect(),
        (Some(items), Some(patch)) => {
            let merged = list::merge(items, patch, element, rule, Lists::Values)?;
            if let Some(order) = merged.live {
                live = order;
            }
            merged.items
        }
    };
    let (named, others) = order::partition(merged, &order, rule.merge_key)?;
    let kind = kind?;
    let wanted = Order::of(&order, rule.merge_key, kind);
    let ordered = order::interleave(named, others, &wanted, &live, rule.merge_key, kind)?;
    original.insert(name.to_owned(), Value::Array(ordered));
    Ok(())
}

/// Returns the field of a directive: what follows its prefix and a slash.
fn field_of<'a>(directive: &'a str, prefix: &str, refused: &str) -> Result<&'a str, PatchError> {
    let name = directive.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
    name.ok_or_else(|| PatchError::BadRequest(refused.to_owned()))
}

/// Drops null fields at any depth. Null elements stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Returns the value without objects with a `$patch`; `None` if it is one.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => Some(Value::Object(
            fields.into_iter().filter_map(|(name, field)| Some((name, without_directives(field)?))).collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

fn expect_list(value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(unexpected_type("[]interface {}", &other)),
    }
}

fn expect_object(value: &Value) -> Result<&Object, PatchError> {
    value.as_object().ok_or_else(|| unexpected_type("map[string]interface {}", value))
}

/// Returns the value of an element's merge key.
fn merge_key_of<'a>(element: &'a Object, merge_key: &str) -> Result<&'a Value, PatchError> {
    element.get(merge_key).ok_or_else(|| {
        let element = gofmt::v_object(element);
        PatchError::Internal(format!("map: {element} does not contain declared merge key: {merge_key}"))
    })
}

fn unexpected_type(expected: &str, found: &Value) -> PatchError {
    PatchError::Internal(format!("expected a {expected}, but received a {}", gofmt::type_name(found)))
}

fn unknown_directive(directive: &Value, object: &Object) -> PatchError {
    let (directive, object) = (gofmt::s(directive), gofmt::v_object(object));
    PatchError::Internal(format!("unknown patch type: {directive} in map: {object}"))
}
