//! Feed: a subscription that has begun: the changes of an informer, in the form that was asked for.

use std::sync::Arc;
use std::task::Waker;

use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, Resync, Subscription, SubscriptionOptions};
use watchkeeper_core::{Encoding, Object, ObjectKey};
use watchkeeper_wire::{Kind, decode};

use super::BATCH;
use super::message::What;
use super::rows::Rows;
use super::subscription::Form;
use crate::catalog::Watched;
use crate::secret;

/// Changes of an informer.
#[derive(Debug)]
pub(super) struct Feed {
    watched: Watched,
    options: SubscriptionOptions,
    shape: Shape,
    changes: Subscription,
    /// How many objects its reader has been told of; `None` once he was told that these were all.
    initial: Option<usize>,
}

/// How objects are written.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// As rows of this table.
    Rows(Arc<Rows>),
    /// Whole, with this kind.
    Objects(Kind),
}

/// What a feed has.
#[derive(Debug)]
pub(super) enum Taken {
    /// Nothing, for now.
    Nothing,
    /// Changes, to be [written](Changes::write).
    Changes(Changes),
    /// All of the initial content was taken: so many objects.
    Synced(usize),
    /// Its informer has ended.
    Ended,
}

/// Changes that were taken, at most [`BATCH`].
#[derive(Debug)]
pub(super) struct Changes {
    shape: Shape,
    now: Vec<Arc<Object>>,
    gone: Vec<ObjectKey>,
}

impl Feed {
    pub(super) fn new(watched: Watched, filter: Filter, shape: Shape, waker: Waker) -> Self {
        let options = SubscriptionOptions {
            filter,
            name: "stream".to_owned(),
            resync: Resync::Never,
            waker: Some(waker),
        };
        let changes = watched.informer.subscribe(options.clone());
        Self { watched, options, shape, changes, initial: Some(0) }
    }

    /// Begins from the beginning.
    pub(super) fn again(&mut self) {
        self.changes = self.watched.informer.subscribe(self.options.clone());
        self.initial = Some(0);
    }

    pub(super) fn informer(&self) -> &Informer {
        &self.watched.informer
    }

    /// The columns that are to be told first, if it has rows.
    pub(super) fn columns(&self) -> Option<What> {
        match &self.shape {
            Shape::Rows(rows) => Some(What::Columns(rows.columns())),
            Shape::Objects(_) => None,
        }
    }

    pub(super) fn take(&mut self) -> Taken {
        let Some(deltas) = self.changes.take(BATCH) else { return Taken::Ended };
        if deltas.is_empty() {
            return match self.initial {
                Some(count) if self.changes.is_caught_up() => {
                    self.initial = None;
                    Taken::Synced(count)
                }
                _ => Taken::Nothing,
            };
        }
        let mut changes =
            Changes { shape: self.shape.clone(), now: Vec::with_capacity(deltas.len()), gone: Vec::new() };
        for delta in deltas {
            if let Some(initial) = &mut self.initial {
                match &delta {
                    Delta::Added { .. } => *initial += 1,
                    Delta::Deleted { .. } => *initial = initial.saturating_sub(1),
                    Delta::Updated { .. } | Delta::Resync(_) => {}
                }
            }
            changes.add(delta);
        }
        Taken::Changes(changes)
    }
}

impl Changes {
    fn add(&mut self, delta: Delta<Arc<Object>>) {
        match delta {
            Delta::Added { new, .. } | Delta::Updated { new, .. } | Delta::Resync(new) => {
                // What has taken the place of another comes right after it, and then replaces it.
                self.gone.pop_if(|key| key == new.head.key());
                self.now.push(new);
            }
            Delta::Deleted { old, .. } => self.gone.push(old.head.key().clone()),
        }
    }

    /// Takes long, where rows have to be made.
    pub(super) fn write(self) -> What {
        let (form, now) = match &self.shape {
            Shape::Rows(rows) => (Form::Row, rows.of(&self.now)),
            Shape::Objects(kind) => {
                (Form::Object, self.now.iter().map(|object| whole(object, kind)).collect())
            }
        };
        What::Changed { form, now, gone: self.gone }
    }
}

/// An object with its kind, as JSON in one line, without what is secret in it. One that cannot be read is an empty one.
fn whole(object: &Object, kind: &Kind) -> Arc<str> {
    let body = &object.encoded.body;
    if secret::is_secret_kind(kind) {
        let mut value = decode::<serde_json::Value>(&object.encoded, kind).unwrap_or_default();
        secret::redact(&mut value);
        return value.to_string().into();
    }
    if object.encoded.encoding == Encoding::Json
        && !body.contains(&b'\n')
        && let Some(rest) = body.strip_prefix(b"{")
        && let Ok(rest) = std::str::from_utf8(rest)
    {
        let comma = if rest == "}" { "" } else { "," };
        let (version, kind) = (kind.api_version(), kind.kind());
        return format!("{{\"apiVersion\":\"{version}\",\"kind\":\"{kind}\"{comma}{rest}").into();
    }
    decode::<serde_json::Value>(&object.encoded, kind).unwrap_or_default().to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, HeadBuilder};

    #[test]
    fn of_a_secret_only_the_sizes_are_sent() {
        let body = br#"{"metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}}"#;
        let object =
            Object { head: HeadBuilder::default().finish(), encoded: Encoded::json(body.as_slice()) };
        let sent = whole(&object, &Kind::new("", "v1", "Secret"));
        assert!(sent.contains(r#""password":"<redacted: 7 bytes>""#), "{sent}");
        assert!(sent.contains(r#""kind":"Secret""#), "{sent}");
        assert!(!sent.contains("aHVudGVyMg"), "{sent}");
        let map = whole(&object, &Kind::new("", "v1", "ConfigMap"));
        assert!(map.contains("aHVudGVyMg"), "{map}");
    }
}
