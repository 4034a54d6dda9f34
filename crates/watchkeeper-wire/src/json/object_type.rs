//! The type of a JSON object.

use super::Reader;
use crate::{Limits, Malformed, Problem};

/// Reads the `apiVersion` and `kind` of an object, at any position.
///
/// ```
/// use watchkeeper_wire::json;
///
/// let object = br#"{"metadata":{},"kind":"Deployment","apiVersion":"apps/v1"}"#;
/// assert_eq!(json::read_type(object)?, ("apps/v1".to_owned(), "Deployment".to_owned()));
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
///
/// # Errors
/// If the input is not a JSON object, or lacks one of the two.
pub fn read_type(object: &[u8]) -> Result<(String, String), Malformed> {
    let mut reader = Reader::new(object, Limits::DEFAULT);
    let (mut api_version, mut kind) = (None, None);
    reader.begin_object()?;
    while let Some(key) = reader.next_key()? {
        match &*key {
            "apiVersion" => api_version = Some(reader.string()?.into_owned()),
            "kind" => kind = Some(reader.string()?.into_owned()),
            _ => reader.skip()?,
        }
    }
    reader.end()?;
    let api_version =
        api_version.ok_or_else(|| reader.error(Problem::Expected("apiVersion in the object")))?;
    let kind = kind.ok_or_else(|| reader.error(Problem::Expected("kind in the object")))?;
    Ok((api_version, kind))
}
