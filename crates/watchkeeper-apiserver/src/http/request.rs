//! Request: what a method and a path ask for.
//!
//! From: the request line.
//! To:   the [`Handler`](crate::http::Handler), which knows what is served.
//!
//! | path | is |
//! |---|---|
//! | `/api/v1/...`, `/apis/GROUP/VERSION/...` | a resource |
//! | `.../watch/...` | a watch, the old way of asking for one |
//! | everything else, `/api/v1` and `/apis/apps/v1` too | a plain path |
//!
//! - R1: reading a path asks nobody what exists. Whether there is such a resource, and whether it takes
//!   the verb, is found out later, and in that order: a wrong name on an unknown resource is a 404.

use http::Method;
use watchkeeper_core::{FieldSelector, GroupResource, GroupVersion, GroupVersionResource, Status};

use super::query::{Plus, Query, decode};
use super::respond;
use watchkeeper_core::Quoted;

/// What is asked of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection, or one object.
    Watch,
    /// Add an object.
    Create,
    /// Replace an object.
    Update,
    /// Change an object.
    Patch,
    /// Remove an object.
    Delete,
    /// Remove every object of a collection.
    DeleteCollection,
    /// Talk to what stands behind an object: `exec`, `attach`, `portforward`, `proxy`.
    Connect,
}

impl Verb {
    /// The verb as access rules write it.
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

    /// Whether the store may look different afterwards.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path that names no resource: discovery, health, metrics.
    Path(String),
    /// A resource.
    Resource(ResourceRequest),
}

/// A request for a resource. Texts are empty where the path does not have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// What is asked for.
    pub verb: Verb,
    /// The verb that access rules are asked about. It differs from [`verb`](Self::verb) for
    /// [`Verb::Connect`], where it is `get`, `create` and so on by the method.
    pub access: Verb,
    /// Empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// Empty for a cluster-wide resource, and for a collection over all namespaces.
    pub namespace: String,
    /// `pods`.
    pub resource: String,
    /// Of the object; empty for a collection. A list or a watch that selects one name by
    /// `fieldSelector=metadata.name=...` has that name here.
    pub name: String,
    /// `status`, `scale`, `log`.
    pub subresource: String,
    /// What follows the subresource: the path to proxy to.
    pub rest: String,
    /// Whether the path asks for the watch, and not the query. The options of such a request are
    /// checked like those of a list.
    pub watch_path: bool,
}

/// Why a path cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// 400: a `%` is not followed by two hexadecimal digits.
    #[error("400 Bad Request")]
    Escape,
    /// 500, as the real server says: a path ends with `/watch`.
    #[error(
        "Internal Server Error: {}: failed to create RequestInfo: unable to determine kind and namespace from url, {path}",
        Quoted(path)
    )]
    Incomplete {
        /// The path, with its query.
        path: String,
    },
    /// 405: resources know neither `HEAD` nor `OPTIONS` nor any method of one's own invention.
    #[error("{}", .0.message)]
    Method(Box<Status>),
}

impl Target {
    /// Reads a method, a path and a query.
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

    /// Whether the answer lasts for as long as both sides want: such requests do not count as in flight.
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
            // `proxy` was once a verb in this place, too; now it is a resource that nobody has.
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
        let mut access = match *method {
            _ if watch_path => Verb::Watch,
            Method::GET => Verb::Get,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE => Verb::Delete,
            _ => return Err(TargetError::Method(Box::new(respond::method_not_allowed()))),
        };
        let selected = FieldSelector::parse(query.text("fieldSelector")).ok();
        if name.is_empty() {
            access = match access {
                Verb::Get if query.switch("watch") == Some(true) => Verb::Watch,
                Verb::Get => Verb::List,
                Verb::Delete => Verb::DeleteCollection,
                access => access,
            };
            // A collection that is narrowed to one name counts as that object for access rules.
            if matches!(access, Verb::List | Verb::Watch)
                && let Some(selected) = selected.as_ref().and_then(|it| it.exact_value("metadata.name"))
                && segment_fault(selected).is_none()
            {
                name = selected;
            }
        }
        let connects = matches!(
            (group, resource, subresource),
            ("", "pods", "exec" | "attach" | "portforward" | "proxy") | ("", "services" | "nodes", "proxy")
        );
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

    /// Group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// Group and resource, as statuses name them.
    pub fn group_resource(&self) -> GroupResource {
        self.group_version_resource().group_resource()
    }

    /// Group, version and resource.
    pub fn group_version_resource(&self) -> GroupVersionResource {
        GroupVersionResource::new(&self.group, &self.version, &self.resource)
    }

    /// Checks what can only be wrong with a resource that exists (R1): that the method fits an object or
    /// a collection, and that the name can be one.
    ///
    /// # Errors
    /// 405 for a collection that should be replaced or patched, and for an object that should be
    /// created; 400 for names that no object can have.
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

/// Why a text cannot be one segment of a path.
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

    /// `verb group version namespace resource name subresource`, with `-` for what is empty.
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
    fn paths_are_read_as_the_real_server_reads_them() {
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
    fn a_watch_of_nothing_is_an_internal_error_as_on_the_real_server() {
        let error = read("GET", "/api/v1/watch").unwrap_err().to_string();
        assert_eq!(
            error,
            "Internal Server Error: \"/api/v1/watch\": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch"
        );
    }

    #[test]
    fn what_is_proxied_keeps_the_rest_of_its_path() {
        let Ok(Target::Resource(request)) = read("GET", "/api/v1/nodes/y/proxy/a/b") else { panic!() };
        assert_eq!((request.rest.as_str(), request.access), ("a/b", Verb::Get));
    }

    #[test]
    fn resources_know_no_head_and_no_invented_method() {
        for method in ["HEAD", "OPTIONS", "BOGUS"] {
            let Err(TargetError::Method(status)) = read(method, "/api/v1/pods") else { panic!("{method}") };
            assert_eq!(status.code, 405);
        }
    }

    #[test]
    fn names_that_no_object_can_have_are_refused_in_the_real_words() {
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
        fn no_path_makes_it_panic(method in "GET|PUT|DELETE|POST", path in "/(api|apis|x)?(/[a-z%./]{0,6}){0,6}", query in ".{0,20}") {
            let query = Query::parse(&query);
            if let Ok(Target::Resource(request)) = Target::read(&method.parse().unwrap(), &path, &query) {
                let _ = request.check();
            }
        }
    }
}
