//! Subscription requests of clients.

use std::collections::HashSet;

use serde::Deserialize;
use watchkeeper_cache::handler::Filter;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::LabelSelector;
use watchkeeper_wire::Kind;

use super::MAX_SUBSCRIPTIONS;
use crate::envelope::Failure;
use crate::fields::Fields;

/// A subscription requested by a client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SubscriptionRequest {
    /// The client's id of the subscription.
    pub(super) id: String,
    /// Resource, in the plural.
    pub(super) resource: String,
    /// API group; `core` or empty for the core group.
    #[serde(default)]
    group: String,
    #[serde(default = "first")]
    pub(super) version: String,
    /// Namespace; empty for all. Ignored for cluster-scoped resources, as kubectl ignores `--namespace`.
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    label_selector: String,
    #[serde(default)]
    field_selector: String,
    /// Object name; empty for all.
    #[serde(default)]
    pub(super) name: String,
    #[serde(default, rename = "as")]
    pub(super) format: Format,
}

/// The format in which objects are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Format {
    /// Rows of a table.
    #[default]
    Row,
    /// Whole objects.
    Object,
}

/// The subscriptions of a stream: a limited number, with unique ids.
#[derive(Debug)]
pub(super) struct SubscriptionSet(Vec<SubscriptionRequest>);

fn first() -> String {
    "v1".to_owned()
}

impl SubscriptionSet {
    pub(super) fn new(requests: Vec<SubscriptionRequest>) -> Result<Self, Failure> {
        if requests.len() > MAX_SUBSCRIPTIONS {
            let count = requests.len();
            return Err(Failure::bad_request(format!(
                "{count} subscriptions exceed the limit of {MAX_SUBSCRIPTIONS} per stream"
            )));
        }
        let mut ids = HashSet::new();
        match requests.iter().find(|request| request.id.is_empty() || !ids.insert(request.id.as_str())) {
            Some(request) if request.id.is_empty() => {
                Err(Failure::bad_request("subscription id must not be empty"))
            }
            Some(request) => Err(Failure::bad_request(format!("duplicate subscription id {:?}", request.id))),
            None => Ok(Self(requests)),
        }
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            subscriptions: Vec<SubscriptionRequest>,
        }
        let body: Body = serde_json::from_slice(body)
            .map_err(|error| Failure::bad_request(format!("invalid subscriptions: {error}")))?;
        Self::new(body.subscriptions)
    }

    pub(super) fn into_inner(self) -> Vec<SubscriptionRequest> {
        self.0
    }
}

impl SubscriptionRequest {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text)
            .map_err(|error| Failure::bad_request(format!("invalid subscription: {error}")))
    }

    /// Parses a subscription from query parameters: `resource=pods&namespace=shop`. Its id is the name of the resource.
    /// Returns `None` for an empty query.
    pub(super) fn of_query(query: &[(String, String)]) -> Result<Option<Self>, Failure> {
        let mut fields = serde_json::Map::new();
        for (name, value) in query {
            if fields.insert(name.clone(), value.as_str().into()).is_some() {
                return Err(Failure::bad_request(format!("duplicate query parameter {name:?}")));
            }
        }
        let Some(resource) = fields.get("resource").cloned() else {
            let Some(name) = fields.keys().next() else { return Ok(None) };
            return Err(Failure::bad_request(format!("query parameter {name:?} requires resource=...")));
        };
        fields.entry("id").or_insert(resource);
        let subscription = Self::deserialize(serde_json::Value::from(fields));
        subscription.map(Some).map_err(|error| Failure::bad_request(format!("invalid query: {error}")))
    }

    /// Returns the API group; empty for core.
    pub(super) fn group(&self) -> &str {
        if self.group == "core" { "" } else { &self.group }
    }

    /// Returns the namespace to filter by; empty for all.
    pub(super) fn namespace_of(&self, mapping: &Mapping) -> &str {
        if mapping.namespaced { &self.namespace } else { "" }
    }

    /// Returns the filter for the requested objects.
    pub(super) fn filter(&self, mapping: &Mapping) -> Result<Filter, Failure> {
        let mut filter = match self.namespace_of(mapping) {
            "" => Filter::default(),
            namespace => Filter::namespace(namespace),
        };
        if !self.name.is_empty() {
            let name = self.name.clone();
            filter = filter.and(Filter::of(move |object| object.metadata.key().name() == name));
        }
        if !self.label_selector.is_empty() {
            let labels = self.label_selector.parse::<LabelSelector>();
            filter = filter.and(Filter::labels(
                labels.map_err(|why| Failure::bad_request(format!("labelSelector: {why}")))?,
            ));
        }
        if !self.field_selector.is_empty() {
            let (fields, kind) =
                (Fields::read(&self.field_selector, &mapping.kind)?, Kind::from(mapping.kind.clone()));
            filter = filter.and(Filter::of(move |object| fields.match_object(object, &kind)));
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(result: Result<SubscriptionSet, Failure>) -> String {
        result.unwrap_err().message().to_owned()
    }

    #[test]
    fn defaults_are_all_objects_as_rows_of_v1() {
        let one = SubscriptionRequest::parse(r#"{"id":"a","resource":"pods","group":"core"}"#).unwrap();
        assert_eq!((one.group(), one.version.as_str(), one.format), ("", "v1", Format::Row));
        assert_eq!((one.namespace.as_str(), one.name.as_str()), ("", ""));
        let other = SubscriptionRequest::parse(r#"{"id":"a","resource":"pods","as":"object"}"#).unwrap();
        assert_eq!((other.group(), other.format), ("", Format::Object));
    }

    #[test]
    fn queries_are_subscriptions() {
        let query = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            SubscriptionRequest::of_query(&pairs).map_err(|failure| failure.message().to_owned())
        };
        assert_eq!(query(&[]), Ok(None));
        let pods = query(&[("resource", "pods"), ("namespace", "shop"), ("labelSelector", "app=web")]);
        let spelled = r#"{"id":"pods","resource":"pods","namespace":"shop","labelSelector":"app=web"}"#;
        assert_eq!(pods, Ok(Some(SubscriptionRequest::parse(spelled).unwrap())));
        let whole =
            query(&[("resource", "deployments"), ("group", "apps"), ("name", "web"), ("as", "object")]);
        assert_eq!(whole.unwrap().unwrap().format, Format::Object);
        let problem = |pairs| query(pairs).unwrap_err();
        assert_eq!(problem(&[("namespace", "a")]), r#"query parameter "namespace" requires resource=..."#);
        assert_eq!(
            problem(&[("resource", "a"), ("resource", "b")]),
            r#"duplicate query parameter "resource""#
        );
        let unknown = problem(&[("resource", "a"), ("labels", "b")]);
        assert!(unknown.starts_with("invalid query: unknown field `labels`"), "{unknown}");
    }

    #[test]
    fn invalid_sets_are_rejected_with_the_reason() {
        let one = r#"{"id":"a","resource":"pods"}"#;
        let set =
            |inner: &str| SubscriptionSet::parse(format!(r#"{{"subscriptions":[{inner}]}}"#).as_bytes());
        assert!(set(one).is_ok() && set("").is_ok());
        assert_eq!(problem(set(&format!("{one},{one}"))), r#"duplicate subscription id "a""#);
        assert_eq!(problem(set(r#"{"id":"","resource":"pods"}"#)), "subscription id must not be empty");
        let unknown = problem(set(r#"{"id":"a","resource":"pods","labels":"a=b"}"#));
        assert!(unknown.starts_with("invalid subscriptions: unknown field `labels`"), "{unknown}");
        let many: Vec<_> =
            (0..=MAX_SUBSCRIPTIONS).map(|id| format!(r#"{{"id":"{id}","resource":"pods"}}"#)).collect();
        assert!(set(&many[..MAX_SUBSCRIPTIONS].join(",")).is_ok());
        assert_eq!(problem(set(&many.join(","))), "1025 subscriptions exceed the limit of 1024 per stream");
    }
}
