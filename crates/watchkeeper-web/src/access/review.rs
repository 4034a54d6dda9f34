//! Reviews: TokenReviews and SubjectAccessReviews, with a cache.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use watchkeeper_client::{Secret, Transport};
use watchkeeper_core::ErrorChain;

use super::review_cache::{Digest, ReviewCache};
use super::{AccessError, ResourceAttributes, User};

/// Cache time of a valid token (`access.A2`).
pub const VALID_TOKEN_TTL: Duration = Duration::from_secs(60);
/// Cache time of an invalid token (`access.A2`).
pub const INVALID_TOKEN_TTL: Duration = Duration::from_secs(10);
/// Cache time of an authorization decision (`access.A2`).
pub const DECISION_TTL: Duration = Duration::from_secs(10);
/// Maximum number of cached results of each kind (`access.A3`).
pub const MAX_CACHED_REVIEWS: usize = 10_000;
/// Maximum number of concurrent reviews (`access.A3`).
pub const MAX_CONCURRENT_REVIEWS: usize = 32;
/// Timeout of a review, including its time in the queue.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// A client for reviews by the API server, with a cache of the results.
#[derive(Debug)]
pub(super) struct Reviews {
    transport: Transport,
    permits: Semaphore,
    known: ReviewCache<Arc<User>>,
    unknown: ReviewCache<String>,
    /// `Err` holds the reason; may be empty.
    allowed: ReviewCache<Result<(), String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenStatus {
    authenticated: bool,
    user: UserInfo,
    error: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UserInfo {
    username: String,
    uid: String,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Vec<String>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AccessStatus {
    allowed: bool,
    reason: String,
}

impl Reviews {
    pub(super) fn new(transport: Transport) -> Self {
        Self {
            transport,
            permits: Semaphore::new(MAX_CONCURRENT_REVIEWS),
            known: ReviewCache::new(VALID_TOKEN_TTL, MAX_CACHED_REVIEWS),
            unknown: ReviewCache::new(INVALID_TOKEN_TTL, MAX_CACHED_REVIEWS),
            allowed: ReviewCache::new(DECISION_TTL, MAX_CACHED_REVIEWS),
        }
    }

    /// Authenticates a token.
    pub(super) async fn authenticate(&self, token: &Secret) -> Result<Arc<User>, AccessError> {
        let asked = digest_of(token.reveal().as_bytes());
        if let Some(user) = self.known.get(&asked) {
            return Ok(user);
        }
        if let Some(why) = self.unknown.get(&asked) {
            return Err(AccessError::Unauthenticated(why));
        }
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let status: TokenStatus = self.ask("/apis/authentication.k8s.io/v1/tokenreviews", &review).await?;
        let TokenStatus { authenticated, user, error } = status;
        if !authenticated || user.username.is_empty() {
            let why = if error.is_empty() { String::new() } else { format!(": {error}") };
            let why = format!("the API server rejected the token{why}");
            self.unknown.put(asked, why.clone());
            return Err(AccessError::Unauthenticated(why));
        }
        let user = Arc::new(User {
            name: user.username,
            uid: user.uid,
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
            token: token.clone(),
        });
        self.known.put(asked, user.clone());
        Ok(user)
    }

    /// Authorizes a request with these attributes. The inner `Err` holds the API server's reason.
    pub(super) async fn authorize(
        &self,
        user: &User,
        attributes: &str,
        what: Value,
    ) -> Result<Result<(), String>, AccessError> {
        let mut spec =
            json!({"user": user.name, "groups": user.groups, "uid": user.uid, "extra": user.extra});
        spec[attributes] = what;
        let asked = digest_of(spec.to_string().as_bytes());
        if let Some(answer) = self.allowed.get(&asked) {
            return Ok(answer);
        }
        let review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        let status: AccessStatus =
            self.ask("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
        let answer = if status.allowed { Ok(()) } else { Err(status.reason) };
        self.allowed.put(asked, answer.clone());
        Ok(answer)
    }

    async fn ask<T: for<'de> Deserialize<'de> + Default>(
        &self,
        path: &str,
        review: &Value,
    ) -> Result<T, AccessError> {
        let asking = async {
            let _permit = self.permits.acquire().await; // never closed
            self.post(path, review).await
        };
        match timeout(REVIEW_TIMEOUT, asking).await {
            Ok(answer) => answer.map_err(AccessError::ReviewFailed),
            Err(_) => {
                Err(AccessError::ReviewFailed(format!("no response within {} s", REVIEW_TIMEOUT.as_secs())))
            }
        }
    }

    /// Posts a review and returns its status.
    async fn post<T: for<'de> Deserialize<'de> + Default>(
        &self,
        path: &str,
        review: &Value,
    ) -> Result<T, String> {
        #[derive(Deserialize)]
        #[serde(bound = "T: for<'a> Deserialize<'a> + Default")]
        struct Answered<T> {
            #[serde(default)]
            status: T,
        }
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(review.to_string().into());
        let request = request.map_err(|error| error.to_string())?;
        let response = self.transport.send(request).await.map_err(|error| ErrorChain(&error).to_string())?;
        let code = response.status();
        let body = response.into_body().bytes().await.map_err(|error| ErrorChain(&error).to_string())?;
        if !code.is_success() {
            let message = serde_json::from_slice::<watchkeeper_core::Status>(&body);
            let message = message.map(|status| format!(": {}", status.message)).unwrap_or_default();
            return Err(format!("API server responded with {}{message}", code.as_u16()));
        }
        let answered = serde_json::from_slice::<Answered<T>>(&body);
        answered.map(|answered| answered.status).map_err(|_| "invalid response".to_owned())
    }
}

/// Formats attributes for a SubjectAccessReview.
pub(super) fn attributes(attributes: ResourceAttributes<'_>) -> Value {
    let ResourceAttributes { verb, group, resource, namespace, name } = attributes;
    json!({"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name})
}

fn digest_of(bytes: &[u8]) -> Digest {
    let mut digested = Digest::default();
    digested.copy_from_slice(digest(&SHA256, bytes).as_ref());
    digested
}
