//! Discovery: documents that describe the served resources.
//!
//! Input: the [`registry`](crate::registry).
//! Output: clients that do not know the resources of the server yet, such as kubectl before its first request.
//!
//! | path | document |
//! |---|---|
//! | `/api`, `/apis` | [`aggregated()`] if the client accepts it, otherwise [`api_versions`], [`api_group_list`] |
//! | `/apis/G` | [`api_group`] |
//! | `/api/v1`, `/apis/G/V` | [`api_resource_list`] |
//! | `/openapi/v2` | [`openapi_v2()`] |
//! | `/openapi/v3` | [`openapi_index`] |
//! | `/openapi/v3/api/v1`, `/openapi/v3/apis/G/V` | [`openapi()`] |
//!
//! Invariants:
//! - `discovery.D1`: the same registry gives the same bytes, so that ETags and hashes change only with it.

mod aggregated;
mod custom_schemas;
mod legacy;
mod openapi;
mod openapi_v2;
mod schemas;

use bytes::Bytes;
use serde::Serialize;
use watchkeeper_core::Encoding;

pub use aggregated::{Aggregated, Root, aggregated};
pub use legacy::{api_group, api_group_list, api_resource_list, api_versions};
pub use openapi::{openapi, openapi_index};
pub use openapi_v2::{Swagger, openapi_v2};

/// An encoded document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The body.
    pub body: Bytes,
    /// The content type.
    pub content_type: &'static str,
    /// The ETag of the body, with its quotes. The server sends it with aggregated discovery and OpenAPI documents, and
    /// responds with a 304 if the client already has this version. Aggregated discovery also sets `Vary: Accept` and
    /// `Cache-Control: public`.
    pub etag: String,
}

const JSON: &str = Encoding::Json.media_type();

impl Document {
    fn new(content: &impl Serialize, content_type: &'static str) -> Self {
        let body = serde_json::to_vec(content).expect("strings, lists and objects can be serialized");
        Self { etag: format!("\"{}\"", digest(&body)), body: body.into(), content_type }
    }
}

/// Returns the 128-bit FNV-1a hash of some content. A cache needs protection only against accidental collisions.
fn digest(content: &[u8]) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = content.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    format!("{hash:032X}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Resource, builtin};

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(b""), "6C62272E07BB014262B821756295C58D");
        assert_eq!(digest(b"a"), "D228CB696F1A8CAF78912B704E4A8964");
    }

    #[test]
    fn an_etag_changes_only_with_the_registry() {
        let before = aggregated(builtin(), Root::Apis, Aggregated::V2);
        assert_eq!(before, aggregated(builtin(), Root::Apis, Aggregated::V2));
        let mut registry = builtin().clone();
        registry.add(Resource::new("example.com", "v1", "widgets")).unwrap();
        assert_ne!(before.etag, aggregated(&registry, Root::Apis, Aggregated::V2).etag);
        let core = |registry| aggregated(registry, Root::Api, Aggregated::V2).etag;
        assert_eq!(core(builtin()), core(&registry));
    }
}
