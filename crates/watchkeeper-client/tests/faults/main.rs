//! Network and server failures: how each one ends, within which time, and with which error.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod goaway;
mod responses;
mod retries;
mod scripted;
mod tls;
mod wire;

use std::error::Error as _;

use watchkeeper_client::rest::{Content, RequestError};
use watchkeeper_client::{Config, RestClient, Transport};

/// A client of the core group, in JSON.
fn core(config: &Config) -> RestClient {
    let transport = Transport::from_config(config).unwrap();
    RestClient::for_group_version(transport, &"v1".parse().unwrap(), Content::json())
}

/// Returns the message of an error and of its cause.
fn with_cause(error: &RequestError) -> String {
    format!("{error}: {}", error.source().unwrap())
}
