//! Authorization: decides whether a user may make a request.
//!
//! Input: the [`HandlerChain`](crate::http::HandlerChain) after authentication and impersonation, and access reviews.
//! Output: a [`Decision`]; a request that is not allowed fails with 403 in kube-apiserver's words.
//!
//! Invariants:
//! - `authorize.A1`: every request over HTTP is authorized before it is served, except for [`ALWAYS_ALLOWED_PATHS`].
//! - `authorize.A2`: an access review and a request with the same attributes get the same decision.

use std::future::{Future, ready};
use std::pin::Pin;

use http::Method;
use watchkeeper_core::{GroupResource, Quoted, Status};

use super::authenticate::User;
use super::request::{ResourceRequest, Target};

/// The paths that are served without authorization, as in kube-apiserver.
pub const ALWAYS_ALLOWED_PATHS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// Decides whether users may make requests.
///
/// Informers inside the process ([`ApiServer::sources`](crate::server::ApiServer::sources)) read the store directly,
/// without a user, and are not authorized.
///
/// ```
/// use watchkeeper_apiserver::http::{Attributes, Authorizer, AuthorizerFuture, Decision, MASTERS};
///
/// /// Allows all users to read, and administrators to write.
/// struct ReadOnly;
///
/// impl Authorizer for ReadOnly {
///     fn authorize<'a>(&'a self, attributes: Attributes<'a>) -> AuthorizerFuture<'a, Decision> {
///         let reads = matches!(attributes.verb, "get" | "list" | "watch");
///         let is_allowed = reads || attributes.user.is_in(MASTERS);
///         let decision = if is_allowed { Decision::Allow } else { Decision::NoOpinion(String::new()) };
///         Box::pin(std::future::ready(decision))
///     }
/// }
/// ```
pub trait Authorizer: Send + Sync {
    /// Decides whether a user may make a request.
    fn authorize<'a>(&'a self, attributes: Attributes<'a>) -> AuthorizerFuture<'a, Decision>;

    /// Returns the rules that apply to a user in a namespace, for `SelfSubjectRulesReview`. The default is an
    /// incomplete list without rules.
    fn rules<'a>(&'a self, user: &'a User, namespace: &'a str) -> AuthorizerFuture<'a, AccessRules> {
        let _ = (user, namespace);
        Box::pin(ready(AccessRules { incomplete: true, ..AccessRules::default() }))
    }
}

/// The future returned by the methods of [`Authorizer`].
pub type AuthorizerFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The attributes of a request that an [`Authorizer`] decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// The authenticated or impersonated user.
    pub user: &'a User,
    /// The verb: `get`, `list`, `create`, `impersonate`; for a path the HTTP method in lower case.
    pub verb: &'a str,
    /// The resource or path.
    pub target: AccessTarget<'a>,
}

/// The target of a request to authorize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessTarget<'a> {
    /// A resource.
    Resource(ResourceAttributes<'a>),
    /// A non-resource path: `/version`.
    Path(&'a str),
}

/// A resource to authorize. Missing parts are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAttributes<'a> {
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The resource: `pods`.
    pub resource: &'a str,
    /// The subresource: `status`.
    pub subresource: &'a str,
    /// The namespace; empty for a cluster-scoped resource, and for all namespaces.
    pub namespace: &'a str,
    /// The name of the object; empty for a collection.
    pub name: &'a str,
}

/// The decision of an [`Authorizer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed.
    Allow,
    /// The request is denied, for this reason; the reason may be empty.
    Deny(String),
    /// No rule allows the request. It fails like a denied one, but access reviews do not report it as denied.
    NoOpinion(String),
}

/// The rules that apply to a user, in the form of `SelfSubjectRulesReview`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessRules {
    /// Rules for resources.
    pub resources: Vec<ResourceRule>,
    /// Rules for non-resource paths.
    pub paths: Vec<PathRule>,
    /// Whether there may be more rules.
    pub incomplete: bool,
}

/// Allows verbs on resources; `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceRule {
    /// The verbs.
    pub verbs: Vec<String>,
    /// The API groups.
    pub groups: Vec<String>,
    /// The resources.
    pub resources: Vec<String>,
    /// The names of objects; empty for all.
    pub names: Vec<String>,
}

/// Allows verbs on non-resource paths; `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathRule {
    /// The verbs.
    pub verbs: Vec<String>,
    /// The paths.
    pub paths: Vec<String>,
}

/// Allows every request: the default of a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysAllow;

impl Authorizer for AlwaysAllow {
    fn authorize<'a>(&'a self, _: Attributes<'a>) -> AuthorizerFuture<'a, Decision> {
        Box::pin(ready(Decision::Allow))
    }

    fn rules<'a>(&'a self, _: &'a User, _: &'a str) -> AuthorizerFuture<'a, AccessRules> {
        let all = || vec!["*".to_owned()];
        let resource = ResourceRule { verbs: all(), groups: all(), resources: all(), names: Vec::new() };
        let path = PathRule { verbs: all(), paths: all() };
        Box::pin(ready(AccessRules { resources: vec![resource], paths: vec![path], incomplete: false }))
    }
}

/// Authorizes a request.
///
/// # Errors
/// Returns 403 unless the request is allowed.
pub(super) async fn authorize_request(
    authorizer: &dyn Authorizer,
    user: &User,
    method: &Method,
    target: &Target,
) -> Result<(), Status> {
    match target {
        Target::Path(path) if ALWAYS_ALLOWED_PATHS.contains(&path.as_str()) => Ok(()),
        Target::Path(path) => {
            let verb = method.as_str().to_ascii_lowercase();
            authorize(authorizer, Attributes { user, verb: &verb, target: AccessTarget::Path(path) }).await
        }
        Target::Resource(request) => {
            let target = AccessTarget::Resource(ResourceAttributes::from(request));
            authorize(authorizer, Attributes { user, verb: request.access.as_str(), target }).await
        }
    }
}

/// Returns 403 in kube-apiserver's words unless the attributes are allowed.
pub(super) async fn authorize(authorizer: &dyn Authorizer, attributes: Attributes<'_>) -> Result<(), Status> {
    match authorizer.authorize(attributes).await {
        Decision::Allow => Ok(()),
        Decision::Deny(reason) | Decision::NoOpinion(reason) => Err(forbidden(&attributes, &reason)),
    }
}

impl<'a> From<&'a ResourceRequest> for ResourceAttributes<'a> {
    fn from(request: &'a ResourceRequest) -> Self {
        let ResourceRequest { group, version, resource, subresource, namespace, name, .. } = request;
        Self { group, version, resource, subresource, namespace, name }
    }
}

fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let (user, verb) = (Quoted(&attributes.user.name), attributes.verb);
    let (message, resource, name) = match &attributes.target {
        AccessTarget::Path(path) => (format!("User {user} cannot {verb} path {}", Quoted(path)), None, ""),
        AccessTarget::Resource(target) => {
            let ResourceAttributes { group, resource, subresource, namespace, name, .. } = *target;
            let slash = if subresource.is_empty() { "" } else { "/" };
            let full = format!("{resource}{slash}{subresource}");
            let scope = match namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", Quoted(namespace)),
            };
            let (full, api_group) = (Quoted(&full), Quoted(group));
            let message =
                format!("User {user} cannot {verb} resource {full} in API group {api_group} {scope}");
            let resource = GroupResource { group: group.to_owned(), resource: resource.to_owned() };
            (message, Some(resource), name)
        }
    };
    let message = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let message = if reason.is_empty() { message } else { format!("{message}: {reason}") };
    Status::forbidden(resource.as_ref(), name, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Query;

    /// Denies everything, with a reason.
    struct DenyAll(&'static str);

    impl Authorizer for DenyAll {
        fn authorize<'a>(&'a self, _: Attributes<'a>) -> AuthorizerFuture<'a, Decision> {
            Box::pin(ready(Decision::Deny(self.0.to_owned())))
        }
    }

    async fn message(authorizer: &dyn Authorizer, method: &str, uri: &str) -> String {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let method: Method = method.parse().unwrap();
        let target = Target::read(&method, path, &Query::parse(query)).unwrap();
        let user = User::new("jo", ["dev"]);
        let status = authorize_request(authorizer, &user, &method, &target).await.unwrap_err();
        assert_eq!(status.code, 403);
        status.message
    }

    #[tokio::test]
    async fn every_verb_is_denied_in_upstream_words() {
        let pods = "/api/v1/namespaces/shop/pods";
        let cannot = |verb: &str, resource: &str| {
            format!(
                "User \"jo\" cannot {verb} resource \"{resource}\" in API group \"\" in the namespace \"shop\""
            )
        };
        for (method, uri, expected) in [
            ("GET", "/x", format!("pods \"x\" is forbidden: {}", cannot("get", "pods"))),
            ("GET", "", format!("pods is forbidden: {}", cannot("list", "pods"))),
            ("GET", "?watch=1", format!("pods is forbidden: {}", cannot("watch", "pods"))),
            ("POST", "", format!("pods is forbidden: {}", cannot("create", "pods"))),
            ("PUT", "/x", format!("pods \"x\" is forbidden: {}", cannot("update", "pods"))),
            ("PATCH", "/x", format!("pods \"x\" is forbidden: {}", cannot("patch", "pods"))),
            ("DELETE", "/x", format!("pods \"x\" is forbidden: {}", cannot("delete", "pods"))),
            ("DELETE", "", format!("pods is forbidden: {}", cannot("deletecollection", "pods"))),
            ("POST", "/x/exec", format!("pods \"x\" is forbidden: {}", cannot("create", "pods/exec"))),
        ] {
            assert_eq!(message(&DenyAll(""), method, &format!("{pods}{uri}")).await, expected);
        }
        assert_eq!(
            message(&DenyAll("not today"), "GET", "/apis/apps/v1/deployments").await,
            "deployments.apps is forbidden: User \"jo\" cannot list resource \"deployments\" in API group \"apps\" at \
             the cluster scope: not today"
        );
    }

    #[tokio::test]
    async fn paths_are_denied_in_upstream_words_and_health_is_always_allowed() {
        assert_eq!(
            message(&DenyAll(""), "GET", "/version").await,
            "forbidden: User \"jo\" cannot get path \"/version\""
        );
        for path in ALWAYS_ALLOWED_PATHS {
            let target = Target::Path(path.to_owned());
            let user = User::anonymous();
            authorize_request(&DenyAll(""), &user, &Method::GET, &target).await.unwrap();
        }
    }

    #[tokio::test]
    async fn always_allow_allows_everything_and_lists_it() {
        let (user, target) = (User::anonymous(), Target::Path("/metrics".to_owned()));
        authorize_request(&AlwaysAllow, &user, &Method::GET, &target).await.unwrap();
        let rules = AlwaysAllow.rules(&user, "shop").await;
        assert_eq!((rules.resources.len(), rules.paths.len(), rules.incomplete), (1, 1, false));
    }
}
