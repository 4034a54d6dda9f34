//! Requests: what a script was asked.

use std::fmt;

use watchkeeper_core::{ListRequest, WatchRequest};

/// A request that came. It is shown as its sort and its query: `list ?resourceVersion=0&limit=500`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A list, or a page of one.
    List(ListRequest),
    /// A watch.
    Watch(WatchRequest),
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, query) = match self {
            Self::List(request) => ("list", request.query()),
            Self::Watch(request) => ("watch", request.query()),
        };
        f.write_str(word)?;
        for (index, (name, value)) in query.iter().enumerate() {
            let mark = if index == 0 { " ?" } else { "&" };
            write!(f, "{mark}{name}={value}")?;
        }
        Ok(())
    }
}
