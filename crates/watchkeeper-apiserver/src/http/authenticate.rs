//! Authentication: identifies the user of a request.
//!
//! Input: the client certificate of the connection, and the `Authorization` header.
//! Output: the [`Handler`](crate::http::Handler), which receives a [`User`].
//!
//! Invariants:
//! - `authenticate.U1`: a certificate takes precedence over a token; an unknown token is rejected even where no
//!   credentials are required.
//! - `authenticate.U2`: a request without credentials is `system:anonymous`, and is rejected unless the path is one
//!   of [`OPEN_PATHS`] or anonymous access is allowed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use watchkeeper_core::Status;

use super::account_token::{Accounts, ISSUER, TokenError, TokenIssuer};
use super::certificates::Subject;
use super::random::sha256;

/// The paths that need no authentication.
pub const OPEN_PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

pub(super) const ANONYMOUS: &str = "system:anonymous";
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(super) const AUTHENTICATED: &str = "system:authenticated";
/// The group that may do everything and is exempt from limits on requests in flight.
pub const MASTERS: &str = "system:masters";

/// The user that makes a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The name, such as `system:serviceaccount:default:web`.
    pub name: String,
    /// The UID; may be empty.
    pub uid: String,
    /// The groups, such as `system:masters`.
    pub groups: Vec<String>,
    /// Additional attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Returns the user of requests without credentials.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..Default::default() }
    }

    /// Creates a user in these groups.
    pub fn new<G: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        Self { name: name.into(), groups, ..Default::default() }
    }

    /// Returns whether this is `system:anonymous`, or a member of `system:unauthenticated`.
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(UNAUTHENTICATED)
    }

    /// Returns whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|it| it == group)
    }

    fn authenticated(mut self) -> Self {
        if !self.is_in(AUTHENTICATED) && !self.is_anonymous() {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

/// The policy for requests without credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anonymous {
    /// The server rejects them with 401, except on [`OPEN_PATHS`].
    #[default]
    Refused,
    /// The server accepts them as `system:anonymous`, and the authorizer decides what they may do.
    Allowed,
}

/// Maps credentials to users.
#[derive(Clone, Default)]
pub struct Authenticator {
    /// Keyed by the digest of the token, so that lookup time does not depend on how much of a guess is right.
    tokens: HashMap<[u8; 32], User>,
    issuer: Option<(TokenIssuer, Arc<dyn Accounts>)>,
    anonymous: Anonymous,
}

/// Omits the tokens.
impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tokens, anonymous, .. } = self;
        f.debug_struct("Authenticator").field("tokens", &tokens.len()).field("anonymous", anonymous).finish()
    }
}

/// An authenticated user, and warnings to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    /// The user.
    pub user: User,
    /// Texts for the `Warning` header of the response.
    pub warnings: Vec<&'static str>,
}

impl Authenticator {
    /// Adds a static bearer token.
    #[must_use]
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens.insert(sha256(token.as_bytes()), user.authenticated());
        self
    }

    /// Accepts tokens that this issuer has issued to service accounts.
    #[must_use]
    pub fn issuer(mut self, issuer: TokenIssuer, accounts: Arc<dyn Accounts>) -> Self {
        self.issuer = Some((issuer, accounts));
        self
    }

    /// Returns the issuer of service account tokens, if there is one.
    pub fn token_issuer(&self) -> Option<&TokenIssuer> {
        self.issuer.as_ref().map(|(issuer, _)| issuer)
    }

    /// Returns the user and the audiences of a token.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub async fn authenticate_token(&self, token: &str) -> Result<(User, Vec<String>), TokenError> {
        if let Some(user) = self.tokens.get(&sha256(token.as_bytes())) {
            return Ok((user.clone(), vec![ISSUER.to_owned()]));
        }
        match &self.issuer {
            Some((issuer, accounts)) => issuer.verify(token, &**accounts).await,
            None => Err(TokenError::Unknown),
        }
    }

    /// Sets the policy for requests without credentials; the default is to reject them.
    #[must_use]
    pub fn anonymous(mut self, anonymous: Anonymous) -> Self {
        self.anonymous = anonymous;
        self
    }

    /// Authenticates a request. The certificate has already been verified.
    ///
    /// # Errors
    /// Returns 401 if the token is invalid, or if there are no credentials and the path requires some.
    pub async fn authenticate(
        &self,
        certificate: Option<&Subject>,
        headers: &HeaderMap,
        path: &str,
    ) -> Result<Authenticated, Box<Status>> {
        let refused = || Box::new(Status::unauthorized("Unauthorized"));
        let known = |user| Ok(Authenticated { user, warnings: Vec::new() });
        if let Some(subject) = certificate.filter(|subject| !subject.common_name.is_empty()) {
            let mut user = User::new(&subject.common_name, subject.organizations.clone());
            let credential = format!("X509SHA256={}", subject.fingerprint);
            user.extra.insert("authentication.kubernetes.io/credential-id".to_owned(), vec![credential]);
            return known(user.authenticated());
        }
        let mut warnings = Vec::new();
        match bearer(headers) {
            Bearer::Token(token) => {
                let (user, audiences) = self.authenticate_token(token).await.map_err(|_| refused())?;
                return if audiences.iter().any(|audience| audience == ISSUER) {
                    known(user)
                } else {
                    Err(refused())
                };
            }
            Bearer::ExtraSpace => warnings.push(
                "the provided Authorization header contains extra space before the bearer token, and is ignored",
            ),
            Bearer::None => {}
        }
        if self.anonymous == Anonymous::Allowed || OPEN_PATHS.contains(&path) {
            Ok(Authenticated { user: User::anonymous(), warnings })
        } else {
            Err(refused())
        }
    }
}

enum Bearer<'a> {
    None,
    Token(&'a str),
    ExtraSpace,
}

fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    let Some(header) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) else {
        return Bearer::None;
    };
    let mut parts = header.trim().splitn(3, ' ');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(scheme), Some(token), rest) if scheme.eq_ignore_ascii_case("bearer") => match (token, rest) {
            ("", Some(_)) => Bearer::ExtraSpace,
            ("", None) => Bearer::None,
            (token, _) => Bearer::Token(token),
        },
        _ => Bearer::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Authenticator {
        Authenticator::default().token("secret", User::new("admin", [MASTERS]))
    }

    /// Returns the name and the groups, or the status code.
    async fn asked(authenticator: &Authenticator, authorization: Option<&str>, path: &str) -> String {
        let mut headers = HeaderMap::new();
        if let Some(text) = authorization {
            headers.insert(AUTHORIZATION, text.parse().unwrap());
        }
        match authenticator.authenticate(None, &headers, path).await {
            Ok(it) => format!("{} {} {}", it.user.name, it.user.groups.join(","), it.warnings.len()),
            Err(status) => format!("{} {}", status.code, status.message),
        }
    }

    #[tokio::test]
    async fn tokens_are_accepted_like_kube_apiserver() {
        const ADMIN: &str = "admin system:masters,system:authenticated 0";
        const NOBODY: &str = "401 Unauthorized";
        for (header, path, expected) in [
            (Some("Bearer secret"), "/api", ADMIN),
            (Some("bearer secret"), "/api", ADMIN),
            (Some("Bearer secret extra"), "/api", ADMIN),
            (Some("Bearer nope"), "/api", NOBODY),
            (Some("Bearer nope"), "/livez", NOBODY), // authenticate.U1
            (Some("Bearer"), "/api", NOBODY),
            (Some("Bearer"), "/livez", "system:anonymous system:unauthenticated 0"),
            (Some("Bearer  secret"), "/livez", "system:anonymous system:unauthenticated 1"),
            (Some("Basic YTpi"), "/api", NOBODY),
            (None, "/api", NOBODY),
            (None, "/version", "system:anonymous system:unauthenticated 0"),
            (None, "/readyz/ping", NOBODY),
            (None, "/", NOBODY),
        ] {
            assert_eq!(asked(&known(), header, path).await, expected, "{header:?} {path}");
        }
    }

    #[tokio::test]
    async fn anonymous_access_can_be_allowed() {
        let open = known().anonymous(Anonymous::Allowed);
        assert_eq!(asked(&open, None, "/api").await, "system:anonymous system:unauthenticated 0");
        assert_eq!(asked(&open, Some("Bearer nope"), "/api").await, "401 Unauthorized");
    }

    #[tokio::test]
    async fn a_certificate_takes_precedence_over_a_token() {
        let subject = Subject {
            common_name: "jane".into(),
            organizations: vec!["dev".into(), "ops".into()],
            fingerprint: "00ff".into(),
        };
        let headers = HeaderMap::from_iter([(AUTHORIZATION, "Bearer secret".parse().unwrap())]);
        let user = known().authenticate(Some(&subject), &headers, "/api").await.unwrap().user;
        assert_eq!(
            (user.name.as_str(), user.groups),
            ("jane", vec!["dev".into(), "ops".into(), AUTHENTICATED.into()])
        );
        assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], ["X509SHA256=00ff"]);
        let nameless = Subject { common_name: String::new(), ..subject };
        assert_eq!(known().authenticate(Some(&nameless), &headers, "/api").await.unwrap().user.name, "admin");
    }

    #[test]
    fn debug_output_has_no_secrets() {
        assert!(!format!("{:?}", known()).contains("secret"));
    }
}
