//! Expected differences in kubectl's output for our server, with reasons.

/// A command with different output.
pub(crate) struct Difference {
    /// The name of the transcript.
    pub(crate) script: &'static str,
    /// The command's line in the transcript.
    pub(crate) line: &'static str,
    /// The reason.
    pub(crate) why: &'static str,
}

impl Difference {
    /// Returns whether this is the entry for a command.
    pub(crate) fn is(&self, script: &str, line: &str) -> bool {
        self.script == script && self.line == line
    }
}

const GROUPS: &str = "our server does not serve some groups: certificates, flow control, devices, ...";
const NO_AUTHORIZATION: &str = "our server allows everything: it has no RBAC";
const REQUIRED: &str = "our field tables do not record which fields are required";

/// All expected differences.
pub(crate) const DIFFERENCES: &[Difference] = &[
    differs(
        "01-server",
        "$ kubectl get --raw /livez?verbose",
        "our server has one health check and no post-start hooks",
    ),
    differs("01-server", "$ kubectl auth whoami", "only the administrator of the real cluster has a UID"),
    differs("01-server", "$ kubectl auth can-i --list", "our server has no roles to derive rules from"),
    differs("01-server", "$ kubectl auth can-i delete nodes --as=nobody", NO_AUTHORIZATION),
    differs("01-server", "$ kubectl api-versions", GROUPS),
    differs("01-server", "$ kubectl api-resources", GROUPS),
    differs("01-server", "$ kubectl explain configmap --recursive", REQUIRED),
    differs("01-server", "$ kubectl explain hpa --api-version=autoscaling/v1", REQUIRED),
    differs(
        "03-get",
        "$ kubectl get cm settings -o yaml --show-managed-fields",
        "our server records managedFields only after the first apply",
    ),
    differs(
        "05-change",
        r#"$ kubectl patch pod tool -p '{"spec":{"nodeName":"elsewhere"}}'"#,
        "our error does not show a diff of the two specs",
    ),
    differs("08-nodes", "$ kubectl certificate approve missing", GROUPS),
    differs("08-nodes", "$ kubectl get pods -n look --as=ann", NO_AUTHORIZATION),
];

const fn differs(script: &'static str, line: &'static str, why: &'static str) -> Difference {
    Difference { script, line, why }
}
