//! Content negotiation: the encoding of responses, and of request bodies.
//!
//! Input: the headers `Accept`, `Accept-Encoding`, `Content-Type`, `User-Agent`, and `?pretty`.
//! Output: [`respond`](crate::http::respond) and [`decode`](crate::http::decode).
//!
//! Invariants:
//! - `negotiate.N1`: clauses of `Accept` are tried from the highest `q` down, and among equals named types before
//!   wildcards; the first that can be served wins. Clauses that cannot be served are skipped, so that
//!   `application/json;as=Table;g=meta.k8s.io;v=v1,application/json` falls back.
//! - `negotiate.N2`: as in kube-apiserver, a `q` of 0 does not exclude a media type, and the media types of `Accept`
//!   are case-sensitive.
//! - `negotiate.N3`: an error is never transformed into a table or metadata. If `Accept` does not allow a plain
//!   `Status`, the error is sent as indented JSON.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use watchkeeper_core::{Encoding, Outcome, Status, StatusReason};

use super::query::Query;

/// The format of a body: an [`Encoding`] of objects, or YAML.
///
/// YAML is not an `Encoding`, because it exists only here: a body is converted from or to JSON at once, and neither the
/// store nor a client or a cache ever holds an object in YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// An encoding that objects are stored and sent in.
    Encoded(Encoding),
    /// `application/yaml`, which is converted from and to JSON.
    Yaml,
}

impl MediaType {
    /// `application/json`.
    pub const JSON: Self = Self::Encoded(Encoding::Json);
    /// `application/vnd.kubernetes.protobuf`.
    pub const PROTOBUF: Self = Self::Encoded(Encoding::Protobuf);
    /// All media types, the preferred one first.
    pub const ALL: [Self; 3] = [Self::JSON, Self::Yaml, Self::PROTOBUF];

    /// Returns the name in a header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Encoded(encoding) => encoding.media_type(),
            Self::Yaml => "application/yaml",
        }
    }

    /// Returns the encoding of the objects in a body of this type: JSON for YAML.
    pub fn encoding(self) -> Encoding {
        match self {
            Self::Encoded(encoding) => encoding,
            Self::Yaml => Encoding::Json,
        }
    }

    /// Returns the content type of a watch, if the media type can encode events.
    pub fn of_watch(self) -> Option<&'static str> {
        match self {
            Self::Encoded(encoding) => Some(encoding.watch_content_type()),
            Self::Yaml => None,
        }
    }
}

/// The representation that an object is transformed into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A table for people to read.
    Table,
    /// The metadata of one object.
    PartialObjectMetadata,
    /// The metadata of each object of a list.
    PartialObjectMetadataList,
}

/// A version of group `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// Returns `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The negotiated encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// The media type.
    pub media: MediaType,
    /// Whether JSON is indented.
    pub pretty: bool,
    /// The transformation; `None` for the object itself.
    pub transform: Option<(Shape, MetaVersion)>,
}

/// The encodings that an endpoint supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Whether it serves a collection, which can be watched. Affects only the message of a 406.
    pub collection: bool,
    /// Whether it supports protobuf; custom resources do not, although their metadata does.
    pub protobuf: bool,
    /// Whether the kind is built in. Endpoints of built-in kinds first match the media types without their parameters;
    /// that step does not accept `application/*`.
    pub built_in: bool,
    /// Whether responses can be transformed.
    pub transforms: bool,
    /// Whether responses can be transformed into a table.
    pub table: bool,
}

impl Offer {
    /// A single object of a built-in kind.
    pub const OBJECT: Self =
        Self { collection: false, protobuf: true, built_in: true, transforms: true, table: true };
    /// A collection of a built-in kind.
    pub const COLLECTION: Self = Self { collection: true, ..Self::OBJECT };
    /// An object or a collection of a custom kind.
    pub const CUSTOM: Self =
        Self { collection: true, protobuf: false, built_in: false, transforms: true, table: true };
    /// A plain `Status`: the body of every error.
    const STATUS: Self =
        Self { collection: false, protobuf: true, built_in: false, transforms: false, table: false };
}

/// The encoding that a client prefers for the response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preferences {
    accept: String,
    /// Whether the response may be compressed with gzip.
    pub gzip: bool,
    pretty: bool,
}

impl Preferences {
    /// Reads the headers and `?pretty`. Browsers, curl and wget get indented JSON by default.
    pub fn read(headers: &HeaderMap, query: &Query) -> Self {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let pretty = match query.text("pretty") {
            "" => ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| header(USER_AGENT).starts_with(tool)),
            text => matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        };
        Self {
            accept: header(ACCEPT).to_owned(),
            gzip: header(ACCEPT_ENCODING).split(',').any(|token| token.trim() == "gzip"),
            pretty,
        }
    }

    /// Negotiates the encoding of a complete response.
    ///
    /// ```
    /// use http::HeaderMap;
    /// use watchkeeper_apiserver::http::{MediaType, Offer, Preferences, Query};
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("accept", "text/html, application/yaml;q=0.5".parse()?);
    /// let preferences = Preferences::read(&headers, &Query::default());
    /// assert_eq!(preferences.object(&Offer::OBJECT)?.media, MediaType::Yaml);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns 406 if the client accepts nothing on offer.
    pub fn object(&self, offer: &Offer) -> Result<Accepted, Status> {
        self.route(offer)?;
        self.negotiate(offer).ok_or_else(|| Status::not_acceptable(&MediaType::ALL.map(MediaType::as_str)))
    }

    /// Negotiates the encoding of a watch, whose content type is [`MediaType::of_watch`].
    ///
    /// # Errors
    /// Returns 406 if the client accepts nothing on offer, or only encodings without watch events.
    pub fn watch(&self, offer: &Offer) -> Result<Accepted, Status> {
        let accepted = self.object(offer)?;
        if accepted.media.of_watch().is_none() {
            return Err(Status::not_acceptable(&STREAMS));
        }
        Ok(Accepted { pretty: false, ..accepted })
    }

    /// Returns the encoding of an error (`negotiate.N3`).
    pub fn status(&self) -> Accepted {
        let raw = Accepted { media: MediaType::JSON, pretty: true, transform: None };
        self.negotiate(&Offer::STATUS).unwrap_or(raw)
    }

    /// Matches the media types alone, like the router of built-in endpoints.
    fn route(&self, offer: &Offer) -> Result<(), Status> {
        let mut types =
            self.accept.split(',').map(|clause| clause.split(';').next().unwrap_or_default().trim());
        let known = |it: &str| it == "*/*" || MediaType::ALL.iter().any(|media| media.as_str() == it);
        if !offer.built_in || self.accept.is_empty() || types.any(known) {
            return Ok(());
        }
        let mut available = MediaType::ALL.map(MediaType::as_str).to_vec();
        if offer.collection {
            available.extend(STREAMS);
        }
        Err(generic(
            406,
            StatusReason::NotAcceptable,
            format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", ")),
        ))
    }

    fn negotiate(&self, offer: &Offer) -> Option<Accepted> {
        if self.accept.is_empty() {
            return Some(Accepted { media: MediaType::JSON, pretty: self.pretty, transform: None });
        }
        let mut clauses: Vec<Clause<'_>> = self.accept.split(',').filter_map(Clause::read).collect();
        clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(a.wildcards().cmp(&b.wildcards())));
        clauses.iter().find_map(|clause| {
            MediaType::ALL
                .into_iter()
                .filter(|media| clause.names(*media))
                .find_map(|media| clause.accepts(media, offer))
                .map(|accepted| Accepted { pretty: accepted.pretty || self.pretty, ..accepted })
        })
    }
}

const STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/// One clause of an `Accept` header.
struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    /// Parses a clause; returns `None` if it is not a media type.
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.trim().split(';');
        let media = parts.next().unwrap_or_default();
        let (main, sub) = match media.split_once('/') {
            Some((_, sub)) if sub.contains('/') => return None,
            Some((_, "")) => return None,
            Some((main, sub)) => (main.trim(), sub.trim()),
            None if media.trim() == "*" => ("*", "*"),
            None => return None,
        };
        let mut clause = Self { main, sub, quality: 1.0, parameters: Vec::new() };
        for parameter in parts {
            let Some((name, value)) = parameter.split_once('=') else { continue };
            if value.is_empty() || value.contains('=') {
                continue;
            }
            match name.trim() {
                "q" => clause.quality = value.parse().ok().filter(|q: &f32| q.is_finite()).unwrap_or(0.0),
                name => clause.parameters.push((name, value.trim())),
            }
        }
        Some(clause)
    }

    fn wildcards(&self) -> u8 {
        u8::from(self.main == "*") * 2 + u8::from(self.sub == "*")
    }

    fn names(&self, media: MediaType) -> bool {
        match (self.main, self.sub) {
            ("*", "*") | ("application", "*") => true,
            (main, sub) => media.as_str().split_once('/') == Some((main, sub)),
        }
    }

    /// Applies the parameters to a media type; returns `None` if they request something not on offer.
    fn accepts(&self, media: MediaType, offer: &Offer) -> Option<Accepted> {
        let parameter = |name| self.parameters.iter().rfind(|(key, _)| *key == name).map(|(_, value)| *value);
        match parameter("stream") {
            None => {}
            Some("watch") if media.of_watch().is_some() => {}
            Some(_) => return None,
        }
        // The version of the requested options; `v1` is the only one.
        if parameter("sv").is_some_and(|version| !offer.transforms || version != "v1") {
            return None;
        }
        let asked = (parameter("as"), parameter("g"), parameter("v"));
        let transform = match asked {
            (None, None, None) => None,
            (Some(shape), Some("meta.k8s.io"), Some(version)) if offer.transforms => {
                let version = match version {
                    "v1" => MetaVersion::V1,
                    "v1beta1" => MetaVersion::V1Beta1,
                    _ => return None,
                };
                let shape = match shape {
                    "Table" if offer.table && media != MediaType::PROTOBUF => Shape::Table,
                    "PartialObjectMetadata" => Shape::PartialObjectMetadata,
                    "PartialObjectMetadataList" => Shape::PartialObjectMetadataList,
                    _ => return None,
                };
                Some((shape, version))
            }
            _ => return None,
        };
        if transform.is_none() && media == MediaType::PROTOBUF && !offer.protobuf {
            return None;
        }
        Some(Accepted { media, pretty: parameter("pretty") == Some("1"), transform })
    }
}

/// Returns the media type of a request body. The default is JSON.
///
/// # Errors
/// Returns 415 if the server cannot read the media type.
pub fn sent_object(headers: &HeaderMap) -> Result<MediaType, Status> {
    let name = match content_type(headers) {
        "" => Some(MediaType::JSON.as_str().to_owned()),
        text => media_type(text),
    };
    let media = MediaType::ALL.into_iter().find(|media| name.as_deref() == Some(media.as_str()));
    media.ok_or_else(|| Status::unsupported_media_type(&MediaType::ALL.map(MediaType::as_str)))
}

/// The patch formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchType {
    /// `application/json-patch+json`: a list of operations.
    Json,
    /// `application/merge-patch+json`: fields replace those of the object.
    Merge,
    /// `application/strategic-merge-patch+json`: like merge, but lists are merged by key.
    Strategic,
    /// `application/apply-patch+yaml`: the complete intent of a field manager.
    Apply,
}

impl PatchType {
    /// All patch types, in the order of the message of a 415.
    pub const ALL: [Self; 4] = [Self::Json, Self::Merge, Self::Strategic, Self::Apply];

    /// Returns the name in a header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// Returns the type of a patch.
///
/// # Errors
/// Returns 415 if the type is not in `served`, with the message of kube-apiserver's router; or with that of its handler
/// if whitespace surrounds the name.
pub fn sent_patch(headers: &HeaderMap, served: &[PatchType]) -> Result<PatchType, Status> {
    let name = content_type(headers).split(';').next().unwrap_or_default();
    let Some(patch) = served.iter().find(|patch| patch.as_str() == name.trim()) else {
        return Err(generic(
            415,
            StatusReason::UnsupportedMediaType,
            "415: Unsupported Media Type".to_owned(),
        ));
    };
    if name != patch.as_str() {
        let names: Vec<&str> = served.iter().map(|patch| patch.as_str()).collect();
        return Err(Status::unsupported_media_type(&names));
    }
    Ok(*patch)
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"))
}

/// Returns the name of a media type in lower case; `None` if the header is malformed.
fn media_type(text: &str) -> Option<String> {
    let is_token = |text: &str| {
        let special = |byte: u8| b"()<>@,;:\\\"/[]?=".contains(&byte);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !special(byte))
    };
    let (name, mut rest) = text.split_once(';').unwrap_or((text, ""));
    let name = name.trim().to_ascii_lowercase();
    let (main, sub) = name.split_once('/')?;
    if !is_token(main) || !is_token(sub) {
        return None;
    }
    let mut seen: Vec<String> = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(name);
        }
        let (key, value) = rest.split_once('=')?;
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => {
                let (_, after) = quoted.split_once('"')?;
                (true, after)
            }
            None => {
                let end = value.find([';', ' ', '\t']).unwrap_or(value.len());
                (is_token(&value[..end]), &value[end..])
            }
        };
        let after = after.trim_start();
        let next = if after.is_empty() { Some("") } else { after.strip_prefix(';') };
        if !is_token(&key) || !value || seen.contains(&key) {
            return None;
        }
        seen.push(key);
        rest = next?;
    }
}

/// Returns a failure that is detected before the resource is known: its details are present, and empty.
pub(crate) fn generic(code: i32, reason: StatusReason, message: String) -> Status {
    let (outcome, details) = (Some(Outcome::Failure), Some(Box::default()));
    Status { outcome, message, reason, details, code, continue_token: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferences(accept: &str) -> Preferences {
        Preferences { accept: accept.to_owned(), ..Default::default() }
    }

    /// Returns `406 message`, or the content type and the transformation.
    fn shown(outcome: Result<Accepted, Status>, watch: bool) -> String {
        match outcome {
            Err(status) => format!("{} {}", status.code, status.message),
            Ok(accepted) => {
                let media = accepted.media;
                let name = if watch { media.of_watch().unwrap() } else { media.as_str() };
                let shape = accepted.transform.map(|(shape, _)| format!(" {shape:?}")).unwrap_or_default();
                format!("{name}{shape}")
            }
        }
    }

    #[test]
    fn accept_is_negotiated_like_kube_apiserver() {
        let mut checked = 0;
        for line in include_str!("testdata/accept.tsv").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [endpoint, accept, expected] = fields[..] else { panic!("{line}") };
            let expected: String = serde_json::from_str(expected).unwrap();
            let found = match endpoint {
                "list" => shown(preferences(accept).object(&Offer::COLLECTION), false),
                "get" => shown(preferences(accept).object(&Offer::OBJECT), false),
                "watch" => shown(preferences(accept).watch(&Offer::COLLECTION), true),
                other => panic!("{other}"),
            };
            assert_eq!(found, expected, "{endpoint} {accept:?}");
            checked += 1;
        }
        assert!(checked > 100, "{checked} lines");
    }

    #[test]
    fn errors_are_written_plainly_or_as_indented_json() {
        let shown = |accept| {
            let accepted = preferences(accept).status();
            (accepted.media, accepted.pretty)
        };
        assert_eq!(shown(""), (MediaType::JSON, false));
        assert_eq!(shown("application/*"), (MediaType::JSON, false));
        assert_eq!(shown("application/yaml"), (MediaType::Yaml, false));
        assert_eq!(shown("application/vnd.kubernetes.protobuf;stream=watch"), (MediaType::PROTOBUF, false));
        for accept in ["text/html", "application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;sv=v1"]
        {
            assert_eq!(shown(accept), (MediaType::JSON, true), "{accept}");
        }
    }

    #[test]
    fn custom_resources_have_protobuf_for_their_metadata_only() {
        let accepted = |accept| preferences(accept).object(&Offer::CUSTOM).ok().map(|it| it.media);
        assert_eq!(accepted("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(
            accepted("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
            Some(MediaType::PROTOBUF)
        );
        assert_eq!(accepted("application/vnd.kubernetes.protobuf,application/json"), Some(MediaType::JSON));
    }

    fn sent(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, text.parse().unwrap())])
    }

    #[test]
    fn content_types_are_parsed_like_kube_apiserver() {
        assert_eq!(sent_object(&HeaderMap::new()).unwrap(), MediaType::JSON);
        for (text, media) in [
            ("", MediaType::JSON),
            ("application/json; charset=utf-8", MediaType::JSON),
            ("APPLICATION/JSON", MediaType::JSON),
            ("application/json;", MediaType::JSON),
            ("application/json; charset=\"utf-8\" ; a=b", MediaType::JSON),
            ("application/yaml", MediaType::Yaml),
            ("application/vnd.kubernetes.protobuf", MediaType::PROTOBUF),
        ] {
            assert_eq!(sent_object(&sent(text)).unwrap(), media, "{text}");
        }
        for text in [
            "text/plain",
            "application/x-yaml",
            "*/*",
            "bogus",
            "application/json;charset",
            "application/json, application/yaml",
            "application/json;a=b;a=c",
        ] {
            let status = sent_object(&sent(text)).unwrap_err();
            assert_eq!(
                status.message,
                "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
                "{text}"
            );
            assert_eq!(status.code, 415);
        }
    }

    #[test]
    fn patch_types_are_distinguished_by_content_type() {
        let sent_as = |text: &str| sent_patch(&sent(text), &PatchType::ALL);
        assert_eq!(sent_as("application/merge-patch+json; charset=utf-8").unwrap(), PatchType::Merge);
        for text in ["", "application/json", "Application/Merge-Patch+json", "application/apply-patch+cbor"] {
            assert_eq!(sent_as(text).unwrap_err().message, "415: Unsupported Media Type", "{text}");
        }
        let status = sent_as("application/merge-patch+json ;x").unwrap_err();
        assert!(status.message.ends_with("include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"));
        let without_apply = &PatchType::ALL[..3];
        assert_eq!(sent_patch(&sent("application/apply-patch+yaml"), without_apply).unwrap_err().code, 415);
    }

    #[test]
    fn curl_and_browsers_get_indented_json() {
        let pretty = |agent: &'static str, query| {
            let headers = HeaderMap::from_iter([(USER_AGENT, agent.parse().unwrap())]);
            Preferences::read(&headers, &Query::parse(query)).object(&Offer::OBJECT).unwrap().pretty
        };
        assert!(pretty("curl/8.5", ""));
        assert!(!pretty("curl/8.5", "pretty=false"));
        assert!(!pretty("kubectl/v1.37", ""));
        assert!(pretty("kubectl/v1.37", "pretty=1"));
        assert!(!pretty("kubectl/v1.37", "pretty=maybe"));
    }

    #[test]
    fn gzip_is_accepted_only_by_its_bare_name() {
        let gzip = |text: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, text.parse().unwrap())]);
            Preferences::read(&headers, &Query::default()).gzip
        };
        assert!(gzip("deflate, gzip"));
        assert!(!gzip("gzip;q=1.0"));
        assert!(!gzip("identity"));
    }

    proptest::proptest! {
        #[test]
        fn negotiation_never_panics(accept in "[a-z*/;=,.0-9 \"]{0,40}") {
            let _ = preferences(&accept).watch(&Offer::COLLECTION);
            let _ = preferences(&accept).status();
            let _ = media_type(&accept);
        }
    }
}
