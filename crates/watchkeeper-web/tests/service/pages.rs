//! Pages together are the whole list.

use std::cmp::Ordering;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::world::{PODS, World, names, pod};

/// Returns all pages of a list, and the number of requests.
async fn walk(world: &World, query: &str) -> (Vec<Value>, usize) {
    let mut all = Vec::new();
    let mut token = String::new();
    for asked in 1.. {
        let answer = world.get(&format!("/pods/core/v1?{query}&continue={token}")).await;
        let whole = answer.json();
        let remaining = whole["remaining"].as_u64();
        match answer.data() {
            Value::Array(page) => all.extend(page),
            none => panic!("{none}"),
        }
        match whole["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => {
                assert_eq!(remaining, None);
                return (all, asked);
            }
        }
        assert!(remaining.is_some_and(|remaining| remaining > 0), "{whole}");
    }
    unreachable!("the pages do not end")
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_a_token_and_the_remaining_count() {
    let pods: Vec<Value> = (0..5).map(|at| pod(&format!("p{at}"), "web", "n1")).collect();
    let world = World::of(&pods).await;
    let first = world.get("/pods/core/v1?limit=2").await;
    assert_eq!(names(&first.data()), ["p0", "p1"]);
    assert_eq!(first.json()["remaining"], 3);
    let token = first.json()["continue"].as_str().unwrap().to_owned();

    // Concurrent changes do not affect unchanged objects.
    world.create(pod("p1x", "web", "n1"), PODS).await;
    world.create(pod("a", "web", "n1"), PODS).await;
    let rest = world.get(&format!("/pods/core/v1?continue={token}")).await;
    assert_eq!(names(&rest.data()), ["p1x", "p2", "p3", "p4"]);
    assert_eq!(rest.json().as_object().unwrap().len(), 3, "the last page has no token");

    let of_another = world.get(&format!("/pods/core/v1?labelSelector=app&continue={token}")).await;
    assert_eq!(of_another.failure(400), "continue: token belongs to another list");
    let of_another = world.get(&format!("/services/core/v1?continue={token}")).await;
    assert_eq!(of_another.failure(400), "continue: token belongs to another list");
    assert_eq!(walk(&world, "limit=3").await.1, 3);
    world.stop().await;
}

/// A query, with a model of the pods that it selects.
#[derive(Debug, Clone)]
struct Query {
    namespace: Option<usize>,
    labels: Vec<Label>,
    node: Option<(bool, u8)>,
    sort: Sort,
    limit: usize,
}

#[derive(Debug, Clone)]
enum Label {
    Equals(&'static str, u8),
    Differs(&'static str, u8),
    In(&'static str, Vec<u8>),
    NotIn(&'static str, Vec<u8>),
    Exists(&'static str),
    Absent(&'static str),
}

#[derive(Debug, Clone, Copy)]
enum Sort {
    Name,
    Node { down: bool },
    Grace { down: bool },
}

impl Label {
    fn text(&self) -> String {
        let list = |values: &[u8]| values.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Equals(key, value) => format!("{key}={value}"),
            Self::Differs(key, value) => format!("{key}!={value}"),
            Self::In(key, values) => format!("{key} in ({})", list(values)),
            Self::NotIn(key, values) => format!("{key} notin ({})", list(values)),
            Self::Exists(key) => (*key).to_owned(),
            Self::Absent(key) => format!("!{key}"),
        }
    }

    fn means(&self, pod: &Value) -> bool {
        let value =
            |key: &str| pod["metadata"]["labels"][key].as_str().map(|text| text.parse::<u8>().unwrap());
        match self {
            Self::Equals(key, wanted) => value(key) == Some(*wanted),
            Self::Differs(key, other) => value(key) != Some(*other),
            Self::In(key, wanted) => value(key).is_some_and(|value| wanted.contains(&value)),
            Self::NotIn(key, others) => value(key).is_none_or(|value| !others.contains(&value)),
            Self::Exists(key) => value(key).is_some(),
            Self::Absent(key) => value(key).is_none(),
        }
    }
}

impl Query {
    fn text(&self, namespaces: &[String]) -> String {
        let namespace = self.namespace.map_or("", |at| &namespaces[at]);
        let labels: Vec<String> = self.labels.iter().map(Label::text).collect();
        let labels = labels.join(",").replace('=', "%3D").replace(' ', "%20").replace('!', "%21");
        let node = self.node.map_or_else(String::new, |(is, node)| {
            format!("spec.nodeName{}n{node}", if is { "%3D" } else { "!%3D" })
        });
        let sort = match self.sort {
            Sort::Name => "",
            Sort::Node { down: false } => "spec.nodeName",
            Sort::Node { down: true } => "-spec.nodeName",
            Sort::Grace { down: false } => "spec.terminationGracePeriodSeconds",
            Sort::Grace { down: true } => "-spec.terminationGracePeriodSeconds",
        };
        let limit = self.limit;
        format!("namespace={namespace}&labelSelector={labels}&fieldSelector={node}&sort={sort}&limit={limit}")
    }

    fn means(&self, pods: &[Value], namespaces: &[String]) -> Vec<Value> {
        let is_meant = |pod: &&Value| {
            self.namespace.is_none_or(|at| pod["metadata"]["namespace"] == namespaces[at])
                && self.labels.iter().all(|label| label.means(pod))
                && self.node.is_none_or(|(is, node)| (pod["spec"]["nodeName"] == format!("n{node}")) == is)
        };
        let text = |pod: &Value, path: &str| pod.pointer(path).unwrap().as_str().unwrap().to_owned();
        let key = |pod: &Value| (text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
        let turned = |order: Ordering, down: bool| if down { order.reverse() } else { order };
        let mut meant: Vec<Value> = pods.iter().filter(is_meant).cloned().collect();
        meant.sort_by(|one, other| {
            let by_value = match self.sort {
                Sort::Name => Ordering::Equal,
                Sort::Node { down } => {
                    turned(text(one, "/spec/nodeName").cmp(&text(other, "/spec/nodeName")), down)
                }
                Sort::Grace { down } => {
                    let grace = |pod: &Value| pod["spec"]["terminationGracePeriodSeconds"].as_u64();
                    turned(grace(one).cmp(&grace(other)), down)
                }
            };
            by_value.then_with(|| key(one).cmp(&key(other)))
        });
        meant
    }
}

fn any_label() -> impl Strategy<Value = Label> {
    let key = prop::sample::select(vec!["a", "b"]);
    let values = prop::collection::vec(0u8..4, 1..3);
    prop_oneof![
        (key.clone(), 0u8..4).prop_map(|(key, value)| Label::Equals(key, value)),
        (key.clone(), 0u8..4).prop_map(|(key, value)| Label::Differs(key, value)),
        (key.clone(), values.clone()).prop_map(|(key, values)| Label::In(key, values)),
        (key.clone(), values).prop_map(|(key, values)| Label::NotIn(key, values)),
        key.clone().prop_map(Label::Exists),
        key.prop_map(Label::Absent),
    ]
}

fn any_query() -> impl Strategy<Value = Query> {
    let sort = prop_oneof![
        Just(Sort::Name),
        any::<bool>().prop_map(|down| Sort::Node { down }),
        any::<bool>().prop_map(|down| Sort::Grace { down }),
    ];
    let namespace = prop::option::of(0usize..2);
    let labels = prop::collection::vec(any_label(), 0..3);
    (namespace, labels, prop::option::of((any::<bool>(), 0u8..4)), sort, 1usize..20)
        .prop_map(|(namespace, labels, node, sort, limit)| Query { namespace, labels, node, sort, limit })
}

#[test]
fn pages_of_any_query_equal_the_model() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (world, namespaces) = runtime.block_on(async {
        let world = World::of(&[]).await;
        let namespaces = [world.namespace().to_owned(), world.cluster.fresh_namespace().await.unwrap()];
        for at in 0..40_u64 {
            let mut object = pod(&format!("p{at}"), "web", &format!("n{}", at % 3));
            object["metadata"]["namespace"] = namespaces[at as usize % 2].as_str().into();
            let mut labels = serde_json::Map::new();
            for (key, value) in [("a", at % 5), ("b", at / 5 % 5)] {
                if value < 4 {
                    labels.insert(key.to_owned(), value.to_string().into());
                }
            }
            object["metadata"]["labels"] = Value::Object(labels);
            object["spec"]["terminationGracePeriodSeconds"] = json!(at * 7 % 11);
            world.create(object, PODS).await;
        }
        (world, namespaces)
    });
    let pods = runtime.block_on(world.listed(PODS, &[]));
    assert_eq!(pods.len(), 40);
    let mut runner = TestRunner::new(Config { cases: 128, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&any_query(), |query| {
        let meant = query.means(&pods, &namespaces);
        let (got, asked) = runtime.block_on(walk(&world, &query.text(&namespaces)));
        prop_assert_eq!(asked, meant.len().div_ceil(query.limit).max(1), "pages");
        if got != meant {
            let short = |pods: &[Value]| names(&Value::Array(pods.to_vec())).join(" ");
            return Err(TestCaseError::fail(format!("{} instead of {}", short(&got), short(&meant))));
        }
        Ok(())
    });
    outcome.unwrap();
    runtime.block_on(world.stop());
}
