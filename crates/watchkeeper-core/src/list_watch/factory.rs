//! Factories of sources.

use super::{Collection, ListWatch, Union};

/// A factory of [`ListWatch`] sources for any collection: a client of an API server, or the embedded server.
pub trait ListWatchFactory: Send + Sync {
    /// Creates the source of a collection, without sending a request.
    ///
    /// The source of several namespaces is a [`Union`]: see [`Union::of_namespaces`].
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch>;
}

/// A function that creates sources. It is never called with several namespaces.
impl<F: Fn(&Collection) -> Box<dyn ListWatch> + Send + Sync> ListWatchFactory for F {
    fn source(&self, collection: &Collection) -> Box<dyn ListWatch> {
        match Union::of_namespaces(collection, self) {
            Some(union) => Box::new(union),
            None => self(collection),
        }
    }
}
