//! Names: from those of JSON and of Go to those of Rust, as k8s-openapi has them.

/// The name of a field: `externalIPs` is `external_ips`, and `type` is `type_`.
pub(crate) fn field(json: &str) -> String {
    // Two abbreviations in a row, which nothing tells apart.
    if json == "openAPIV3Schema" {
        return "open_api_v3_schema".to_owned();
    }
    let letters: Vec<char> = json.chars().collect();
    let mut name = String::new();
    for (position, &letter) in letters.iter().enumerate() {
        if letter.is_uppercase() && position > 0 {
            let before = letters[position - 1];
            let starts_a_word = letters.get(position + 1).is_some_and(|next| next.is_lowercase())
                && !is_plural(&letters[position + 1..]);
            if !before.is_uppercase() || starts_a_word {
                name.push('_');
            }
        }
        name.extend(letter.to_lowercase());
    }
    if ["as", "continue", "enum", "ref", "type"].contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Whether an abbreviation's plural ends here: the `s` of `IPs`.
fn is_plural(rest: &[char]) -> bool {
    matches!(rest, ['s'] | ['s', 'A'..='Z', ..])
}

/// What serde makes of a field's name by itself: the JSON name, unless that has abbreviations.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut json = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        json.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        json.push_str(letters.as_str());
    }
    json
}

/// Where k8s-openapi has a message: `k8s_openapi::api::core::v1::Pod` for `core.v1.Pod`.
pub(crate) fn k8s_openapi(message: &str) -> String {
    let [group, version, name] = parts(message);
    let group = match group {
        "apiextensions" => "apiextensions_apiserver::pkg::apis::apiextensions",
        "apiregistration" => "kube_aggregator::pkg::apis::apiregistration",
        "meta" => "apimachinery::pkg::apis::meta",
        _ => return format!("k8s_openapi::api::{group}::{version}::{name}"),
    };
    format!("k8s_openapi::{group}::{version}::{name}")
}

/// Group, version and name of a message.
pub(crate) fn parts(message: &str) -> [&str; 3] {
    let parts: Vec<&str> = message.split('.').collect();
    parts.try_into().unwrap_or_else(|_| panic!("{message} is no group, version and name"))
}

#[test]
fn names_are_those_of_k8s_openapi() {
    for (json, rust) in [
        ("minReadySeconds", "min_ready_seconds"),
        ("clusterIP", "cluster_ip"),
        ("clusterIPs", "cluster_ips"),
        ("hostPID", "host_pid"),
        ("awsElasticBlockStore", "aws_elastic_block_store"),
        ("nonResourceURLs", "non_resource_urls"),
        ("podCIDRs", "pod_cidrs"),
        ("fsGroup", "fs_group"),
        ("targetWWNs", "target_wwns"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("type", "type_"),
    ] {
        assert_eq!(field(json), rust);
    }
}
