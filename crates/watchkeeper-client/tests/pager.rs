//! Paged lists, scripted and from the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::future::{Future, ready};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;
use watchkeeper_apiserver::faults::Fault;
use watchkeeper_apiserver::http::Verb;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::{DynamicApi, DynamicList, DynamicObject, ListOptions, WriteOptions};
use watchkeeper_client::pager::{OnExpired, Pager};
use watchkeeper_client::resource::List;
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::{ErrorChain, ListAt, ListMeta, ListRequest, Status};

/// Time limit for what a test waits for, so that it fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(30);

fn some(limit: u32) -> NonZeroU32 {
    NonZeroU32::new(limit).unwrap()
}

fn at(at: ListAt) -> ListRequest {
    ListRequest { at, limit: None }
}

fn api_error(status: Status) -> RequestError {
    RequestError::Api { request: "GET /list".into(), status: Box::new(status) }
}

/// A scripted list of numbers in pages, which records its requests.
#[derive(Clone, Default)]
struct Numbers {
    count: u32,
    /// Indexes of the requests that fail with 410.
    expired: Vec<usize>,
    /// The continue token in the 410 response.
    token_on_expiry: Option<String>,
    requests: Arc<Mutex<Vec<String>>>,
    requested: Arc<Notify>,
}

impl Numbers {
    fn new(count: u32) -> Self {
        Self { count, ..Self::default() }
    }

    fn expiring(count: u32, expired: &[usize]) -> Self {
        Self { count, expired: expired.to_vec(), ..Self::default() }
    }

    fn fetch(&self, request: &ListRequest) -> Result<List<u32>, RequestError> {
        let number = {
            let mut requests = self.requests.lock();
            let query: Vec<String> =
                request.query().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
            requests.push(query.join("&"));
            requests.len() - 1
        };
        self.requested.notify_one();
        if self.expired.contains(&number) {
            let continue_token = self.token_on_expiry.clone();
            return Err(api_error(Status { continue_token, ..Status::expired("too old") }));
        }
        let begin = match &request.at {
            ListAt::Page(token) => token.parse().unwrap(),
            _ => 0,
        };
        let end = request.limit.map_or(self.count, |limit| self.count.min(begin + limit.get()));
        let metadata = ListMeta {
            resource_version: u64::from(100 + begin).into(),
            continue_token: (end < self.count).then(|| end.to_string()),
            remaining_item_count: Some(u64::from(self.count - end)),
            ..ListMeta::default()
        };
        Ok(List { metadata, items: (begin..end).collect() })
    }

    #[allow(clippy::type_complexity, reason = "an alias would not be clearer")]
    fn pager(
        &self,
    ) -> Pager<impl FnMut(ListRequest) -> std::future::Ready<Result<List<u32>, RequestError>> + Send + 'static>
    {
        let this = self.clone();
        Pager::new(move |request| ready(this.fetch(&request)))
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

#[tokio::test]
async fn pages_are_joined_at_the_version_of_the_first() {
    for (count, requests) in [
        (0, vec!["limit=10"]),
        (1, vec!["limit=10"]),
        (10, vec!["limit=10"]),
        (11, vec!["limit=10", "continue=10&limit=10"]),
        (30, vec!["limit=10", "continue=10&limit=10", "continue=20&limit=10"]),
    ] {
        let numbers = Numbers::new(count);
        let listed = numbers.pager().page_size(some(10)).list(ListRequest::default()).await.unwrap();
        assert_eq!(listed.list.items, (0..count).collect::<Vec<_>>());
        assert_eq!(
            (listed.list.metadata.resource_version.to_string(), listed.list.metadata.continue_token),
            ("100".into(), None)
        );
        assert_eq!(
            (numbers.requests(), listed.paginated),
            (requests.iter().map(|it| it.to_string()).collect(), count > 10)
        );
        let streamed: Vec<u32> =
            numbers.pager().page_size(some(10)).items(ListRequest::default()).try_collect().await.unwrap();
        assert_eq!(streamed, listed.list.items);
    }
    let numbers = Numbers::new(501);
    numbers.pager().list(ListRequest::default()).await.unwrap();
    numbers.pager().list(ListRequest { limit: Some(some(600)), ..Default::default() }).await.unwrap();
    assert_eq!(numbers.requests(), ["limit=500", "continue=500&limit=500", "limit=600"]);
}

#[tokio::test]
async fn the_version_is_sent_with_the_first_page_only() {
    let expected =
        ["resourceVersion=7&resourceVersionMatch=Exact&limit=2", "continue=2&limit=2", "continue=4&limit=2"];
    let numbers = Numbers::new(5);
    numbers.pager().page_size(some(2)).list(at(ListAt::Exact(7.into()))).await.unwrap();
    assert_eq!(numbers.requests(), expected);
    let numbers = Numbers::new(5);
    let items = numbers.pager().page_size(some(2)).items(at(ListAt::Exact(7.into())));
    assert_eq!(items.try_collect::<Vec<_>>().await.unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(numbers.requests(), expected);
}

#[tokio::test]
async fn an_expired_token_falls_back_to_the_full_list() {
    let numbers = Numbers::expiring(5, &[1]);
    let listed = numbers.pager().page_size(some(2)).list(at(ListAt::Unqualified(10.into()))).await.unwrap();
    assert_eq!((listed.list.items, listed.paginated), (vec![0, 1, 2, 3, 4], true));
    assert_eq!(
        numbers.requests(),
        ["resourceVersion=10&limit=2", "continue=2&limit=2", "resourceVersion=10"],
        "at the original version, without a limit"
    );
    // The full list can fail too, the first page has no fallback, and the fallback can be disabled.
    for (expired, on_expired, requests) in
        [(&[1, 2][..], OnExpired::ListAll, 3), (&[0], OnExpired::ListAll, 1), (&[1], OnExpired::Fail, 2)]
    {
        let numbers = Numbers::expiring(5, expired);
        let list = numbers.pager().page_size(some(2)).on_expired(on_expired).list(ListRequest::default());
        assert!(list.await.unwrap_err().status().unwrap().is_expired());
        assert_eq!(numbers.requests().len(), requests);
    }
}

#[tokio::test]
async fn items_are_never_returned_twice() {
    let numbers = Numbers::expiring(5, &[1]);
    let items: Vec<_> = numbers.pager().page_size(some(2)).items(ListRequest::default()).collect().await;
    let seen: Vec<_> = items.iter().map(|item| item.as_ref().ok()).collect();
    assert_eq!(seen, [Some(&0), Some(&1), None], "the error comes last");
    assert_eq!(numbers.requests().len(), 2);
}

#[tokio::test]
async fn an_expired_list_can_continue_at_the_newest_version() {
    let numbers = Numbers { token_on_expiry: Some("3".into()), ..Numbers::expiring(5, &[1]) };
    let pager = || numbers.pager().page_size(some(2)).on_expired(OnExpired::Continue);
    assert_eq!(pager().list(ListRequest::default()).await.unwrap().list.items, [0, 1, 3, 4]);
    assert_eq!(numbers.requests(), ["limit=2", "continue=2&limit=2", "continue=3&limit=2"]);
    let without = Numbers::expiring(5, &[1]);
    let list =
        without.pager().page_size(some(2)).on_expired(OnExpired::Continue).list(ListRequest::default());
    assert!(list.await.unwrap_err().status().unwrap().is_expired(), "the server returned no token");
}

#[tokio::test]
async fn read_ahead_is_limited_by_the_buffer() {
    for buffer in [0, 1, 10] {
        let numbers = Numbers::new(100);
        let mut pages = numbers.pager().page_size(some(2)).buffer(buffer).pages(ListRequest::default());
        for read in 0..3 {
            let ahead = buffer + 1;
            let fetched = async {
                while numbers.requests().len() < read + ahead {
                    numbers.requested.notified().await;
                }
            };
            let fetched = timeout(LIMIT, fetched).await;
            assert!(fetched.is_ok(), "buffer {buffer}, {read} read: fewer than {ahead} pages fetched ahead");
            // The task would fetch more now if it could: it is ready, and there is one thread.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert_eq!(numbers.requests().len(), read + ahead, "buffer {buffer}, {read} read");
            pages.next().await.unwrap().unwrap();
        }
        drop(pages);
        let requests = numbers.requests().len();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(numbers.requests().len() <= requests + 1, "fetching continues after the drop");
    }
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_request_in_flight() {
    let (alive, started) = (Arc::new(()), Arc::new(Notify::new()));
    let (held, notify) = (alive.clone(), started.clone());
    let pager = Pager::new(move |_| {
        let (held, notify) = (held.clone(), notify.clone());
        async move {
            let _held = held;
            notify.notify_one();
            std::future::pending::<Result<List<u32>, RequestError>>().await
        }
    });
    let items = pager.items(ListRequest::default());
    timeout(LIMIT, started.notified()).await.expect("the request was not started");
    drop(items);
    let cancelled = async {
        while Arc::strong_count(&alive) > 1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, cancelled).await.expect("the request still runs after its stream was dropped");
}

/// Endless pages with these tokens and this many items each.
fn endless(
    token: impl Fn(usize) -> String + Send + 'static,
    items: usize,
    requests: &Arc<Mutex<usize>>,
) -> impl FnMut(ListRequest) -> std::future::Ready<Result<List<u32>, RequestError>> + Send + 'static {
    let requests = requests.clone();
    move |_| {
        let mut requests = requests.lock();
        *requests += 1;
        let continue_token = Some(token(*requests));
        let metadata = ListMeta {
            resource_version: 10.into(),
            continue_token,
            remaining_item_count: None,
            ..ListMeta::default()
        };
        ready(Ok(List { metadata, items: vec![7; items] }))
    }
}

#[tokio::test]
async fn endless_pages_are_an_error_after_a_bounded_number_of_requests() {
    type Token = fn(usize) -> String;
    let cases: [(Token, usize, usize, &str); 4] = [
        (|_| "same".into(), 5, 2, "continue token repeated after 2 pages"),
        (|page| (page % 3).to_string(), 5, 7, "continue token repeated after 7 pages"),
        (|page| page.to_string(), 0, 20, "20 pages in a row had no items"),
        (|page| page.to_string(), 1, 100_000, "list is longer than 100000 pages"),
    ];
    for (token, items, expected, why) in cases {
        let requests = Arc::new(Mutex::new(0));
        let pager = Pager::new(endless(token, items, &requests));
        let error = pager.list(ListRequest::default()).await.unwrap_err();
        assert!(
            matches!(error, RequestError::EndlessList { .. }) && ErrorChain(&error).to_string().contains(why),
            "{error}"
        );
        assert_eq!(*requests.lock(), expected, "{why}");

        *requests.lock() = 0;
        let pages = Pager::new(endless(token, items, &requests)).pages(ListRequest::default());
        let pages: Vec<_> = pages.collect().await;
        let (last, before) = pages.split_last().unwrap();
        assert!(ErrorChain(last.as_ref().unwrap_err()).to_string().contains(why));
        assert_eq!((before.len(), *requests.lock()), (expected, expected), "the pages come before the error");
    }
}

struct World {
    server: Arc<ApiServer>,
    maps: DynamicApi,
}

impl World {
    /// Creates this many config maps.
    async fn start(count: usize) -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let client = Client::new(&support::config(&server)).unwrap();
        let maps = client.dynamic(&"v1".parse().unwrap(), "configmaps").namespace("default");
        for number in 0..count {
            let map = DynamicObject::new("v1", "ConfigMap", &format!("m{number}"));
            maps.create(&map, &WriteOptions::default()).await.unwrap();
        }
        Self { server: Arc::new(server), maps }
    }

    async fn stop(self) {
        Arc::into_inner(self.server).unwrap().stop().await;
    }

    fn fetch(
        &self,
    ) -> impl FnMut(
        ListRequest,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<DynamicList, RequestError>> + Send>>
    + Send
    + 'static {
        let maps = self.maps.clone();
        move |request| {
            let maps = maps.clone();
            Box::pin(async move { maps.list(&ListOptions { request, ..Default::default() }).await })
        }
    }
}

fn names(items: &[DynamicObject]) -> Vec<&str> {
    items.iter().map(DynamicObject::name).collect()
}

#[tokio::test]
async fn list_items_has_the_selector_and_limit_of_its_options_on_every_page() {
    let world = World::start(5).await;
    let requests =
        world.server.faults().add(Fault::on(Verb::List).resource("configmaps").delay(Duration::ZERO));
    let options = ListOptions::default().fields("metadata.name!=m1").unwrap().limit(2);
    let items: Vec<DynamicObject> = world.maps.list_items(&options).try_collect().await.unwrap();
    assert_eq!(names(&items), ["m0", "m2", "m3", "m4"]);
    assert_eq!(requests.hits(), 2);
    let all: Vec<DynamicObject> = world.maps.list_items(&ListOptions::default()).try_collect().await.unwrap();
    assert_eq!((all.len(), requests.hits()), (5, 3));
    world.stop().await;
}

#[tokio::test]
async fn the_embedded_server_is_listed_in_pages_also_at_a_version() {
    let world = World::start(5).await;
    let listed = Pager::new(world.fetch()).page_size(some(2)).list(ListRequest::default()).await.unwrap();
    assert_eq!((names(&listed.list.items), listed.paginated), (vec!["m0", "m1", "m2", "m3", "m4"], true));
    let items = Pager::new(world.fetch())
        .page_size(some(2))
        .items(at(ListAt::Exact(listed.list.metadata.resource_version)));
    assert_eq!(names(&items.try_collect::<Vec<_>>().await.unwrap()), ["m0", "m1", "m2", "m3", "m4"]);
    world.stop().await;
}

#[tokio::test]
async fn a_server_that_expires_a_token_is_recovered_from() {
    let world = World::start(5).await;
    // After the first page, the server responds with 410.
    let fetch_with_expiry = || {
        let (mut fetch, faults) = (world.fetch(), world.server.faults().clone());
        let mut number = 0;
        move |request: ListRequest| {
            number += 1;
            if number == 2 {
                faults.add(Fault::on(Verb::List).resource("configmaps").answer(410).times(1));
            }
            fetch(request)
        }
    };
    let pager = || Pager::new(fetch_with_expiry()).page_size(some(2));
    let listed = pager().list(ListRequest::default()).await.unwrap();
    assert_eq!((names(&listed.list.items), listed.paginated), (vec!["m0", "m1", "m2", "m3", "m4"], true));
    let error = pager().on_expired(OnExpired::Fail).list(ListRequest::default()).await.unwrap_err();
    assert!(error.status().unwrap().is_expired());
    let items: Vec<_> = pager().items(ListRequest::default()).collect().await;
    assert_eq!(items.iter().filter(|item| item.is_ok()).count(), 2);
    world.stop().await;
}

#[tokio::test]
async fn a_compacted_server_returns_a_token_to_continue_with() {
    let world = World::start(4).await;
    let (server, maps) = (world.server.clone(), world.maps.clone());
    let mut fetch = world.fetch();
    let mut number = 0;
    let pager = Pager::new(move |request| {
        number += 1;
        let (page, is_second) = (fetch(request), number == 2);
        let (server, maps) = (server.clone(), maps.clone());
        async move {
            if is_second {
                // A new object appears, and the version of the first page is compacted away.
                let map = DynamicObject::new("v1", "ConfigMap", "m9");
                maps.create(&map, &WriteOptions::default()).await?;
                server.compact().await.unwrap();
            }
            page.await
        }
    });
    let pager = pager.page_size(some(2)).on_expired(OnExpired::Continue);
    let listed = pager.list(ListRequest::default()).await.unwrap();
    assert_eq!(names(&listed.list.items), ["m0", "m1", "m2", "m3", "m9"]);
    world.stop().await;
}
