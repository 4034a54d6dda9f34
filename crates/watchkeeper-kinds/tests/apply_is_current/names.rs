//! Translates JSON and Go names to those of k8s-openapi.

/// Returns the Rust name of a field: `externalIPs` is `external_ips`, and `type` is `type_`.
pub(crate) fn field(json: &str) -> String {
    match json {
        // Two adjacent abbreviations, which cannot be split by case.
        "openAPIV3Schema" => return "open_api_v3_schema".to_owned(),
        "$ref" => return "ref_path".to_owned(),
        "$schema" => return "schema".to_owned(),
        _ => {}
    }
    let letters: Vec<char> = json.replace('-', "_").chars().collect();
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

/// Returns whether this is the plural of an abbreviation: the `s` of `IPs`.
fn is_plural(rest: &[char]) -> bool {
    matches!(rest, ['s'] | ['s', 'A'..='Z', ..])
}

/// Returns serde's camel case of a name, which differs from the JSON name for abbreviations.
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

/// Returns the path of a message's type: `crate::api::core::v1::Pod` for `core.v1.Pod`.
pub(crate) fn path(message: &str) -> String {
    let [group, version, name] = parts(message);
    format!("crate::api::{group}::{version}::{name}")
}

/// Splits the name of a message into group, version and name.
pub(crate) fn parts(message: &str) -> [&str; 3] {
    let parts: Vec<&str> = message.split('.').collect();
    parts.try_into().unwrap_or_else(|_| panic!("invalid message name {message}"))
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
        ("$ref", "ref_path"),
    ] {
        assert_eq!(field(json), rust);
    }
}
