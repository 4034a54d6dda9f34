//! Special cells, by their name in `tables/columns.txt`.

mod autoscaler;
mod cluster;
mod network;
mod storage;
mod workload;

use crate::cell::{Special, SpecialOf};

pub use storage::default_storage_class;

/// Returns the cell of this name.
pub(crate) fn special(name: &str) -> Option<Special> {
    Some(match name {
        "apiservice.available" => cluster::apiservice_available,
        "apiservice.service" => cluster::apiservice_service,
        "autoscaler.reference" => autoscaler::reference,
        "autoscaler.targets" => autoscaler::targets,
        "binding.role" => cluster::binding_role,
        "claim.capacity" => storage::claim_capacity,
        "claim.modes" => storage::claim_modes,
        "component.error" => cluster::component_error,
        "component.message" => cluster::component_message,
        "component.status" => cluster::component_status,
        "cronjob.suspend" => workload::cronjob_suspend,
        "csidriver.tokens" => storage::csidriver_tokens,
        "deployment.selector" => workload::deployment_selector,
        "endpoints.addresses" => network::endpoints_addresses,
        "endpointslice.addresses" => network::endpointslice_addresses,
        "endpointslice.ports" => network::endpointslice_ports,
        "event.count" => cluster::event_count,
        "event.message" => cluster::event_message,
        "event.object" => cluster::event_object,
        "event.source" => cluster::event_source,
        "definition.established" => cluster::definition_established,
        "definition.versions" => cluster::definition_versions,
        "ingress.address" => network::ingress_address,
        "ingress.hosts" => network::ingress_hosts,
        "ingress.ports" => network::ingress_ports,
        "ingressclass.name" => network::ingressclass_name,
        "ingressclass.parameters" => network::ingressclass_parameters,
        "ipaddress.parent" => network::ipaddress_parent,
        "job.completions" => workload::job_completions,
        "job.status" => workload::job_status,
        "node.kernel" => cluster::node_kernel,
        "node.roles" => cluster::node_roles,
        "node.status" => cluster::node_status,
        "pod.gates" => workload::pod_gates,
        "pod.ready" => workload::pod_ready,
        "pod.restarts" => workload::pod_restarts,
        "pod.status" => workload::pod_status,
        "policy.parameters" => cluster::policy_parameters,
        "policybinding.parameters" => cluster::policybinding_parameters,
        "quota.limits" => cluster::quota_limits,
        "quota.requests" => cluster::quota_requests,
        "revision.controller" => workload::revision_controller,
        "service.external" => network::service_external,
        "service.ports" => network::service_ports,
        "storageclass.name" => storage::storageclass_name,
        "volume.claim" => storage::volume_claim,
        "volume.class" => storage::volume_class,
        "volume.phase" => storage::volume_phase,
        _ => return None,
    })
}

/// Returns the timestamp cell of this name.
pub(crate) fn timestamp(name: &str) -> Option<Special> {
    Some(match name {
        "event.first" => cluster::event_first,
        "event.last" => cluster::event_last,
        "job.duration" => workload::job_duration,
        _ => return None,
    })
}

/// Returns the cell of this name that takes an argument.
pub(crate) fn special_of(name: &str) -> Option<SpecialOf> {
    Some(match name {
        "binding.subjects" => cluster::binding_subjects,
        "node.address" => cluster::node_address,
        _ => return None,
    })
}

/// Joins the first few elements: `a,b,c + 2 more...`.
fn first_few(all: &[String], few: usize, separator: &str) -> String {
    let shown = all[..all.len().min(few)].join(separator);
    match all.len() - all.len().min(few) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

#[cfg(test)]
mod tests {
    use crate::cell::{Cell, Subject};
    use crate::timestamp_format::TimestampFormat;
    use serde_json::{Value, json};

    fn assert_prints(cases: &[(&'static str, Value, &str)]) {
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        for (cell, object, expected) in cases {
            let value = Cell::parse(cell).unwrap().value(&Subject::new(
                object,
                TimestampFormat::Age { now },
                Some("chosen"),
            ));
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(text, *expected, "{cell} of {object}");
        }
    }

    #[test]
    fn services_print_their_addresses() {
        let balancer = |ingress: Value, external: Value| {
            json!({"spec": {"type": "LoadBalancer", "externalIPs": external},
                   "status": {"loadBalancer": {"ingress": ingress}}})
        };
        let ports =
            json!([{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]);
        assert_prints(&[
            ("service.external", json!({"spec": {"type": "ClusterIP"}}), "<none>"),
            ("service.external", json!({"spec": {"type": "NodePort", "externalIPs": ["a", "b"]}}), "a,b"),
            ("service.external", json!({"spec": {"type": "ExternalName", "externalName": "x"}}), "x"),
            ("service.external", json!({}), "<unknown>"),
            ("service.external", balancer(json!([]), json!([])), "<pending>"),
            (
                "service.external",
                balancer(json!([{"hostname": "h"}, {"ip": "1"}, {"ip": "1"}]), json!(["e"])),
                "1,h,e",
            ),
            ("service.ports", json!({"spec": {"ports": ports}}), "80:30080/TCP,53/UDP"),
            ("service.ports", json!({}), "<none>"),
        ]);
    }

    #[test]
    fn long_lists_are_abbreviated() {
        let hosts = |hosts: &[&str]| {
            let rules: Vec<_> = hosts.iter().map(|host| json!({"host": host})).collect();
            json!({"spec": {"rules": rules}})
        };
        let subset = json!({"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 1}, {"port": 2}]});
        assert_prints(&[
            ("ingress.hosts", hosts(&[""]), "*"),
            ("ingress.hosts", hosts(&["a", "b", "c"]), "a,b,c"),
            ("ingress.hosts", hosts(&["", "a", "b", "c", "d"]), "a,b,c + 2 more..."),
            (
                "endpoints.addresses",
                json!({"subsets": [subset]}),
                "10.0.0.1:1,[fd00::1]:1,10.0.0.1:2 + 1 more...",
            ),
            ("endpoints.addresses", json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]}), "10.0.0.1"),
            ("endpoints.addresses", json!({}), "<none>"),
            ("endpointslice.ports", json!({"ports": [{"port": 1}, {"name": "n"}, {}]}), "1,n,*"),
            ("endpointslice.addresses", json!({"endpoints": []}), "<unset>"),
        ]);
    }

    #[test]
    fn nodes_print_their_state_and_roles() {
        let ready = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
        let labels = json!({"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/": "", "kubernetes.io/role": "a"});
        assert_prints(&[
            ("node.status", ready("True"), "Ready"),
            ("node.status", ready("Unknown"), "NotReady"),
            ("node.status", json!({"spec": {"unschedulable": true}}), "Unknown,SchedulingDisabled"),
            ("node.roles", json!({"metadata": {"labels": labels}}), "a,b"),
            ("node.roles", json!({}), "<none>"),
            ("node.address InternalIP", json!({}), "<none>"),
            ("node.kernel", json!({"status": {"nodeInfo": {"architecture": "arm64"}}}), "<unknown> (arm64)"),
        ]);
    }

    #[test]
    fn both_versions_of_an_event_print_the_same() {
        let core = json!({"involvedObject": {"kind": "Pod", "name": "a"}, "message": " m ", "count": 3,
            "source": {"component": "c", "host": "h"}, "firstTimestamp": "2026-11-15T09:00:00Z",
            "lastTimestamp": "2026-11-15T09:59:00Z"});
        let new = json!({"regarding": {"kind": "Pod", "name": "a"}, "note": " m ", "deprecatedCount": 3,
            "deprecatedSource": {"component": "c", "host": "h"}, "deprecatedFirstTimestamp": "2026-11-15T09:00:00Z",
            "deprecatedLastTimestamp": "2026-11-15T09:59:00Z"});
        for event in [core, new] {
            assert_prints(&[
                ("event.object", event.clone(), "pod/a"),
                ("event.source", event.clone(), "c, h"),
                ("event.message", event.clone(), "m"),
                ("event.first", event.clone(), "60m"),
                ("event.last", event.clone(), "60s"),
                ("event.count", event, "3"),
            ]);
        }
        let series = json!({"count": 9, "lastObservedTime": "2026-11-15T09:58:00.000000Z"});
        assert_prints(&[
            ("event.count", json!({}), "1"),
            ("event.last", json!({}), "<unknown>"),
            ("event.count", json!({"series": series}), "9"),
            ("event.last", json!({"series": series}), "2m"),
        ]);
    }

    #[test]
    fn jobs_print_their_progress() {
        let job = |spec: Value| json!({"spec": spec, "status": {"succeeded": 2}});
        let done = json!({"status": {"startTime": "2026-11-15T09:00:00Z", "completionTime": "2026-11-15T09:05:30Z",
            "conditions": [{"type": "Suspended", "status": "False"}, {"type": "Complete", "status": "True"}]}});
        assert_prints(&[
            ("job.completions", job(json!({"completions": 5})), "2/5"),
            ("job.completions", job(json!({"parallelism": 3})), "2/1 of 3"),
            ("job.completions", job(json!({"parallelism": 1})), "2/1"),
            ("job.duration", done.clone(), "5m30s"),
            ("job.duration", json!({}), ""),
            ("job.status", done, "Complete"),
            ("job.status", json!({"metadata": {"deletionTimestamp": "2026-11-15T09:00:00Z"}}), "Terminating"),
            ("job.status", json!({}), "Running"),
        ]);
    }

    #[test]
    fn volumes_and_claims_print_their_state() {
        let bound = json!({"spec": {"volumeName": "v"}, "status": {"capacity": {"storage": "1024Mi"}, "phase": "Bound",
            "accessModes": ["ReadWriteOnce"]}});
        let old = json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
                         "spec": {"storageClassName": "new"}});
        assert_prints(&[
            ("claim.capacity", bound.clone(), "1Gi"),
            ("claim.modes", bound.clone(), "RWO"),
            ("volume.phase", bound, "Bound"),
            ("claim.capacity", json!({}), ""),
            ("volume.class", old, "old"),
            ("volume.claim", json!({"spec": {"claimRef": {"namespace": "a", "name": "b"}}}), "a/b"),
            ("storageclass.name", json!({"metadata": {"name": "chosen"}}), "chosen (default)"),
            ("storageclass.name", json!({"metadata": {"name": "other"}}), "other"),
        ]);
    }

    #[test]
    fn the_youngest_annotated_class_is_the_default() {
        let class = |name: &str, created: &str, is_default: &str| {
            let annotations = json!({"storageclass.kubernetes.io/is-default-class": is_default});
            json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}})
        };
        let (old, new) = ("2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z");
        let chosen = |classes: &[Value]| super::default_storage_class(classes).map(str::to_owned);
        assert_eq!(chosen(&[class("a", old, "true"), class("b", new, "true")]).as_deref(), Some("b"));
        assert_eq!(chosen(&[class("b", new, "true"), class("a", new, "true")]).as_deref(), Some("a"));
        assert_eq!(chosen(&[class("b", new, "false")]), None);
    }

    #[test]
    fn autoscalers_print_current_and_target_values() {
        let percent = |place: &str, percent: i64| json!({"type": "Resource", "resource": {"name": "cpu", place: {"averageUtilization": percent}}});
        let v2 = |wanted: Value, measured: Value| json!({"spec": {"metrics": wanted}, "status": {"currentMetrics": measured}});
        let v1 = json!({"spec": {"targetCPUUtilizationPercentage": 70}, "status": {"currentCPUUtilizationPercentage": 33}});
        let metrics = r#"[{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"1k"}}]"#;
        let annotated = json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": metrics}}, "spec": {}});
        let three = json!([percent("target", 1), percent("target", 2), percent("target", 3)]);
        assert_prints(&[
            (
                "autoscaler.targets",
                v2(json!([percent("target", 80)]), json!([percent("current", 12)])),
                "cpu: 12%/80%",
            ),
            ("autoscaler.targets", v2(json!([percent("target", 80)]), json!([])), "cpu: <unknown>/80%"),
            ("autoscaler.targets", v2(three, json!([])), "cpu: <unknown>/1%, cpu: <unknown>/2% + 1 more..."),
            ("autoscaler.targets", v2(json!([{"type": "New"}]), json!([])), "<unknown type>"),
            ("autoscaler.targets", v1, "cpu: 33%/70%"),
            ("autoscaler.targets", annotated, "<unknown>/1k"),
            ("autoscaler.targets", json!({}), "<none>"),
        ]);
    }

    #[test]
    fn quotas_print_used_and_hard_limits() {
        let quota = json!({"status": {"hard": {"pods": "10", "limits.cpu": "2000m", "cpu": "1"}, "used": {"pods": "3"}}});
        assert_prints(&[
            ("quota.requests", quota.clone(), "cpu: 0/1, pods: 3/10"),
            ("quota.limits", quota, "limits.cpu: 0/2"),
        ]);
    }

    #[test]
    fn server_resources_print_their_references() {
        let subjects = json!({"subjects": [{"kind": "User", "name": "a"}, {"kind": "User", "name": "b"},
                                           {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]});
        let available = |status: &str, reason: &str| json!({"status": {"conditions": [{"type": "Available", "status": status, "reason": reason}]}});
        let owner = json!({"metadata": {"ownerReferences": [{"kind": "StatefulSet", "apiVersion": "apps/v1",
                                                             "name": "web", "controller": true}]}});
        assert_prints(&[
            ("binding.subjects User", subjects.clone(), "a, b"),
            ("binding.subjects ServiceAccount", subjects, "n/s"),
            ("apiservice.available", available("True", "Local"), "True"),
            ("apiservice.available", available("False", "Gone"), "False (Gone)"),
            ("apiservice.available", json!({}), "Unknown"),
            ("apiservice.service", json!({}), "Local"),
            ("revision.controller", owner, "statefulset.apps/web"),
            ("revision.controller", json!({}), "<none>"),
            ("policybinding.parameters", json!({"spec": {"paramRef": {"name": "p"}}}), "*/p"),
            (
                "ipaddress.parent",
                json!({"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}}),
                "services/n/s",
            ),
        ]);
    }
}
