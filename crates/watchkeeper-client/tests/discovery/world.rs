//! The embedded server, and a client of it.

use std::sync::Arc;

use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::auth::StaticCredentials;
use watchkeeper_client::config::{Authorities, Proxy};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Config, DiscoveryClient, RestClient, Transport};

pub(crate) struct World {
    server: ApiServer,
    pub(crate) transport: Transport,
}

impl World {
    pub(crate) async fn start() -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let mut config = Config::new(server.url().parse().unwrap());
        config.proxy = Proxy::Direct;
        config.authorities = Authorities::Pem(server.ca_pem().unwrap().to_owned());
        let credentials = StaticCredentials::token(&server.token().into()).unwrap();
        let transport = Transport::new(&config, Arc::new(credentials)).unwrap();
        Self { server, transport }
    }

    pub(crate) fn rest(&self) -> RestClient {
        RestClient::new(self.transport.clone(), "/", Content::json())
    }

    pub(crate) fn client(&self) -> DiscoveryClient {
        DiscoveryClient::new(self.rest())
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}
