//! Sizes: how large an object may be in a request, while the server works on it, and in the store.
//!
//! - `size.Z1`: nothing that a request causes (YAML aliases, defaults, patches) makes an object larger than
//!   [`REQUEST_BYTES`] in memory by more than a constant factor; the limit is checked before the memory is spent.
//! - `size.Z2`: no object larger than [`STORED_BYTES`] is stored.

use std::io;

use serde_json::Value;
use watchkeeper_core::{Encoded, Status};
use watchkeeper_wire::{Kind, transcode};

use crate::http::unexplained;
use crate::registry::Resource;
use crate::store::Unversioned;

/// The largest request body, and the most that defaults may add to an object: 3 MiB, as in kube-apiserver.
pub const REQUEST_BYTES: usize = 3 << 20;

/// The largest object that is stored: 1.5 MiB, etcd's default limit. As in kube-apiserver, built-in kinds are
/// measured in protobuf and custom resources in JSON.
pub const STORED_BYTES: usize = 1536 << 10;

/// 413: an object has become larger than [`REQUEST_BYTES`].
pub(crate) fn too_large() -> Status {
    Status::request_entity_too_large(format!("limit is {REQUEST_BYTES}"))
}

/// 413 if an object is larger than [`REQUEST_BYTES`].
pub(crate) fn check_request(bytes: usize) -> Result<(), Status> {
    if bytes > REQUEST_BYTES { Err(too_large()) } else { Ok(()) }
}

/// 500 if an object is too large for the store, with etcd's message.
pub(crate) fn check_stored(resource: &Resource, object: &Unversioned) -> Result<(), Status> {
    let (before, after) = object.around_version();
    let json_bytes = before.len() + after.len();
    if json_bytes <= STORED_BYTES {
        return Ok(()); // its protobuf message is shorter
    }
    let kind = Kind::new(&resource.group, &resource.version, &resource.kind);
    let bytes = match kind.message() {
        Some(_) => transcode::to_protobuf(&Encoded::json([before, after].concat()), &kind)
            .map_err(|error| Status::internal_error(&error))?
            .len(),
        None => json_bytes,
    };
    if bytes > STORED_BYTES { Err(unexplained("etcdserver: request is too large")) } else { Ok(()) }
}

/// The number of bytes that defaults may still add to an object.
#[derive(Debug)]
pub(crate) struct Growth {
    left: u64,
}

/// Defaults would add more than [`REQUEST_BYTES`] to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("defaults would add more than {REQUEST_BYTES} bytes to the object")]
pub struct DefaultsTooLarge;

impl Default for Growth {
    fn default() -> Self {
        Self { left: REQUEST_BYTES as u64 }
    }
}

impl Growth {
    /// Copies a default, if the object may still grow by that much.
    pub(crate) fn copy(&mut self, default: &Value) -> Result<Value, DefaultsTooLarge> {
        self.left = self.left.checked_sub(json_bytes(default)).ok_or(DefaultsTooLarge)?;
        Ok(default.clone())
    }
}

/// Returns the length of a value in Go's JSON, which escapes HTML characters.
pub(crate) fn json_bytes(value: &Value) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let escaped = bytes.iter().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
            self.0 += (bytes.len() + 5 * escaped) as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => u64::MAX, // serialization cannot fail; if it did, nothing would be copied
    }
}
