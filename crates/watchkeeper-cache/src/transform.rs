//! Transforms: functions that change objects before they are stored; client-go's `SetTransform`.
//!
//! Input:  every object that a [reflector](crate::Reflector::transform) receives: from lists, initial events and watches,
//!         including the final state of a deleted object.
//! Output: the reflector's sink. Readers and handlers see only transformed objects.
//!
//! Invariants:
//! - `transform.T1`: an object is transformed once each time it is received.
//! - `transform.T2`: a transform cannot change the key, UID or resource version; trying to is an error.
//! - `transform.T3`: if a transform fails or panics, the received state is ignored and the store keeps the previous one.
//!   A deletion still takes effect, and handlers receive the last known state.
//!
//! To drop fields, prefer a [REST source](https://docs.rs/watchkeeper-client) with
//! [`ReadOptions`](watchkeeper_wire::ReadOptions), which skip them while the object is received. [`cut`] is for other sources.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_core::{BoxError, Encoded, Encoding, Object};
use watchkeeper_wire::protobuf::{Cut, UnknownPath};
use watchkeeper_wire::{Kind, Paths, decode, json, schema};

use crate::handler::message;

/// Returns a transform that decodes objects as `K`, changes them, and stores them as JSON. Fields that `K` does not have
/// are lost.
///
/// The label and owner indexes still use the server's metadata.
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
/// let secrets = Informer::builder(kind, source).configure(|reflector| reflector.transform(lengths)).build();
/// # }
/// ```
pub fn view<K: DeserializeOwned + Serialize>(
    kind: Kind,
    mut change: impl FnMut(&mut K) -> Result<(), BoxError> + Send + 'static,
) -> impl FnMut(&mut Object) -> Result<(), BoxError> + Send + 'static {
    let types: Paths =
        ["apiVersion", "kind"].iter().map(|name| name.parse().expect("a valid field path")).collect();
    move |object| {
        let mut view: K = decode(&object.encoded, &kind)?;
        change(&mut view)?;
        object.encoded = Encoded::json(json::cut(&serde_json::to_vec(&view)?, &types)?);
        Ok(())
    }
}

/// Returns a transform that removes fields from objects of a kind, in either encoding.
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
/// If the kind is built in and does not have one of the fields.
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
            (Encoding::Protobuf, None) => {
                return Err("unexpected protobuf body: the kind has no schema".into());
            }
        };
        Ok(())
    })
}

/// Applies transforms in order (`transform.T2`, `transform.T3`).
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
            Err(panic) => return Err(format!("transform panicked: {}", message(&*panic)).into()),
        }
    }
    let after = (object.metadata.key(), object.metadata.uid(), object.metadata.resource_version());
    if (&before.0, &*before.1, &before.2) == after {
        Ok(())
    } else {
        Err("transform changed the key, UID or resource version".into())
    }
}
