//! Request targets: parses a method and a path into a verb and a resource.
//!
//! Input: the request line.
//! Output: the [`Handler`](crate::http::Handler), which knows the served resources.
//!
//! | path | target |
//! |---|---|
//! | `/api/v1/...`, `/apis/GROUP/VERSION/...` | a resource |
//! | `.../watch/...` | a watch, in its deprecated form |
//! | everything else, including `/api/v1` and `/apis/apps/v1` | a plain path |
//!
//! Invariants:
//! - `request.R1`: parsing does not depend on the served resources. Whether the resource exists, and whether it
//!   supports the verb, is checked later, in this order: an invalid name on an unknown resource is a 404.

use http::Method;
use watchkeeper_core::{FieldSelector, GroupResource, GroupVersion, GroupVersionResource, Status};

use crate::registry::{self, Subresource};

use super::query::{Plus, Query, decode};
use super::respond;
use watchkeeper_core::Quoted;

/// The verb of a request for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Watches a collection, or one object.
    Watch,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Patches an object.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes every object of a collection.
    DeleteCollection,
    /// Connects to a container, pod, service or node: `exec`, `attach`, `portforward`, `proxy`.
    Connect,
}

impl Verb {
    /// Returns the verb of a method for an object.
    fn of_object(method: &Method) -> Result<Self, TargetError> {
        Ok(match *method {
            Method::GET => Self::Get,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => return Err(TargetError::Method(Box::new(respond::method_not_allowed()))),
        })
    }

    /// Returns the verb as written in RBAC rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Connect => "connect",
        }
    }

    /// Returns whether the verb can change the store.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A non-resource path: discovery, health, metrics.
    Path(String),
    /// A resource.
    Resource(ResourceRequest),
}

/// A request for a resource. Missing parts are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The verb.
    pub verb: Verb,
    /// The verb for authorization. It differs from [`verb`](Self::verb) for [`Verb::Connect`], where it depends on
    /// the method: `get`, `create` and so on.
    pub access: Verb,
    /// The group; empty for the core group.
    pub group: String,
    /// The version: `v1`.
    pub version: String,
    /// The namespace; empty for a cluster-scoped resource, and for a collection across all namespaces.
    pub namespace: String,
    /// The resource: `pods`.
    pub resource: String,
    /// The name of the object; empty for a collection. A list or watch with `fieldSelector=metadata.name=...` has the
    /// selected name here.
    pub name: String,
    /// The subresource: `status`, `scale`, `log`.
    pub subresource: String,
    /// The path after the subresource, for a proxy.
    pub rest: String,
    /// Whether the watch is requested by the path and not by the query. The options of such a request are validated
    /// like those of a list.
    pub watch_path: bool,
}

/// The reason that a path cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// 400: a `%` is not followed by two hexadecimal digits.
    #[error("400 Bad Request")]
    Escape,
    /// 500, like kube-apiserver: a path ends with `/watch`.
    #[error(
        "Internal Server Error: {}: failed to create RequestInfo: unable to determine kind and namespace from url, {path}",
        Quoted(path)
    )]
    Incomplete {
        /// The path, with its query.
        path: String,
    },
    /// 405: resources do not support `HEAD`, `OPTIONS` or unknown methods.
    #[error("{}", .0.message)]
    Method(Box<Status>),
}

impl Target {
    /// Parses a method, a path and a query.
    ///
    /// ```
    /// use http::Method;
    /// use watchkeeper_apiserver::http::{Query, Target, Verb};
    ///
    /// let path = "/apis/apps/v1/namespaces/default/deployments/web/scale";
    /// let Target::Resource(request) = Target::read(&Method::PUT, path, &Query::default())? else { panic!() };
    /// assert_eq!((request.verb, request.name.as_str()), (Verb::Update, "web"));
    /// assert_eq!((request.group.as_str(), request.subresource.as_str()), ("apps", "scale"));
    /// # Ok::<(), watchkeeper_apiserver::http::TargetError>(())
    /// ```
    ///
    /// # Errors
    /// See [`TargetError`].
    pub fn read(method: &Method, path: &str, query: &Query) -> Result<Self, TargetError> {
        let decoded = decode(path, Plus::IsPlus).ok_or(TargetError::Escape)?;
        let mut parts = decoded.strip_prefix('/').unwrap_or_default().trim_end_matches('/').split('/');
        let group = match parts.next() {
            Some("api") => Some(""),
            Some("apis") => parts.next(),
            _ => None,
        };
        let version = parts.next();
        let parts: Vec<&str> = parts.collect();
        match (group, version, parts.as_slice()) {
            (Some(group), Some(version), parts @ [_, ..]) => {
                ResourceRequest::read(method, &decoded, query, group, version, parts).map(Self::Resource)
            }
            _ => Ok(Self::Path(decoded)),
        }
    }

    /// Returns whether the request is long-running: such requests do not count as in flight.
    pub fn is_long_running(&self) -> bool {
        let Self::Resource(request) = self else { return false };
        matches!(request.verb, Verb::Watch | Verb::Connect) || request.subresource == "log"
    }
}

impl ResourceRequest {
    fn read(
        method: &Method,
        path: &str,
        query: &Query,
        group: &str,
        version: &str,
        parts: &[&str],
    ) -> Result<Self, TargetError> {
        let (watch_path, parts) = match parts {
            // `proxy` was once a verb in this position; now it is a resource that does not exist.
            ["watch" | "proxy"] => return Err(TargetError::Incomplete { path: path.to_owned() }),
            ["watch", rest @ ..] => (true, rest),
            parts => (false, parts),
        };
        let (namespace, parts) = match parts {
            ["namespaces", namespace, "status" | "finalize", ..] => (*namespace, parts),
            ["namespaces", namespace] => (*namespace, parts),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            parts => ("", parts),
        };
        let part = |position: usize| parts.get(position).copied().unwrap_or_default();
        let (resource, mut name, subresource) = (part(0), part(1), part(2));
        let mut access = if watch_path { Verb::Watch } else { Verb::of_object(method)? };
        let selected = FieldSelector::parse(query.text("fieldSelector")).ok();
        if name.is_empty() {
            access = match access {
                Verb::Get if query.switch("watch") == Some(true) => Verb::Watch,
                Verb::Get => Verb::List,
                Verb::Delete => Verb::DeleteCollection,
                access => access,
            };
            // A collection that is narrowed to one name is authorized like that object.
            if matches!(access, Verb::List | Verb::Watch)
                && let Some(selected) = selected.as_ref().and_then(|it| it.exact_value("metadata.name"))
                && segment_fault(selected).is_none()
            {
                name = selected;
            }
        }
        let row = registry::builtin().get(group, version, resource);
        let connects = row.and_then(|row| row.subresource(subresource)).is_some_and(Subresource::connects);
        Ok(Self {
            verb: if connects { Verb::Connect } else { access },
            access,
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            rest: parts.get(3..).unwrap_or_default().join("/"),
            watch_path,
        })
    }

    /// Returns the group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// Returns the group and resource, as named in statuses.
    pub fn group_resource(&self) -> GroupResource {
        self.group_version_resource().group_resource()
    }

    /// Returns the group, version and resource.
    pub fn group_version_resource(&self) -> GroupVersionResource {
        GroupVersionResource::new(&self.group, &self.version, &self.resource)
    }

    /// Checks what matters only for an existing resource (`request.R1`): that the method applies to an object or a
    /// collection, and that the name is valid.
    ///
    /// # Errors
    /// Returns 405 for an update or patch of a collection and for a create of an object; 400 for invalid names.
    pub fn check(&self) -> Result<(), Status> {
        let fits = match self.verb {
            Verb::Update | Verb::Patch => !self.name.is_empty(),
            Verb::Create => self.name.is_empty() || !self.subresource.is_empty(),
            _ => true,
        };
        if !fits {
            return Err(respond::method_not_allowed());
        }
        for (what, text) in [("Namespace", &self.namespace), ("Name", &self.name)] {
            if let Some(fault) = segment_fault(text) {
                let message = format!("{what} parameter invalid: {}: {fault}", Quoted(text));
                return Err(Status::bad_request(message));
            }
        }
        Ok(())
    }
}

/// Returns the reason that a text cannot be a path segment.
fn segment_fault(text: &str) -> Option<&'static str> {
    match text {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        text if text.contains('/') => Some("may not contain '/'"),
        text if text.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, uri: &str) -> Result<Target, TargetError> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        Target::read(&method.parse().unwrap(), path, &Query::parse(query))
    }

    /// Returns `verb group version namespace resource name subresource`, with `-` for empty parts.
    fn shown(method: &str, uri: &str) -> String {
        match read(method, uri) {
            Err(error) => format!("error: {error}"),
            Ok(Target::Path(path)) => format!("path {path}"),
            Ok(Target::Resource(it)) => [
                it.verb.as_str(),
                &it.group,
                &it.version,
                &it.namespace,
                &it.resource,
                &it.name,
                &it.subresource,
            ]
            .map(|text| if text.is_empty() { "-" } else { text })
            .join(" "),
        }
    }

    #[test]
    fn paths_are_parsed_like_kube_apiserver() {
        for (method, uri, expected) in [
            ("GET", "/", "path /"),
            ("GET", "/api", "path /api"),
            ("GET", "/api/v1", "path /api/v1"),
            ("GET", "/api/v1/", "path /api/v1/"),
            ("GET", "/apis/apps/v1", "path /apis/apps/v1"),
            ("GET", "/readyz/ping", "path /readyz/ping"),
            ("GET", "//api/v1/namespaces", "path //api/v1/namespaces"),
            ("GET", "/api/v1/namespaces", "list - v1 - namespaces - -"),
            ("GET", "/api/v1/namespaces/", "list - v1 - namespaces - -"),
            ("GET", "/api/v1/namespaces/x", "get - v1 x namespaces x -"),
            ("PUT", "/api/v1/namespaces/x/finalize", "update - v1 x namespaces x finalize"),
            ("GET", "/api/v1/namespaces/x/pods", "list - v1 x pods - -"),
            ("GET", "/api/v1/namespaces//pods", "list - v1 - pods - -"),
            ("GET", "/api/v1/namespaces/x/pods?watch=1", "watch - v1 x pods - -"),
            ("GET", "/api/v1/namespaces/x/pods?watch=0", "list - v1 x pods - -"),
            ("GET", "/api/v1/namespaces/x/pods/y?watch=1", "get - v1 x pods y -"),
            ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dy", "list - v1 - pods y -"),
            ("GET", "/api/v1/watch/namespaces/x/pods", "watch - v1 x pods - -"),
            ("GET", "/api/v1/watch/namespaces/x/pods/y", "watch - v1 x pods y -"),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/x/deployments",
                "deletecollection apps v1 x deployments - -",
            ),
            ("DELETE", "/apis/apps/v1/namespaces/x/deployments/y", "delete apps v1 x deployments y -"),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/x/deployments/y/status",
                "patch apps v1 x deployments y status",
            ),
            ("POST", "/api/v1/namespaces/x/pods/y/exec", "connect - v1 x pods y exec"),
            ("GET", "/api/v1/nodes/y/proxy/a/b", "connect - v1 - nodes y proxy"),
            ("GET", "/api/v1/namespaces/x/configmaps/a%2Fb", "get - v1 x configmaps a b"),
            ("GET", "/%zz", "error: 400 Bad Request"),
        ] {
            assert_eq!(shown(method, uri), expected, "{method} {uri}");
        }
    }

    #[test]
    fn a_watch_of_nothing_is_an_internal_error_like_upstream() {
        let error = read("GET", "/api/v1/watch").unwrap_err().to_string();
        assert_eq!(
            error,
            "Internal Server Error: \"/api/v1/watch\": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch"
        );
    }

    #[test]
    fn a_proxy_request_keeps_the_rest_of_its_path() {
        let Ok(Target::Resource(request)) = read("GET", "/api/v1/nodes/y/proxy/a/b") else { panic!() };
        assert_eq!((request.rest.as_str(), request.access), ("a/b", Verb::Get));
    }

    #[test]
    fn resources_reject_head_and_unknown_methods() {
        for method in ["HEAD", "OPTIONS", "BOGUS"] {
            let Err(TargetError::Method(status)) = read(method, "/api/v1/pods") else { panic!("{method}") };
            assert_eq!(status.code, 405);
        }
    }

    #[test]
    fn invalid_names_are_refused_in_upstream_words() {
        let fault = |method: &str, uri: &str| {
            let Ok(Target::Resource(request)) = read(method, uri) else { panic!("{uri}") };
            request.check().unwrap_err().message
        };
        let path = "/api/v1/namespaces/x/configmaps/";
        assert_eq!(
            fault("GET", &format!("{path}a%25b")),
            r#"Name parameter invalid: "a%b": may not contain '%'"#
        );
        assert_eq!(
            fault("GET", &format!("{path}%2e%2e")),
            r#"Name parameter invalid: "..": may not be '..'"#
        );
        let wrong_method = "the server does not allow this method on the requested resource";
        for (method, path) in
            [("PUT", "/api/v1/nodes"), ("PATCH", "/api/v1/nodes"), ("POST", "/api/v1/nodes/x")]
        {
            assert_eq!(fault(method, path), wrong_method);
        }
    }

    proptest::proptest! {
        #[test]
        fn parsing_a_path_never_panics(method in "GET|PUT|DELETE|POST", path in "/(api|apis|x)?(/[a-z%./]{0,6}){0,6}", query in ".{0,20}") {
            let query = Query::parse(&query);
            if let Ok(Target::Resource(request)) = Target::read(&method.parse().unwrap(), &path, &query) {
                let _ = request.check();
            }
        }
    }
}
