//! Client configuration for the embedded server.

use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::Config;
use watchkeeper_client::config::{Authorities, Authorization, Proxy};

/// Returns a config for the server.
pub(crate) fn config(server: &ApiServer) -> Config {
    let mut config = Config::new(server.url().parse().unwrap());
    config.authorization = Authorization::Token(server.token().into());
    config.proxy = Proxy::Direct;
    if let Some(pem) = server.ca_pem() {
        config.authorities = Authorities::Pem(pem.to_owned());
    }
    config
}
