//! Request selection for faults.

use std::sync::Arc;
use std::time::Duration;

use crate::http::{ResourceRequest, Verb};
use http::HeaderMap;
use http::header::USER_AGENT;
use watchkeeper_core::Status;

use super::{Answer, Effect, Ending, Fault};

/// A selection of requests for resources; by default all of them. A request matches if it has all of the given
/// attributes.
///
/// The last call of the chain sets the effect, and returns a [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Requests {
    pub(super) verb: Option<Verb>,
    pub(super) group: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) user_agent: Option<String>,
}

impl Requests {
    /// Selects every request for a resource.
    pub fn any() -> Self {
        Self::default()
    }

    /// Selects requests with a verb.
    pub fn of(verb: Verb) -> Self {
        Self { verb: Some(verb), ..Self::default() }
    }

    /// Selects a group; the core group is empty.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Selects a resource: `pods`. Subresources are selected separately: `pods/status`.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Selects the namespace in the path; empty for requests across all namespaces.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Selects an object by name. Creates do not match, since their path has no name; a list or watch with
    /// `fieldSelector=metadata.name=...` matches that name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Selects clients by the beginning of their `User-Agent`: `kubectl/`.
    pub fn user_agent(mut self, beginning: impl Into<String>) -> Self {
        self.user_agent = Some(beginning.into());
        self
    }

    /// Responds with this, without serving the request. A code becomes the server's own status for that code.
    pub fn answer(self, answer: impl Into<Answer>) -> Fault {
        self.with_effect(Effect::Answer(answer.into()))
    }

    /// Delays the request.
    pub fn delay(self, time: Duration) -> Fault {
        self.with_effect(Effect::Delay(time))
    }

    /// Breaks off a watch inside an event, and any other response in the middle of its body, after the request has
    /// been served. Closes the connection in HTTP/1.1, and the stream in HTTP/2.
    pub fn cut(self) -> Fault {
        self.with_effect(Effect::End(Ending::Abrupt))
    }

    /// Like [`cut`](Self::cut), but closes the connection in HTTP/2 too, with every request on it.
    pub fn cut_connection(self) -> Fault {
        self.with_effect(Effect::End(Ending::Connection))
    }

    /// Ends a watch as if it had timed out. Has no effect on other requests.
    pub fn end(self) -> Fault {
        self.with_effect(Effect::End(Ending::Clean))
    }

    /// Stalls a watch: it sends nothing more and does not end. Other requests time out without being served.
    pub fn stall(self) -> Fault {
        self.with_effect(Effect::End(Ending::Stall))
    }

    /// Ends a watch with an ERROR event of code 410. Has no effect on other requests.
    pub fn expire(self) -> Fault {
        self.with_effect(Effect::End(Ending::expired()))
    }

    /// Ends a watch with an ERROR event. Has no effect on other requests.
    pub fn fail(self, status: Status) -> Fault {
        self.with_effect(Effect::End(Ending::Error(Box::new(status))))
    }

    pub(super) fn with_effect(self, effect: Effect) -> Fault {
        Fault { requests: self, effect, times: None, every: 1, after_events: 0 }
    }

    pub(super) fn match_with(&self, info: &RequestInfo) -> bool {
        let RequestInfo { target, user_agent } = info;
        let fits = |wanted: &Option<String>, text: &str| wanted.as_deref().is_none_or(|it| it == text);
        let resource = self.resource.as_deref().is_none_or(|wanted| match wanted.split_once('/') {
            Some((resource, sub)) => target.resource == resource && target.subresource == sub,
            None => target.resource == wanted && target.subresource.is_empty(),
        });
        resource
            && self.verb.is_none_or(|verb| target.verb == verb)
            && fits(&self.group, &target.group)
            && fits(&self.namespace, &target.namespace)
            && fits(&self.name, &target.name)
            && self.user_agent.as_deref().is_none_or(|beginning| user_agent.starts_with(beginning))
    }
}

/// The attributes of a request that faults match.
#[derive(Debug, Clone)]
pub(crate) struct RequestInfo {
    pub(crate) target: Arc<ResourceRequest>,
    pub(crate) user_agent: String,
}

impl RequestInfo {
    pub(crate) fn new(target: &ResourceRequest, headers: &HeaderMap) -> Self {
        let agent = headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
        Self { target: Arc::new(target.clone()), user_agent: agent.unwrap_or_default().into_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Query, Target};
    use http::Method;

    fn info(method: &Method, uri: &str) -> RequestInfo {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let Ok(Target::Resource(target)) = Target::read(method, path, &Query::parse(query)) else { panic!() };
        RequestInfo::new(&target, &HeaderMap::from_iter([(USER_AGENT, "kubectl/v1.37".parse().unwrap())]))
    }

    #[test]
    fn a_request_must_match_every_attribute() {
        let scale = info(&Method::PUT, "/apis/apps/v1/namespaces/shop/deployments/web/scale");
        let all = Requests::of(Verb::Update)
            .group("apps")
            .resource("deployments/scale")
            .namespace("shop")
            .name("web")
            .user_agent("kubectl/");
        assert!(all.match_with(&scale) && Requests::any().match_with(&scale));
        let others = [
            Requests { verb: Some(Verb::Patch), ..all.clone() },
            all.clone().group(""),
            all.clone().resource("deployments"),
            all.clone().resource("deployments/status"),
            all.clone().namespace(""),
            all.clone().name("we"),
            all.user_agent("kube-controller"),
        ];
        for other in others {
            assert!(!other.match_with(&scale), "{other:?}");
        }
    }

    #[test]
    fn a_watch_with_a_name_selector_matches_that_name() {
        let one = info(&Method::GET, "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dweb");
        assert!(Requests::of(Verb::Watch).name("web").namespace("").match_with(&one));
        assert!(!Requests::of(Verb::List).match_with(&one));
    }
}
