//! Draws trees as indented lines.

use watchkeeper_core::{Timestamp, elapsed};
use watchkeeper_web::tree::{Health, Node};

use crate::output::{Colours, TabWriter};

/// Characters to draw branches with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    /// Box-drawing characters.
    Boxes,
    /// ASCII, for terminals without box-drawing characters.
    Ascii,
}

impl Lines {
    /// Returns `Boxes` if the locale is UTF-8.
    pub(super) fn of_locale() -> Self {
        let variables = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).unwrap_or_default());
        Self::of(variables.iter().find(|value| !value.is_empty()).map_or("", String::as_str))
    }

    fn of(locale: &str) -> Self {
        let locale = locale.to_ascii_lowercase();
        if locale.ends_with("utf-8") || locale.ends_with("utf8") { Self::Boxes } else { Self::Ascii }
    }

    /// Returns the prefix of a child, and of the lines below it.
    fn branch(self, is_last: bool) -> (&'static str, &'static str) {
        match (self, is_last) {
            (Self::Boxes, false) => ("├─", "│ "),
            (Self::Boxes, true) => ("└─", "  "),
            (Self::Ascii, false) => ("|-", "| "),
            (Self::Ascii, true) => ("`-", "  "),
        }
    }
}

/// Draws the trees one below the other, with a namespace column if they are in more than one.
pub(super) fn draw(nodes: &[Node], lines: Lines, colours: Colours, now: Timestamp) -> String {
    let mut out = TabWriter::default();
    let with_namespace =
        nodes.first().is_some_and(|first| nodes.iter().any(|node| differs(node, &first.namespace)));
    out.write(if with_namespace { "NAMESPACE\t" } else { "" });
    out.write("NAME\tHEALTH\tSTATUS\tAGE\n");
    let pen = Pen { lines, colours, now, with_namespace };
    for node in nodes {
        pen.node(node, "", "", &mut out);
    }
    out.flush();
    out.take()
}

fn differs(node: &Node, namespace: &str) -> bool {
    node.namespace != namespace || node.children.iter().any(|child| differs(child, namespace))
}

struct Pen {
    lines: Lines,
    colours: Colours,
    now: Timestamp,
    with_namespace: bool,
}

impl Pen {
    fn node(&self, node: &Node, before: &str, below: &str, out: &mut TabWriter) {
        if self.with_namespace {
            out.write(&format!("{}\t", node.namespace));
        }
        out.write(&format!("{before}{}/{}\t", node.kind, escaped(&node.name)));
        out.colour(self.colours.of_health(node.health));
        out.write(match node.health {
            Health::Unknown => "-",
            health => health.as_str(),
        });
        let created = node.created.as_deref().and_then(|created| created.parse().ok());
        let age = created.map_or_else(|| "<unknown>".to_owned(), |created| elapsed(created, self.now));
        let status = match (node.status.as_str(), node.below > node.health && node.below > Health::Healthy) {
            ("", false) => "-".to_owned(),
            ("", true) => format!("{} below", node.below.as_str()),
            (status, false) => status.to_owned(),
            (status, true) => format!("{status}, {} below", node.below.as_str()),
        };
        out.write(&format!("\t{}\t{age}\n", escaped(&status)));
        for (position, child) in node.children.iter().enumerate() {
            let (branch, rest) = self.lines.branch(position + 1 == node.children.len());
            self.node(child, &format!("{below}{branch}"), &format!("{below}{rest}"), out);
        }
    }
}

/// Replaces control characters, which would affect the terminal or the layout.
fn escaped(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, name: &str, health: Health, status: &str, children: Vec<Node>) -> Node {
        Node {
            group: String::new(),
            version: "v1".to_owned(),
            resource: String::new(),
            kind: kind.to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            uid: String::new(),
            created: Some("2026-11-15T10:00:00Z".to_owned()),
            health,
            below: children
                .iter()
                .map(|child: &Node| child.health.max(child.below))
                .max()
                .unwrap_or(Health::Unknown),
            status: status.to_owned(),
            children,
        }
    }

    fn web() -> Node {
        let pod = |name| node("Pod", name, Health::Healthy, "1/1 ready", vec![]);
        let bad = node("Pod", "web-2-b", Health::Degraded, "0/1 ready, Error", vec![]);
        let old = node("ReplicaSet", "web-1", Health::Healthy, "0/0 ready", vec![]);
        let new = node("ReplicaSet", "web-2", Health::Progressing, "1/2 ready", vec![pod("web-2-a"), bad]);
        let secret = node("Secret", "web", Health::Unknown, "", vec![]);
        node("Deployment", "web", Health::Degraded, "1/2 ready", vec![new, old, secret])
    }

    fn drawn(nodes: &[Node], lines: Lines) -> Vec<String> {
        let now = "2026-11-15T10:05:00Z".parse().unwrap();
        draw(nodes, lines, Colours::Never, now).lines().map(str::to_owned).collect()
    }

    #[test]
    fn children_are_drawn_below_their_owners() {
        let expected = [
            "NAME                 HEALTH        STATUS                      AGE",
            "Deployment/web       degraded      1/2 ready                   5m",
            "├─ReplicaSet/web-2   progressing   1/2 ready, degraded below   5m",
            "│ ├─Pod/web-2-a      healthy       1/1 ready                   5m",
            "│ └─Pod/web-2-b      degraded      0/1 ready, Error            5m",
            "├─ReplicaSet/web-1   healthy       0/0 ready                   5m",
            "└─Secret/web         -             -                           5m",
        ];
        assert_eq!(drawn(&[web()], Lines::Boxes), expected);
    }

    #[test]
    fn locales_without_utf8_get_ascii() {
        assert!(drawn(&[web()], Lines::Ascii).iter().all(|line| line.is_ascii()));
        assert_eq!(Lines::of("de_DE.UTF-8"), Lines::Boxes);
        assert_eq!(Lines::of("C.utf8"), Lines::Boxes);
        assert_eq!(Lines::of("C"), Lines::Ascii);
        assert_eq!(Lines::of(""), Lines::Ascii);
    }

    #[test]
    fn namespaces_are_shown_if_they_differ() {
        let mut other = node("Lease", "n1", Health::Unknown, "", vec![]);
        other.namespace = "kube-node-lease".to_owned();
        let mut root = node("Node", "n1", Health::Healthy, "Ready", vec![other]);
        root.namespace = String::new();
        let lines = drawn(&[root], Lines::Boxes);
        assert!(lines[0].starts_with("NAMESPACE") && lines[2].starts_with("kube-node-lease"), "{lines:?}");
    }

    #[test]
    fn control_characters_are_replaced() {
        let bad = node("Pod", "a", Health::Degraded, "\u{1b}[2J\tx", vec![]);
        assert!(drawn(&[bad], Lines::Boxes)[1].contains("?[2J?x"));
    }
}
