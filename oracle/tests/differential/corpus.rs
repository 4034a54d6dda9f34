//! Corpus: scenarios of requests in a text format.
//!
//! ```text
//! let cm = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
//!
//! === a-scenario
//! # Each paragraph is a request. `${ns}` is the scenario's namespace, which exists already.
//!
//! @made POST /api/v1/namespaces/${ns}/configmaps
//! Accept: application/yaml
//! ${cm}
//!
//! GET /api/v1/namespaces/${ns}/configmaps/a?resourceVersion=${made.metadata.resourceVersion+5}
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `let NAME = TEXT` | defines `${NAME}` for the rest of the file |
//! | `@NAME METHOD PATH` | a request; the optional name is for captures and explained differences |
//! | `APPLY PATH` | a server-side apply PATCH |
//! | `Header: value` | a header of the request |
//! | `!events N` | closes the watch after N events |
//! | `!headers` | compares only the code and the headers |
//! | `{...`, `[...`, `${...` | the body, up to the end of the paragraph |
//! | `---` | the next lines are the body |
//! | `<protobuf VERSION KIND` | the next lines are the body, which is converted to protobuf |
//! | `<bytes N TEXT` | the body is TEXT repeated N times |

use http::Method;

/// One request, with unresolved captures.
#[derive(Debug, Clone)]
pub(crate) struct CorpusRequest {
    /// `file/scenario/name`, or with a number for a request without a name.
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) events: Option<usize>,
    pub(crate) headers_only: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Text(String),
    Protobuf { api_version: String, kind: String, json: String },
    Repeated { times: usize, text: String },
}

#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) requests: Vec<CorpusRequest>,
}

/// Parses a file of scenarios.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Scenario>, String> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for paragraph in text.split("\n\n") {
        let lines: Vec<&str> = paragraph.lines().filter(|line| !line.starts_with('#')).collect();
        let mut rest = &lines[..];
        while let [first, more @ ..] = rest {
            if let Some(name) = first.strip_prefix("=== ") {
                scenarios.push(Scenario { name: name.trim().to_owned(), requests: Vec::new() });
            } else if let Some((name, value)) =
                first.strip_prefix("let ").and_then(|line| line.split_once(" = "))
            {
                names.push((format!("${{{name}}}"), expand(&names, value)));
            } else if !first.trim().is_empty() {
                break;
            }
            rest = more;
        }
        if rest.is_empty() {
            continue;
        }
        let scenario =
            scenarios.last_mut().ok_or_else(|| format!("{file}: request before the first scenario"))?;
        let place = format!("{file}/{}", scenario.name);
        let lines: Vec<String> = rest.iter().map(|line| expand(&names, line)).collect();
        let request = request(&place, scenario.requests.len() + 1, &lines)
            .ok_or_else(|| format!("{place}: invalid request: {}", lines.join("\n")))?;
        if scenario.requests.iter().any(|other| other.id == request.id) {
            return Err(format!("duplicate request {}", request.id));
        }
        scenario.requests.push(request);
    }
    Ok(scenarios)
}

fn expand(names: &[(String, String)], line: &str) -> String {
    names.iter().rev().fold(line.to_owned(), |line, (name, value)| line.replace(name, value))
}

fn request(place: &str, number: usize, lines: &[String]) -> Option<CorpusRequest> {
    let (first, mut rest) = lines.split_first()?;
    let (name, first) = match first.strip_prefix('@') {
        Some(named) => {
            let (name, first) = named.split_once(' ')?;
            (Some(name.to_owned()), first)
        }
        None => (None, first.as_str()),
    };
    let (method, path) = first.split_once(' ')?;
    let mut parsed = CorpusRequest {
        id: format!("{place}/{}", name.clone().unwrap_or_else(|| number.to_string())),
        name,
        method: method.parse().ok()?,
        path: path.trim().to_owned(),
        headers: Vec::new(),
        body: Body::Text(String::new()),
        events: None,
        headers_only: false,
    };
    while let Some((line, more)) = rest.split_first() {
        if line.starts_with(['{', '[', '$']) {
            parsed.body = Body::Text(rest.join("\n"));
            break;
        }
        rest = more;
        if line == "---" {
            parsed.body = Body::Text(rest.join("\n"));
            break;
        } else if let Some(kind) = line.strip_prefix("<protobuf ") {
            let (api_version, kind) = kind.split_once(' ')?;
            let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
            parsed.body = Body::Protobuf { api_version, kind, json: rest.join("\n") };
            break;
        } else if let Some(repeated) = line.strip_prefix("<bytes ") {
            let (times, text) = repeated.split_once(' ')?;
            parsed.body = Body::Repeated { times: times.parse().ok()?, text: text.to_owned() };
            break;
        } else if let Some(count) = line.strip_prefix("!events ") {
            parsed.events = Some(count.parse().ok()?);
        } else if line == "!headers" {
            parsed.headers_only = true;
        } else {
            let (name, value) = line.split_once(": ")?;
            parsed.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    Some(parsed)
}
