//! Validation of services.

use serde_json::{Value, json};
use watchkeeper_core::Quoted;

use crate::rules::pods::port;
use crate::validate::address;
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::selector::{json_text, labels};
use crate::validate::syntax::{label, port_number, qualified_name, subdomain};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const MOST_AFFINITY_SECONDS: i64 = 86400;
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";

/// Checks a service, except for its metadata.
pub(super) fn service(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let spec = object.field("spec");
    let (kind, ports) = (type_of(&spec), spec.child("ports"));
    let addresses = cluster_addresses(&spec);
    let is_headless = addresses == ["None"];
    if ports.is_empty() && !is_headless && kind != "ExternalName" {
        faults.required(&ports, "");
    }
    if old.is_none_or(|old| type_of(&old.field("spec")) == kind) || kind != "ExternalName" {
        by_type(&spec, kind, is_headless, faults);
    }
    let mut names = Vec::new();
    for item in ports.items() {
        service_port(&item, ports.len() > 1, &mut names, faults);
    }
    labels(&spec.child("selector"), faults);
    affinity(&spec, faults);
    let before = old.map(|old| old.field("spec"));
    let list = before.as_ref().map(|before| before.child("externalIPs"));
    let before: Vec<&str> = list.iter().flat_map(Field::texts).collect();
    for ip in spec.child("externalIPs").items() {
        if address::ip(&ip, &before, faults) {
            address::endpoint(&ip, faults);
        }
    }
    faults.one_of(&spec.child("type"), &TYPES);
    // Fields of the previous type are dropped.
    let has_other_type = old.is_some_and(|old| type_of(&old.field("spec")) != kind);
    if !has_other_type {
        port_numbers(&ports, kind, faults);
        balanced(&spec, kind, faults);
        traffic(&spec, kind, faults);
    }
}

/// Checks the addresses, which kube-apiserver does before everything else.
pub(super) fn misaddressed(object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    let (spec, before) = (object.field("spec"), old.map(|old| old.field("spec")));
    if type_of(&spec) != "ExternalName" {
        ip_fields(&spec, &cluster_addresses(&spec), before.as_ref(), faults);
    }
}

/// Checks the immutable fields.
pub(super) fn changed(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, spec) = (old.field("spec"), new.field("spec"));
    if type_of(&before) == "ExternalName" || type_of(&spec) == "ExternalName" {
        return;
    }
    let (was, is) = (cluster_addresses(&before), cluster_addresses(&spec));
    let (was_headless, is_headless) = (was == ["None"], is == ["None"]);
    let addresses = Field::at("spec.clusterIPs", spec.value());
    let shown = json(&json!(is));
    let changed = |at: usize, faults: &mut Faults| {
        let place = Field::at(format!("{}[{at}]", addresses.path()), spec.value());
        faults.invalid_value(&place, &shown, "may not change once set");
    };
    if !(was_headless && is_headless) {
        if was.len() == is.len() {
            (0..was.len()).filter(|at| was[*at] != is[*at]).for_each(|at| changed(at, faults));
        } else if !was.is_empty() && !is.is_empty() && was[0] != is[0] {
            changed(0, faults);
        }
    }
    let (families, known) = (spec.child("ipFamilies"), before.child("ipFamilies"));
    if !was_headless && !is_headless && families.len() == known.len() {
        let differ = families.texts().zip(known.texts()).filter(|(now, was)| now != was).count();
        for _ in 0..differ {
            let place = Field::at("spec.ipFamilies[0]", families.value());
            faults.invalid_value(&place, json(families.value()), "may not change once set");
        }
    }
    let (class, known) = (spec.child("loadBalancerClass"), before.child("loadBalancerClass"));
    let is_balanced = |spec: &Field<'_>| type_of(spec) == "LoadBalancer";
    if is_balanced(&spec) && is_balanced(&before) && class.value() != known.value() {
        faults.invalid_value(&class, json(class.value()), "may not change once set");
    }
    if type_of(&spec) == type_of(&before) {
        class_of(&spec, type_of(&spec), faults);
    }
}

fn type_of<'a>(spec: &Field<'a>) -> &'a str {
    match spec.child("type").text() {
        "" => "ClusterIP",
        kind => kind,
    }
}

/// Returns the cluster IPs; `clusterIP` repeats the first.
fn cluster_addresses<'a>(spec: &Field<'a>) -> Vec<&'a str> {
    let all: Vec<&str> = spec.child("clusterIPs").texts().collect();
    match (all.is_empty(), spec.child("clusterIP").text()) {
        (true, "") => Vec::new(),
        (true, first) => vec![first],
        (false, _) => all,
    }
}

fn by_type(spec: &Field<'_>, kind: &str, is_headless: bool, faults: &mut Faults) {
    if is_headless && matches!(kind, "LoadBalancer" | "NodePort") {
        let place = Field::at("spec.clusterIPs[0]", spec.value());
        let why = format!("may not be set to 'None' for {kind} services");
        faults.invalid_value(&place, "\"None\"", &why);
    }
    if kind != "ExternalName" {
        return;
    }
    for (name, is_set) in [
        ("clusterIPs", !cluster_addresses(spec).is_empty()),
        ("ipFamilies", !spec.child("ipFamilies").is_empty()),
        ("ipFamilyPolicy", spec.child("ipFamilyPolicy").is_set()),
    ] {
        if is_set {
            faults.forbidden(&spec.child(name), "may not be set for ExternalName services");
        }
    }
    let name = spec.child("externalName");
    let bare = name.text().strip_suffix('.').unwrap_or(name.text());
    if bare.is_empty() {
        faults.required(&name, "");
    }
    for why in subdomain(bare).into_iter().filter(|_| !bare.is_empty()) {
        faults.invalid_value(&name, Quoted(bare), &why);
    }
}

fn service_port<'a>(field: &Field<'a>, needs_name: bool, names: &mut Vec<&'a str>, faults: &mut Faults) {
    let name = field.child("name");
    if !name.is_empty() {
        faults.malformed(&name, label(name.text()));
        if names.contains(&name.text()) {
            faults.duplicate(&name);
        }
        names.push(name.text());
    } else if needs_name {
        faults.required(&name, "");
    }
    let number = field.child("port");
    for why in port_number(number.count()) {
        faults.invalid_value(&number, number.count(), &why);
    }
    faults.one_of(&field.child("protocol"), &PROTOCOLS);
    // Absent, 0 and empty default to the port.
    let target = field.child("targetPort");
    if target.is_set() && *target.value() != json!(0) && *target.value() != json!("") {
        port(&target, faults);
    } else {
        for why in port_number(number.count()) {
            faults.invalid_value(&target, number.count(), &why);
        }
    }
    let protocol = field.child("appProtocol");
    if protocol.is_set() {
        faults.malformed(&protocol, qualified_name(protocol.text()));
    }
}

fn affinity(spec: &Field<'_>, faults: &mut Faults) {
    let affinity = spec.child("sessionAffinity");
    faults.one_of(&affinity, &["ClientIP", "None"]);
    let seconds = spec.child("sessionAffinityConfig").child("clientIP").child("timeoutSeconds");
    let is_out_of_range = |seconds| !(1..=MOST_AFFINITY_SECONDS).contains(&seconds);
    // Without affinity its configuration is dropped.
    if affinity.text() == "ClientIP" && seconds.number().is_some_and(is_out_of_range) {
        let why = format!("must be greater than 0 and less than {MOST_AFFINITY_SECONDS}");
        faults.invalid(&seconds, &why);
    }
}

fn ip_fields(spec: &Field<'_>, addresses: &[&str], before: Option<&Field<'_>>, faults: &mut Faults) {
    let list = spec.child("clusterIPs");
    let (first, families) = (spec.child("clusterIP").text(), spec.child("ipFamilies"));
    if !first.is_empty() && !list.is_empty() && addresses.first() != Some(&first) {
        faults.invalid(&list, "first value must match `clusterIP`");
    }
    let mut seen = Vec::new();
    for family in families.items() {
        faults.one_of_set(&family, &["IPv4", "IPv6"]);
        if seen.contains(&family.text()) {
            faults.duplicate(&family);
        }
        seen.push(family.text());
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    faults.one_of_set(&spec.child("ipFamilyPolicy"), &policies);
    let before = before.map(cluster_addresses).unwrap_or_default();
    let count = faults.len();
    for (at, ip) in addresses.iter().enumerate() {
        if at == 0 && *ip == "None" {
            if addresses.len() > 1 {
                faults.invalid(&list, "'None' must be the first and only value");
            }
            continue;
        }
        let value = Value::String((*ip).to_owned());
        address::ip(&Field::at(format!("spec.clusterIPs[{at}]"), &value), &before, faults);
    }
    if addresses.len() > 2 {
        faults.invalid(&list, "may only hold up to 2 values");
    }
    if faults.len() > count {
        return;
    }
    let is_v6 = |ip: &str| address::address(ip).is_some_and(|ip| ip.is_ipv6());
    if let [one, other] = addresses
        && is_v6(one) == is_v6(other)
    {
        faults.invalid(&list, "may specify no more than one IP for each IP family");
    }
    if addresses == ["None"] {
        return;
    }
    for (at, (ip, family)) in addresses.iter().zip(families.texts()).enumerate() {
        if matches!((family, is_v6(ip)), ("IPv4", true) | ("IPv6", false)) {
            let place = Field::at(format!("spec.clusterIPs[{at}]"), list.value());
            let why = format!("expected an {family} value as indicated by `ipFamilies[{at}]`");
            faults.invalid_value(&place, Quoted(ip), &why);
        }
    }
}

fn port_numbers(ports: &Field<'_>, kind: &str, faults: &mut Faults) {
    let protocol = |port: &Field<'_>| match port.child("protocol").text() {
        "" => "TCP".to_owned(),
        protocol => protocol.to_owned(),
    };
    if kind == "ClusterIP" {
        for item in ports.items().filter(|item| item.child("nodePort").count() != 0) {
            faults.forbidden(&item.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut taken = Vec::new();
    for item in ports.items().filter(|item| item.child("nodePort").count() != 0) {
        let place = (protocol(&item), item.child("nodePort").count());
        if taken.contains(&place) {
            faults.duplicate(&item.child("nodePort"));
        }
        taken.push(place);
    }
    let mut taken = Vec::new();
    for item in ports.items() {
        let place = (protocol(&item), item.child("port").count());
        if taken.contains(&place) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                json_text(&place.0),
                place.1
            );
            faults.duplicate_value(&item, shown, "");
        }
        taken.push(place);
    }
}

fn balanced(spec: &Field<'_>, kind: &str, faults: &mut Faults) {
    let ranges = spec.child("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        let place = Field::at("spec.LoadBalancerSourceRanges", ranges.value());
        if kind != "LoadBalancer" {
            faults.forbidden(&place, ONLY_BALANCED);
        }
        for range in place.items() {
            address::range(&range, range.text().trim(), &[], faults);
        }
    }
    let allocates = spec.child("allocateLoadBalancerNodePorts");
    if allocates.is_set() && kind != "LoadBalancer" {
        faults.forbidden(&allocates, ONLY_BALANCED);
    }
    class_of(spec, kind, faults);
}

fn class_of(spec: &Field<'_>, kind: &str, faults: &mut Faults) {
    let class = spec.child("loadBalancerClass");
    if !class.is_set() {
    } else if kind == "LoadBalancer" {
        faults.malformed(&class, qualified_name(class.text()));
    } else {
        faults.forbidden(&class, ONLY_BALANCED);
    }
}

fn traffic(spec: &Field<'_>, kind: &str, faults: &mut Faults) {
    let is_outside = matches!(kind, "LoadBalancer" | "NodePort")
        || (kind == "ClusterIP" && !spec.child("externalIPs").is_empty());
    let external = spec.child("externalTrafficPolicy");
    if is_outside {
        faults.one_of(&external, &["Cluster", "Local"]);
    } else if !external.is_empty() {
        let why = "may only be set for externally-accessible services";
        faults.invalid_value(&external, json(external.value()), why);
    }
    let health = spec.child("healthCheckNodePort");
    if health.count() != 0 {
        if kind == "LoadBalancer" && external.text() == "Local" {
            faults.malformed(&health, port_number(health.count()));
        } else {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            faults.invalid(&health, why);
        }
    }
    faults.one_of_set(&spec.child("internalTrafficPolicy"), &["Cluster", "Local"]);
    let distribution = spec.child("trafficDistribution");
    if distribution.is_set() {
        let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        if !known.contains(&distribution.text()) {
            faults.not_supported(&distribution, &known);
        }
    }
}
