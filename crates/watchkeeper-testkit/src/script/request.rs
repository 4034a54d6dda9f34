//! Recorded requests.

use std::fmt;

use watchkeeper_core::{ListRequest, WatchRequest};

/// A recorded request. Displayed with its query: `list ?resourceVersion=0&limit=500`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A list, or a page of one.
    List(ListRequest),
    /// A watch.
    Watch(WatchRequest),
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, query) = match self {
            Self::List(request) => ("list", request.query()),
            Self::Watch(request) => ("watch", request.query()),
        };
        f.write_str(verb)?;
        for (index, (name, value)) in query.iter().enumerate() {
            let mark = if index == 0 { " ?" } else { "&" };
            write!(f, "{mark}{name}={value}")?;
        }
        Ok(())
    }
}
