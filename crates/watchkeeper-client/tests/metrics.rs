//! Client metrics under client-go's names, against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use watchkeeper_apiserver::faults::Fault;
use watchkeeper_apiserver::http::Verb;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::config::Authorities;
use watchkeeper_client::metrics::PrometheusMetrics;
use watchkeeper_client::rest::{Content, RateLimiter, RetryPolicy};
use watchkeeper_client::{Config, RestClient, Transport};
use watchkeeper_metrics::Registry;

struct World {
    server: ApiServer,
    registry: Registry,
    transport: Transport,
}

impl World {
    async fn start() -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let config = support::config(&server);
        Self::over(server, config)
    }

    fn over(server: ApiServer, mut config: Config) -> Self {
        let registry = Registry::new();
        config.metrics = Arc::new(PrometheusMetrics::new(&registry).unwrap());
        let transport = Transport::from_config(&config).unwrap();
        Self { server, registry, transport }
    }

    fn core(&self) -> RestClient {
        RestClient::for_group_version(self.transport.clone(), &"v1".parse().unwrap(), Content::json())
    }

    /// The lines of a metric, with `HOST` for the server's address.
    fn lines(&self, name: &str) -> Vec<String> {
        let page = self.registry.render().replace(self.transport.host(), "HOST");
        let matches = |line: &&str| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']);
        page.lines().filter(matches).map(str::to_owned).collect()
    }

    fn value(&self, series: &str) -> f64 {
        let page = self.registry.render().replace(self.transport.host(), "HOST");
        let line = page.lines().find(|line| line.rsplit_once(' ').is_some_and(|(name, _)| name == series));
        line.unwrap_or_else(|| panic!("{series} is not in {page}"))
            .rsplit_once(' ')
            .unwrap()
            .1
            .parse()
            .unwrap()
    }
}

#[tokio::test]
async fn every_attempt_is_counted_by_code_method_and_host() {
    let world = World::start().await;
    let core = world.core();
    let maps =
        |request: watchkeeper_client::rest::Request| request.namespace("default").resource("configmaps");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    maps(core.post()).object(&map).send().await.unwrap();
    let response = maps(core.get()).name("a").send().await.unwrap();
    maps(core.get()).name("b").send().await.unwrap_err();
    let busy = world.server.faults().add(Fault::on(Verb::List).answer(429).times(2));
    maps(core.get()).send().await.unwrap();
    assert_eq!(busy.hits(), 2);
    maps(core.get()).param("watch", "true").open_watch().await.unwrap();
    maps(core.get()).name("a").stream().await.unwrap();

    assert_eq!(
        world.lines("rest_client_requests_total"),
        [
            "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"HOST\"} 4",
            "rest_client_requests_total{code=\"201\",method=\"POST\",host=\"HOST\"} 1",
            "rest_client_requests_total{code=\"404\",method=\"GET\",host=\"HOST\"} 1",
            "rest_client_requests_total{code=\"429\",method=\"GET\",host=\"HOST\"} 2",
        ]
    );
    assert_eq!(
        world.lines("rest_client_request_retries_total"),
        [
            "rest_client_request_retries_total{code=\"200\",verb=\"GET\",host=\"HOST\"} 1",
            "rest_client_request_retries_total{code=\"429\",verb=\"GET\",host=\"HOST\"} 1",
        ],
        "attempts after the first, each with its own code"
    );
    // Whole requests only, not watches and streams.
    let of_get = |name: &str| world.value(&format!("rest_client_{name}{{verb=\"GET\",host=\"HOST\"}}"));
    assert_eq!(of_get("request_duration_seconds_count"), 3.0);
    assert!(of_get("request_duration_seconds_sum") >= 2.0, "the server requested two waits of a second");
    assert_eq!(of_get("request_size_bytes_count"), 5.0, "every attempt");
    assert_eq!(of_get("request_size_bytes_sum"), 0.0);
    assert_eq!(of_get("response_size_bytes_count"), 3.0, "an error response has a body too");
    assert!(of_get("response_size_bytes_sum") > response.body.len() as f64);
    let posted = world.value("rest_client_request_size_bytes_sum{verb=\"POST\",host=\"HOST\"}");
    assert_eq!(posted, map.to_string().len() as f64);
    assert_eq!(
        world.lines("rest_client_request_size_bytes_bucket").len(),
        24,
        "client-go's eleven buckets and +Inf, for two verbs"
    );
    assert_eq!(
        world.lines("rest_client_transport_create_calls_total"),
        ["rest_client_transport_create_calls_total{result=\"uncacheable\"} 1"]
    );
    assert_eq!(
        world.lines("rest_client_exec_plugin_ttl_seconds"),
        ["rest_client_exec_plugin_ttl_seconds +Inf"]
    );
    assert!(world.lines("rest_client_rate_limiter_duration_seconds_count").is_empty(), "no rate limiter");
    world.server.stop().await;
}

#[tokio::test]
async fn attempts_without_a_response_are_counted_as_errors() {
    let world = World::start().await;
    // A dropped request was sent too.
    let stalled = world.server.faults().add(Fault::on(Verb::List).delay(Duration::from_secs(600)));
    let list = tokio::spawn(world.core().get().resource("pods").send());
    while stalled.hits() == 0 {
        tokio::task::yield_now().await;
    }
    list.abort();
    assert!(list.await.unwrap_err().is_cancelled());
    let errors = "rest_client_requests_total{code=\"<error>\",method=\"GET\",host=\"HOST\"}";
    assert_eq!(world.value(errors), 1.0);

    let core = world.core();
    world.server.stop().await;
    let registry = Registry::new();
    let mut config = Config::new(format!("http://{}", core.transport().host()).parse().unwrap());
    config.metrics = Arc::new(PrometheusMetrics::new(&registry).unwrap());
    config.proxy = watchkeeper_client::config::Proxy::Direct;
    let unreachable = RestClient::new(Transport::from_config(&config).unwrap(), "/", Content::json());
    let error = unreachable.delete().abs_path("/x").send().await.unwrap_err();
    assert!(!error.may_have_happened());
    let expected = format!(
        "rest_client_requests_total{{code=\"<error>\",method=\"DELETE\",host=\"{}\"}} 1\n",
        core.transport().host()
    );
    assert!(registry.render().contains(&expected));
}

#[tokio::test]
async fn rate_limiter_waits_are_recorded_except_for_the_first_attempt_of_a_watch() {
    let world = World::start().await;
    let limiter = Arc::new(RateLimiter::new(20.0, 1));
    let core = world.core().rate_limiter(limiter).retry_policy(RetryPolicy::default());
    let waits = || world.value("rest_client_rate_limiter_duration_seconds_count{verb=\"GET\",host=\"HOST\"}");
    core.get().resource("pods").send().await.unwrap();
    core.get().resource("pods").stream().await.unwrap();
    assert_eq!(waits(), 2.0);
    let sum = world.value("rest_client_rate_limiter_duration_seconds_sum{verb=\"GET\",host=\"HOST\"}");
    assert!(sum > 0.01, "the second request waited for its token: {sum}");

    let watch = || core.get().resource("pods").param("watch", "true").open_watch();
    watch().await.unwrap();
    assert_eq!(waits(), 2.0);
    world.server.faults().add(Fault::on(Verb::Watch).answer(429).times(1));
    watch().await.unwrap();
    assert_eq!(waits(), 3.0, "the retry waits");
    world.server.stop().await;
}

#[tokio::test]
async fn dns_lookups_are_timed_and_ip_addresses_need_none() {
    let server = ApiServer::builder().start().await.unwrap();
    let mut config = support::config(&server);
    config.server = format!("https://localhost:{}", server.address().port()).parse().unwrap();
    config.authorities = Authorities::SkipVerify;
    let world = World::over(server, config);
    world.core().get().resource("pods").send().await.unwrap();
    world.core().get().resource("pods").send().await.unwrap();
    assert_eq!(world.value("rest_client_dns_resolution_duration_seconds_count{host=\"localhost\"}"), 1.0);
    world.server.stop().await;
    let world = World::start().await;
    world.core().get().resource("pods").send().await.unwrap();
    assert!(world.lines("rest_client_dns_resolution_duration_seconds_count").is_empty());
    world.server.stop().await;
}
