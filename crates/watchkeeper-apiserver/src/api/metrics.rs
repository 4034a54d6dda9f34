//! Metrics: requests by verb and code.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::http::Verb;
use crate::store::Revision;
use parking_lot::Mutex;

/// Request counts by verb and code. Both are bounded, so clients cannot make this grow.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, i32), u64>>,
}

impl Metrics {
    pub(super) fn count(&self, verb: Verb, code: i32) {
        *self.requests.lock().entry((verb.as_str(), code)).or_default() += 1;
    }

    /// Returns the text of `/metrics`.
    pub(super) fn render(&self, revision: Revision, unread_bytes: usize) -> String {
        let mut text = String::from(
            "# HELP apiserver_request_total Requests for resources, by verb and code.\n\
             # TYPE apiserver_request_total counter\n",
        );
        for ((verb, code), count) in self.requests.lock().iter() {
            let verb = verb.to_uppercase();
            let _ = writeln!(text, "apiserver_request_total{{verb=\"{verb}\",code=\"{code}\"}} {count}");
        }
        let _ = write!(
            text,
            "# HELP watchkeeper_store_revision The revision of the newest change.\n\
             # TYPE watchkeeper_store_revision gauge\n\
             watchkeeper_store_revision {revision}\n\
             # HELP watchkeeper_unread_response_bytes Bytes held for responses that clients have not read.\n\
             # TYPE watchkeeper_unread_response_bytes gauge\n\
             watchkeeper_unread_response_bytes {unread_bytes}\n"
        );
        text
    }
}
