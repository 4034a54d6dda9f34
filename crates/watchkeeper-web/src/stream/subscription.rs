//! Subscription: what somebody wants to see, and in which form.

use std::collections::HashSet;

use serde::Deserialize;
use watchkeeper_cache::handler::Filter;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::LabelSelector;
use watchkeeper_wire::Kind;

use super::MAX_SUBSCRIPTIONS;
use crate::envelope::Failure;
use crate::fields::Fields;

/// What somebody wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Subscription {
    /// What its reader calls it.
    pub(super) id: String,
    /// In the plural.
    pub(super) resource: String,
    /// `core` or empty for the core group.
    #[serde(default)]
    group: String,
    #[serde(default = "first")]
    pub(super) version: String,
    /// Empty for all. Kinds that are in no namespace ignore it, as they ignore kubectl's `--namespace`.
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    label_selector: String,
    #[serde(default)]
    field_selector: String,
    /// Empty for all.
    #[serde(default)]
    pub(super) name: String,
    #[serde(default, rename = "as")]
    pub(super) form: Form,
}

/// In which form objects are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Form {
    /// As rows of a table.
    #[default]
    Row,
    /// Whole.
    Object,
}

/// All that a stream is of: no more than it may have, each called something else.
#[derive(Debug)]
pub(super) struct Set(Vec<Subscription>);

fn first() -> String {
    "v1".to_owned()
}

impl Set {
    pub(super) fn new(wanted: Vec<Subscription>) -> Result<Self, Failure> {
        if wanted.len() > MAX_SUBSCRIPTIONS {
            let count = wanted.len();
            return Err(Failure::bad(format!(
                "{count} subscriptions: a stream has at most {MAX_SUBSCRIPTIONS}"
            )));
        }
        let mut ids = HashSet::new();
        match wanted.iter().find(|wanted| wanted.id.is_empty() || !ids.insert(wanted.id.as_str())) {
            Some(wanted) if wanted.id.is_empty() => Err(Failure::bad("a subscription needs an id")),
            Some(wanted) => Err(Failure::bad(format!("two subscriptions have the id {:?}", wanted.id))),
            None => Ok(Self(wanted)),
        }
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            subscriptions: Vec<Subscription>,
        }
        let body: Body = serde_json::from_slice(body)
            .map_err(|error| Failure::bad(format!("this is no set of subscriptions: {error}")))?;
        Self::new(body.subscriptions)
    }

    pub(super) fn into_inner(self) -> Vec<Subscription> {
        self.0
    }
}

impl Subscription {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|error| Failure::bad(format!("this is no subscription: {error}")))
    }

    /// Reads a subscription whose fields are parameters of a query: `resource=pods&namespace=shop`. Its id is the name
    /// of the resource. `None` where the query has none of them.
    pub(super) fn of_query(query: &[(String, String)]) -> Result<Option<Self>, Failure> {
        let mut fields = serde_json::Map::new();
        for (name, value) in query {
            if fields.insert(name.clone(), value.as_str().into()).is_some() {
                return Err(Failure::bad(format!("query parameter {name:?} is given twice")));
            }
        }
        let Some(resource) = fields.get("resource").cloned() else {
            let Some(name) = fields.keys().next() else { return Ok(None) };
            return Err(Failure::bad(format!("query parameter {name:?} needs resource=... beside it")));
        };
        fields.entry("id").or_insert(resource);
        let subscription = Self::deserialize(serde_json::Value::from(fields));
        subscription.map(Some).map_err(|error| Failure::bad(format!("invalid query: {error}")))
    }

    /// Empty for core.
    pub(super) fn group(&self) -> &str {
        if self.group == "core" { "" } else { &self.group }
    }

    /// The namespace that objects of a resource are chosen by; empty for all.
    pub(super) fn namespace_of(&self, mapping: &Mapping) -> &str {
        if mapping.namespaced { &self.namespace } else { "" }
    }

    /// Which objects are meant.
    pub(super) fn filter(&self, mapping: &Mapping) -> Result<Filter, Failure> {
        let mut filter = match self.namespace_of(mapping) {
            "" => Filter::default(),
            namespace => Filter::namespace(namespace),
        };
        if !self.name.is_empty() {
            let name = self.name.clone();
            filter = filter.and(Filter::of(move |object| object.head.key().name() == name));
        }
        if !self.label_selector.is_empty() {
            let labels = self.label_selector.parse::<LabelSelector>();
            filter = filter
                .and(Filter::labels(labels.map_err(|why| Failure::bad(format!("labelSelector: {why}")))?));
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

    fn problem(result: Result<Set, Failure>) -> String {
        result.unwrap_err().message().to_owned()
    }

    #[test]
    fn what_is_left_out_is_everything_as_rows_of_the_first_version() {
        let one = Subscription::parse(r#"{"id":"a","resource":"pods","group":"core"}"#).unwrap();
        assert_eq!((one.group(), one.version.as_str(), one.form), ("", "v1", Form::Row));
        assert_eq!((one.namespace.as_str(), one.name.as_str()), ("", ""));
        let other = Subscription::parse(r#"{"id":"a","resource":"pods","as":"object"}"#).unwrap();
        assert_eq!((other.group(), other.form), ("", Form::Object));
    }

    #[test]
    fn a_query_is_a_subscription() {
        let query = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Subscription::of_query(&pairs).map_err(|failure| failure.message().to_owned())
        };
        assert_eq!(query(&[]), Ok(None));
        let pods = query(&[("resource", "pods"), ("namespace", "shop"), ("labelSelector", "app=web")]);
        let spelled = r#"{"id":"pods","resource":"pods","namespace":"shop","labelSelector":"app=web"}"#;
        assert_eq!(pods, Ok(Some(Subscription::parse(spelled).unwrap())));
        let whole =
            query(&[("resource", "deployments"), ("group", "apps"), ("name", "web"), ("as", "object")]);
        assert_eq!(whole.unwrap().unwrap().form, Form::Object);
        let problem = |pairs| query(pairs).unwrap_err();
        assert_eq!(
            problem(&[("namespace", "a")]),
            r#"query parameter "namespace" needs resource=... beside it"#
        );
        assert_eq!(
            problem(&[("resource", "a"), ("resource", "b")]),
            r#"query parameter "resource" is given twice"#
        );
        let unknown = problem(&[("resource", "a"), ("labels", "b")]);
        assert!(unknown.starts_with("invalid query: unknown field `labels`"), "{unknown}");
    }

    #[test]
    fn a_set_is_refused_with_what_is_wrong_with_it() {
        let one = r#"{"id":"a","resource":"pods"}"#;
        let set = |inner: &str| Set::parse(format!(r#"{{"subscriptions":[{inner}]}}"#).as_bytes());
        assert!(set(one).is_ok() && set("").is_ok());
        assert_eq!(problem(set(&format!("{one},{one}"))), r#"two subscriptions have the id "a""#);
        assert_eq!(problem(set(r#"{"id":"","resource":"pods"}"#)), "a subscription needs an id");
        let unknown = problem(set(r#"{"id":"a","resource":"pods","labels":"a=b"}"#));
        assert!(unknown.starts_with("this is no set of subscriptions: unknown field `labels`"), "{unknown}");
        let many: Vec<_> =
            (0..=MAX_SUBSCRIPTIONS).map(|id| format!(r#"{{"id":"{id}","resource":"pods"}}"#)).collect();
        assert!(set(&many[..MAX_SUBSCRIPTIONS].join(",")).is_ok());
        assert_eq!(problem(set(&many.join(","))), "1025 subscriptions: a stream has at most 1024");
    }
}
