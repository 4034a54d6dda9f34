//! Differences: where our server makes kubectl say something else, and why.

/// A command that says something else.
pub(crate) struct Difference {
    /// The transcript.
    pub(crate) script: &'static str,
    /// The command as it stands there.
    pub(crate) line: &'static str,
    /// What is different.
    pub(crate) why: &'static str,
}

impl Difference {
    /// Whether it is about that command.
    pub(crate) fn is(&self, script: &str, line: &str) -> bool {
        self.script == script && self.line == line
    }
}

const GROUPS: &str = "groups that are not served: CRDs, certificates, flow control, devices, ...";
const EVERYBODY: &str = "everybody may do everything: there is no authorization";
const REQUIRED: &str = "the tables of fields do not know which are required";

/// All of them.
pub(crate) const DIFFERENCES: &[Difference] = &[
    differs("01-server", "$ kubectl get --raw /livez?verbose", "there is one check, for there are no hooks"),
    differs("01-server", "$ kubectl auth whoami", "the administrator of the real cluster has a uid"),
    differs("01-server", "$ kubectl auth can-i --list", "there are no roles from which rules could come"),
    differs("01-server", "$ kubectl auth can-i delete nodes --as=nobody", EVERYBODY),
    differs("01-server", "$ kubectl api-versions", GROUPS),
    differs("01-server", "$ kubectl api-resources", GROUPS),
    differs("01-server", "$ kubectl explain configmap --recursive", REQUIRED),
    differs("01-server", "$ kubectl explain hpa --api-version=autoscaling/v1", REQUIRED),
    differs(
        "03-get",
        "$ kubectl get cm settings -o yaml --show-managed-fields",
        "who manages a field is written down from the first apply on",
    ),
    differs(
        "05-change",
        r#"$ kubectl patch pod tool -p '{"spec":{"nodeName":"elsewhere"}}'"#,
        "the refusal does not add how the two specs differ",
    ),
    differs("08-nodes", "$ kubectl certificate approve missing", GROUPS),
    differs("08-nodes", "$ kubectl get pods -n look --as=ann", EVERYBODY),
];

const fn differs(script: &'static str, line: &'static str, why: &'static str) -> Difference {
    Difference { script, line, why }
}
