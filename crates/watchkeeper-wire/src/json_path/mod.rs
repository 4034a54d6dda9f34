//! JSONPath and templates as in kubectl.
//!
//! Input: the text of a path, from a user or a CustomResourceDefinition.
//! Output: values ([`JsonPath::find`]) for columns and sort keys; text ([`Template::render`]) for `-o jsonpath=`.
//!
//! | path | selects |
//! |---|---|
//! | `.spec.nodeName`, `['spec']`, `.metadata.labels.app\.kubernetes\.io/name` | a field |
//! | `[0]`, `[-1]`, `[1:3]`, `[::2]`, `[*]` | items of a list |
//! | `.*` | all elements of a list or an object |
//! | `..image` | that field at any depth |
//! | `[?(@.type=="Ready")]`, `[?(@.ready)]` | the matching items |
//! | `[0,2]`, `['name','uid']` | a union |
//! | `{range .items[*]}...{end}` | the text in between, for each item |
//! | `{"\n"}` | literal text |
//!
//! - `json_path.P1`: an absent field yields no value and is not an error.
//! - `json_path.P2`: nesting is limited by [`MAX_DEPTH`], so that no input exhausts the stack.

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

/// Maximum nesting depth of filters and lists (`json_path.P2`).
pub const MAX_DEPTH: usize = 16;

/// A JSONPath expression.
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

/// A text with embedded JSONPath expressions.
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

/// A step of a path, from some values to others.
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
    /// A literal, regardless of the input.
    Literal(Value),
}

/// The end of a slice.
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
    /// `None` checks for existence.
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

/// Parses a path, with or without braces and with or without a leading dot.
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
    /// Returns the selected values, in order.
    ///
    /// # Errors
    /// If the object does not match the path: see [`FindError`].
    pub fn find(&self, value: &Value) -> Result<Vec<Value>, FindError> {
        let found = find::find(&self.steps, vec![std::borrow::Cow::Borrowed(value)])?;
        Ok(found.into_iter().map(std::borrow::Cow::into_owned).collect())
    }
}

impl Template {
    /// Renders the template.
    ///
    /// # Errors
    /// As [`JsonPath::find`].
    pub fn render(&self, value: &Value) -> Result<String, FindError> {
        let mut text = String::new();
        print::render(&self.parts, value, &mut text)?;
        Ok(text)
    }

    /// Returns the values of every part, in order. Literal text is a value of its own.
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
