//! Request paths.

use std::borrow::Cow;

use super::InvalidRequest;

/// Initial capacity of a path; most paths are shorter.
const PATH_BYTES: usize = 128;

/// The parts of a path, each set at most once.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    /// Replaces the client's own path.
    pub(super) absolute: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    pub(super) suffix: Vec<String>,
}

impl Parts {
    /// Returns `/prefix[/namespaces/ns][/resource][/name][/subresource][/suffix]`.
    pub(super) fn path(&self, prefix: &str) -> String {
        let prefix = self.absolute.as_deref().unwrap_or(prefix);
        let mut path = String::with_capacity(PATH_BYTES);
        path.push_str(prefix.trim_end_matches('/'));
        let namespace = self.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let resource = self.resource.as_deref().map(lowercase);
        let parts = [
            namespace.map(|_| "namespaces"),
            namespace,
            resource.as_deref(),
            self.name.as_deref(),
            self.subresource.as_deref(),
        ];
        let parts = parts.into_iter().flatten().chain(self.suffix.iter().map(String::as_str));
        for part in parts {
            path.push('/');
            push_escaped(&mut path, part);
        }
        if path.is_empty() || (prefix.ends_with('/') && self.is_bare()) {
            path.push('/'); // `/healthz/` and `/healthz` are different paths
        }
        path
    }

    /// Returns the path with placeholders for names, for metrics and traces.
    pub(super) fn template(&self, prefix: &str) -> String {
        let mut template = match &self.absolute {
            Some(absolute) => template_of(absolute),
            None => prefix.to_owned(),
        };
        if !self.is_bare() {
            template.truncate(template.trim_end_matches('/').len());
        }
        let is_set = |part: &Option<String>| part.as_ref().is_some_and(|part| !part.is_empty());
        let resource = self.resource.as_deref().map(lowercase);
        let parts = [
            is_set(&self.namespace).then_some("namespaces"),
            is_set(&self.namespace).then_some("{namespace}"),
            resource.as_deref(),
            is_set(&self.name).then_some("{name}"),
            self.subresource.as_deref(),
            (!self.suffix.is_empty()).then_some("{suffix}"),
        ];
        for part in parts.into_iter().flatten() {
            template.push('/');
            template.push_str(part);
        }
        template
    }

    fn is_bare(&self) -> bool {
        self.namespace.is_none()
            && self.resource.is_none()
            && self.name.is_none()
            && self.subresource.is_none()
            && self.suffix.is_empty()
    }
}

/// Replaces names in an absolute path by placeholders. As in client-go, a segment's position decides whether it is a
/// name.
fn template_of(path: &str) -> String {
    let mut segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let resource = match segments[0] {
        _ if segments.len() == 1 => return path.to_owned(), // `/version`
        "api" => 2,
        "apis" => 3,
        _ => return "/{prefix}".to_owned(),
    };
    let is_subresource = |segment: &str| matches!(segment, "finalize" | "status");
    match segments.get_mut(resource..) {
        Some([_, name]) => *name = "{name}",
        Some([_, first, last]) => *first = if is_subresource(last) { "{name}" } else { "{namespace}" },
        Some([_, namespace, _, name, ..]) => {
            *namespace = "{namespace}";
            if !is_subresource(name) {
                *name = "{name}";
            }
        }
        _ => {}
    }
    format!("/{}", segments.join("/"))
}

/// Sets a part of a path; an error if it is already set.
pub(super) fn set(slot: &mut Option<String>, part: &'static str, value: &str) -> Result<(), InvalidRequest> {
    if let Some(first) = slot {
        return Err(InvalidRequest::Twice { part, first: first.clone(), second: value.to_owned() });
    }
    check(part, value)?;
    *slot = Some(value.to_owned());
    Ok(())
}

/// Rejects values that would change the structure of the path.
pub(super) fn check(part: &'static str, value: &str) -> Result<(), InvalidRequest> {
    let reject = |why| Err(InvalidRequest::Segment { part, value: value.to_owned(), why });
    match value {
        "." | ".." => reject("may not be '.' or '..'"),
        value if value.contains('/') => reject("may not contain '/'"),
        value if value.contains('%') => reject("may not contain '%'"),
        _ => Ok(()),
    }
}

/// Percent-encodes text for a path or query.
pub(super) fn push_escaped(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_plain(byte)) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
        let (plain, others) = rest.split_at(at);
        let end = others.bytes().position(is_plain).unwrap_or(others.len());
        out.push_str(plain);
        for byte in others[..end].bytes() {
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
        rest = &others[end..];
    }
    out.push_str(rest);
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
        || matches!(byte, b':' | b'@' | b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b',' | b';')
}

/// Returns the resource in lower case, as paths have it.
fn lowercase(resource: &str) -> Cow<'_, str> {
    if resource.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return resource.into();
    }
    resource.to_lowercase().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(namespace: &str, resource: &str, name: &str, sub: &str) -> Parts {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Parts {
            namespace: some(namespace),
            resource: some(resource),
            name: some(name),
            subresource: some(sub),
            ..Parts::default()
        }
    }

    #[test]
    fn a_path_is_built_from_parts() {
        assert_eq!(parts("", "Pods", "", "").path("/api/v1"), "/api/v1/pods");
        assert_eq!(parts("ns", "pods", "a", "log").path("/api/v1/"), "/api/v1/namespaces/ns/pods/a/log");
        assert_eq!(
            parts("", "namespaces", "ns", "finalize").path("/api/v1"),
            "/api/v1/namespaces/ns/finalize"
        );
        let absolute = |path: &str| Parts { absolute: Some(path.to_owned()), ..Parts::default() };
        assert_eq!(absolute("/healthz/").path("/api/v1"), "/healthz/");
        assert_eq!(absolute("/").path("/api/v1"), "/");
        assert_eq!(parts("", "clusterroles", "a:b c", "").path("/x"), "/x/clusterroles/a:b%20c");
        assert_eq!(parts("", "x", " é?b+", "").path(""), "/x/%20%C3%A9%3Fb%2B");
    }

    #[test]
    fn a_template_contains_no_names() {
        assert_eq!(
            parts("ns", "Pods", "a", "log").template("/api/v1"),
            "/api/v1/namespaces/{namespace}/pods/{name}/log"
        );
        let proxied = Parts { suffix: vec!["a".into(), "b".into()], ..parts("", "nodes", "n", "proxy") };
        assert_eq!(proxied.template("/api/v1"), "/api/v1/nodes/{name}/proxy/{suffix}");
        assert_eq!(
            parts("", "namespaces", "namespaces", "").template("/api/v1"),
            "/api/v1/namespaces/{name}"
        );
        for (path, template) in [
            ("/version", "/version"),
            ("/", "/"),
            ("/healthz/ping", "/{prefix}"),
            ("/openapi/v3/apis/apps/v1", "/{prefix}"),
            ("/api/v1", "/api/v1"),
            ("/apis/apps/v1", "/apis/apps/v1"),
            ("/api/v1/nodes", "/api/v1/nodes"),
            ("/api/v1/nodes/n1", "/api/v1/nodes/{name}"),
            ("/api/v1/nodes/n1/status", "/api/v1/nodes/{name}/status"),
            ("/api/v1/namespaces/ns/finalize", "/api/v1/namespaces/{name}/finalize"),
            ("/api/v1/namespaces/ns/pods", "/api/v1/namespaces/{namespace}/pods"),
            (
                "/apis/apps/v1/namespaces/ns/deployments/d",
                "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
            ),
            (
                "/apis/apps/v1/namespaces/namespaces/deployments/d/status",
                "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status",
            ),
        ] {
            let absolute = Parts { absolute: Some(path.to_owned()), ..Parts::default() };
            assert_eq!(absolute.template("/api/v1"), template, "{path}");
        }
    }

    #[test]
    fn invalid_and_repeated_parts_are_rejected() {
        for (value, error) in [
            ("..", "invalid name \"..\": may not be '.' or '..'"),
            ("a/b", "invalid name \"a/b\": may not contain '/'"),
            ("a%2fb", "invalid name \"a%2fb\": may not contain '%'"),
        ] {
            assert_eq!(set(&mut None, "name", value).unwrap_err().to_string(), error);
        }
        let mut slot = None;
        set(&mut slot, "name", "a").unwrap();
        assert_eq!(set(&mut slot, "name", "b").unwrap_err().to_string(), "name set twice: \"a\" and \"b\"");
    }
}
