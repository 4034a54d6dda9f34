//! Requests: which of them a fault is for.

use std::sync::Arc;
use std::time::Duration;

use crate::http::{ResourceRequest, Verb};
use http::HeaderMap;
use http::header::USER_AGENT;
use watchkeeper_core::Status;

use super::{Answer, Effect, Ending, Fault};

/// Some of the requests for resources; by default all of them. What it is told of must fit, each.
///
/// Its last word is what happens to them, and makes a [`Fault`].
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
    /// Every request for a resource.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of a verb.
    pub fn of(verb: Verb) -> Self {
        Self { verb: Some(verb), ..Self::default() }
    }

    /// Only of this group; the core group is empty.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Only of this resource: `pods`. Its subresources are resources of their own: `pods/status`.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Only with this namespace in the path; empty for requests over all namespaces.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only for this object. A create has its name in the body and not in the path, so that this does not
    /// find it; a list or watch with `fieldSelector=metadata.name=...` has that name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only of clients whose `User-Agent` begins like this: `kubectl/`.
    pub fn user_agent(mut self, beginning: impl Into<String>) -> Self {
        self.user_agent = Some(beginning.into());
        self
    }

    /// Answers this instead, and does nothing. A code becomes what this server says with that code.
    pub fn answer(self, answer: impl Into<Answer>) -> Fault {
        self.suffer(Effect::Answer(answer.into()))
    }

    /// Waits so long, and then goes on as ever.
    pub fn delay(self, time: Duration) -> Fault {
        self.suffer(Effect::Delay(time))
    }

    /// Breaks off: a watch within an event, any other answer half-way through its body, when what was
    /// asked has been done. HTTP/1.1 loses its connection by it, HTTP/2 a stream.
    pub fn cut(self) -> Fault {
        self.suffer(Effect::End(Ending::Abrupt))
    }

    /// Like [`cut`](Self::cut), but HTTP/2, too, loses the connection, and every request on it.
    pub fn cut_connection(self) -> Fault {
        self.suffer(Effect::End(Ending::Connection))
    }

    /// Ends a watch as if its time were up. Other requests are answered as ever.
    pub fn end(self) -> Fault {
        self.suffer(Effect::End(Ending::Clean))
    }

    /// Lets nothing more come from a watch, nor an end. Other requests are not answered until their time
    /// is up, and not done.
    pub fn stall(self) -> Fault {
        self.suffer(Effect::End(Ending::Stall))
    }

    /// Ends a watch with an ERROR event that says 410. Other requests are answered as ever.
    pub fn expire(self) -> Fault {
        self.suffer(Effect::End(Ending::expired()))
    }

    /// Ends a watch with an ERROR event. Other requests are answered as ever.
    pub fn fail(self, status: Status) -> Fault {
        self.suffer(Effect::End(Ending::Error(Box::new(status))))
    }

    pub(super) fn suffer(self, effect: Effect) -> Fault {
        Fault { requests: self, effect, times: None, every: 1, after_events: 0 }
    }

    pub(super) fn match_with(&self, seen: &Seen) -> bool {
        let Seen { target, user_agent } = seen;
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

/// What is known of a request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) target: Arc<ResourceRequest>,
    pub(crate) user_agent: String,
}

impl Seen {
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

    fn seen(method: &Method, uri: &str) -> Seen {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let Ok(Target::Resource(target)) = Target::read(method, path, &Query::parse(query)) else { panic!() };
        Seen::new(&target, &HeaderMap::from_iter([(USER_AGENT, "kubectl/v1.37".parse().unwrap())]))
    }

    #[test]
    fn a_request_is_chosen_by_each_of_its_words() {
        let scale = seen(&Method::PUT, "/apis/apps/v1/namespaces/shop/deployments/web/scale");
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
    fn a_watch_of_one_name_has_that_name() {
        let one = seen(&Method::GET, "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dweb");
        assert!(Requests::of(Verb::Watch).name("web").namespace("").match_with(&one));
        assert!(!Requests::of(Verb::List).match_with(&one));
    }
}
