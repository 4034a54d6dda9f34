//! JSON paths as kubectl knows them: which values of an object are meant, and texts made of them.
//!
//! From: what a user or the author of a definition wrote.
//! To:   [`JsonPath::find`], for a column or a sort key; [`Template::render`], for `-o jsonpath=`.
//!
//! | written | meant |
//! |---|---|
//! | `.spec.nodeName`, `['spec']`, `.metadata.labels.app\.kubernetes\.io/name` | a field |
//! | `[0]`, `[-1]`, `[1:3]`, `[::2]`, `[*]` | items of a list |
//! | `.*` | everything in a list or an object |
//! | `..image` | that field, however deep it is |
//! | `[?(@.type=="Ready")]`, `[?(@.ready)]` | the items for which this is so |
//! | `[0,2]`, `['name','uid']` | the one and the other |
//! | `{range .items[*]}...{end}` | the text in between once for each |
//! | `{"\n"}` | that text |
//!
//! - P1: what is not there is no error, and gives no value.
//! - P2: nesting is bounded by [`MAX_DEPTH`], so that no text exhausts the stack.

mod find;
mod number;
mod parse;
mod plain;
mod print;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use serde_json::Value;

pub use find::FindError;
pub use parse::JsonPathError;
pub use plain::at;
pub use print::go_value;

/// How deep filters and lists may stand in each other (P2).
pub const MAX_DEPTH: usize = 16;

/// Where values are in an object.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_wire::json_path::JsonPath;
///
/// let pod = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Warm", "status": "False"}]}});
/// let ready: JsonPath = r#".status.conditions[?(@.type=="Ready")].status"#.parse()?;
/// assert_eq!(ready.find(&pod)?, [json!("True")]);
/// let absent: JsonPath = "{.spec.nodeName}".parse()?;
/// assert!(absent.find(&pod)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// A text with paths in it.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_wire::json_path::Template;
///
/// let list = json!({"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]});
/// let names: Template = r#"{range .items[*]}{.metadata.name}{"\n"}{end}"#.parse()?;
/// assert_eq!(names.render(&list)?, "a\nb\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Values(Vec<Step>),
    Range(Vec<Step>, Vec<Part>),
}

/// From some values to others.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Each,
    Slice {
        from: Option<i64>,
        to: End,
        step: Option<i64>,
    },
    Deep,
    Filter(Filter),
    Union(Vec<Vec<Step>>),
    /// This, whatever was before.
    Literal(Value),
}

/// Where a slice ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// After one item.
    One,
    At(i64),
    Last,
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Vec<Step>,
    /// `None`: it is enough that there is something.
    comparison: Option<(Operator, Vec<Step>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// With braces or without, with a dot at the beginning or without.
impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        parse::path(text).map(|steps| Self { steps })
    }
}

impl FromStr for Template {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        parse::template(text).map(|parts| Self { parts })
    }
}

impl JsonPath {
    /// The values that are meant, in order.
    ///
    /// # Errors
    /// Where something is not what the path takes it for: see [`FindError`].
    pub fn find(&self, value: &Value) -> Result<Vec<Value>, FindError> {
        let found = find::find(&self.steps, vec![std::borrow::Cow::Borrowed(value)])?;
        Ok(found.into_iter().map(std::borrow::Cow::into_owned).collect())
    }
}

impl Template {
    /// The text with the values in it.
    ///
    /// # Errors
    /// As [`JsonPath::find`].
    pub fn render(&self, value: &Value) -> Result<String, FindError> {
        let mut text = String::new();
        print::render(&self.parts, value, &mut text)?;
        Ok(text)
    }

    /// The values of every part, in order; a text between them is a value of its own.
    ///
    /// ```
    /// use serde_json::json;
    /// use watchkeeper_wire::json_path::Template;
    ///
    /// let template: Template = "{.a[*]} and {.b}".parse()?;
    /// let results = template.results(&json!({"a": [1, 2]}))?;
    /// assert_eq!(results, [vec![json!(1), json!(2)], vec![json!(" and ")], vec![]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`JsonPath::find`].
    pub fn results(&self, value: &Value) -> Result<Vec<Vec<Value>>, FindError> {
        let mut results = Vec::new();
        find::results(&self.parts, value, &mut results)?;
        Ok(results)
    }
}
