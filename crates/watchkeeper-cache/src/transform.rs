//! Transforms: what is made of an object before it is stored.
//!
//! From: the [reflector](crate::Reflector::transform), which has every object transformed when it arrives: of a
//!       list, of initial events, of a watch, and the last state of one that is gone.
//! To:   its sink. Readers and handlers see nothing else.
//!
//! - T1: an object is transformed once each time that it arrives.
//! - T2: key, uid and version stay what they are: changing one of them is failing.
//! - T3: where a transform fails, or panics, its object is as if it had not come: what the store has of it stays.
//!   If it is gone it is gone, and handlers hear what was last seen of it.
//!
//! Where fields are to be left out, a [REST source](https://docs.rs/watchkeeper-client) does that for less, while
//! the object arrives: see [`ReadOptions`](watchkeeper_wire::ReadOptions). [`cut`] is for sources that have no read_options.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_core::{BoxError, Encoded, Encoding, Object};
use watchkeeper_wire::protobuf::{Cut, UnknownPath};
use watchkeeper_wire::{Kind, Paths, decode, json, schema};

use crate::handler::message;

/// A transform of objects as `K`s: decoded, changed, and kept as JSON. Fields that `K` does not have are lost.
///
/// Labels and owners by which objects are found stay those that the server has sent.
///
/// ```
/// use serde_json::Value;
/// use watchkeeper_cache::{Informer, transform};
/// use watchkeeper_wire::Kind;
///
/// # fn example(source: impl watchkeeper_core::ListWatch + 'static) {
/// let kind = Kind::new("", "v1", "Secret");
/// let lengths = transform::view(kind.clone(), |secret: &mut Value| {
///     for value in secret["data"].as_object_mut().into_iter().flat_map(|data| data.values_mut()) {
///         *value = value.as_str().map(str::len).into();
///     }
///     Ok(())
/// });
/// let secrets = Informer::configured(kind, source, |reflector| reflector.transform(lengths));
/// # }
/// ```
pub fn view<K: DeserializeOwned + Serialize>(
    kind: Kind,
    mut change: impl FnMut(&mut K) -> Result<(), BoxError> + Send + 'static,
) -> impl FnMut(&mut Object) -> Result<(), BoxError> + Send + 'static {
    let types: Paths =
        ["apiVersion", "kind"].iter().map(|name| name.parse().expect("it is a field path")).collect();
    move |object| {
        let mut view: K = decode(&object.encoded, &kind)?;
        change(&mut view)?;
        object.encoded = Encoded::json(json::cut(&serde_json::to_vec(&view)?, &types)?);
        Ok(())
    }
}

/// A transform that cuts fields out of objects of a kind, in either encoding.
///
/// ```
/// use watchkeeper_cache::transform;
/// use watchkeeper_wire::{ReadOptions, Kind};
///
/// let paths = ReadOptions::keeping(["spec.nodeName".parse()?]).cut;
/// let thin = transform::cut(&Kind::new("", "v1", "Pod"), paths)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the kind is built in and does not have such a field.
pub fn cut(
    kind: &Kind,
    paths: Paths,
) -> Result<impl FnMut(&mut Object) -> Result<(), BoxError> + Send + 'static, UnknownPath> {
    let numbers =
        kind.message().map(|message| Cut::compile(schema::builtin(), message, &paths)).transpose()?;
    Ok(move |object: &mut Object| {
        object.encoded.body = match (object.encoded.encoding, &numbers) {
            (Encoding::Json, _) => json::cut(&object.encoded.body, &paths)?,
            (Encoding::Protobuf, Some(numbers)) => numbers.copy(&object.encoded.body)?,
            (Encoding::Protobuf, None) => return Err("it is protobuf of a kind that has none".into()),
        };
        Ok(())
    })
}

/// Applies transforms one after the other (T2, T3).
pub(crate) fn apply<T>(transforms: &mut [T], object: &mut Object) -> Result<(), BoxError>
where
    T: FnMut(&mut Object) -> Result<(), BoxError>,
{
    let before = (
        object.metadata.key().clone(),
        object.metadata.uid().to_owned(),
        object.metadata.resource_version().clone(),
    );
    for transform in transforms {
        match catch_unwind(AssertUnwindSafe(|| transform(object))) {
            Ok(outcome) => outcome?,
            Err(panic) => return Err(format!("a transform has panicked: {}", message(&*panic)).into()),
        }
    }
    let after = (object.metadata.key(), object.metadata.uid(), object.metadata.resource_version());
    match (&before.0, &*before.1, &before.2) == after {
        true => Ok(()),
        false => Err("a transform has changed its key, uid or version".into()),
    }
}
