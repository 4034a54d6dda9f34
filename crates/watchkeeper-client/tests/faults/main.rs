//! What a client does when the network or the server fails: how each failure ends, within which time, and
//! what it is called.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod goaway;
mod retries;
mod scripted;
mod tls;
mod wire;

use watchkeeper_client::rest::Content;
use watchkeeper_client::{Config, RestClient, Transport};

/// A client of the core group, in JSON.
fn core(config: &Config) -> RestClient {
    let transport = Transport::from_config(config).unwrap();
    RestClient::of(transport, &"v1".parse().unwrap(), Content::json())
}
