//! Label selectors.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::lexer::{Lexer, Mark, Token};
use super::requirement::{check_key, check_value, read_bound};
use super::{Condition, Requirement, RequirementError, SelectorError};

/// A label selector: a set of requirements on an object's labels.
///
/// The grammar is that of Kubernetes:
///
/// ```text
/// selector    := "" | requirement { "," requirement }
/// requirement := [ "!" ] key
///              | key ( "=" | "==" | "!=" ) [ value ]
///              | key ( "in" | "notin" ) "(" [ value ] { "," [ value ] } ")"
///              | key ( ">" | "<" ) number
/// ```
///
/// Whitespace between tokens is ignored. `in` and `notin` can also be keys and values. An omitted
/// value is the empty value.
///
/// ```
/// use watchkeeper_core::{ObjectMetaBuilder, LabelSelector};
///
/// let selector: LabelSelector = "tier notin (back, front), app == web".parse()?;
/// assert_eq!(selector.to_string(), "app=web,tier notin (back,front)");
///
/// let pod = ObjectMetaBuilder::default().name("web-0").label("app", "web").finish();
/// assert!(selector.matches(|key| pod.label(key)));
/// # Ok::<(), watchkeeper_core::SelectorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LabelSelector {
    /// Sorted by key; requirements for the same key keep their order.
    requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// The selector without requirements, which matches every object.
    pub const EVERYTHING: Self = Self { requirements: Vec::new() };

    /// Returns the selector without requirements, which matches every object.
    pub fn everything() -> Self {
        Self::EVERYTHING
    }

    /// Parses a selector.
    ///
    /// # Errors
    /// If the syntax, a key or a value is invalid; the error has the position.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Parser::new(text).selector().map(Self::from_iter)
    }

    /// Creates a selector for objects with all of these labels.
    ///
    /// # Errors
    /// If a key or value is invalid.
    pub fn from_labels<K, V>(labels: impl IntoIterator<Item = (K, V)>) -> Result<Self, RequirementError>
    where
        K: Into<String>,
        V: Into<String>,
    {
        labels
            .into_iter()
            .map(|(key, value)| Requirement::new(key, Condition::Equals(value.into())))
            .collect()
    }

    /// Returns whether the selector matches an object. `label` looks up the value of a label.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use watchkeeper_core::LabelSelector;
    ///
    /// let labels = BTreeMap::from([("app", "web")]);
    /// assert!(LabelSelector::parse("app,!canary")?.matches(|key| labels.get(key).copied()));
    /// # Ok::<(), watchkeeper_core::SelectorError>(())
    /// ```
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(label(requirement.key()))) // selector.L2
    }

    /// Returns whether the selector has no requirements.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns the requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Returns the value that the label `key` must have, if exactly one value can match. Use it for an
    /// index lookup, and match the objects found.
    ///
    /// ```
    /// use watchkeeper_core::LabelSelector;
    ///
    /// let selector = LabelSelector::parse("app=web,tier in (front),zone")?;
    /// assert_eq!(selector.exact_value("app"), Some("web"));
    /// assert_eq!(selector.exact_value("tier"), Some("front"));
    /// assert_eq!(selector.exact_value("zone"), None);
    /// # Ok::<(), watchkeeper_core::SelectorError>(())
    /// ```
    pub fn exact_value(&self, key: &str) -> Option<&str> {
        self.requirements
            .iter()
            .filter(|requirement| requirement.key() == key)
            .find_map(Requirement::exact_value)
    }
}

impl FromIterator<Requirement> for LabelSelector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements = Vec::from_iter(requirements);
        requirements.sort_by(|left, right| left.key().cmp(right.key()));
        Self { requirements }
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

/// Displays the canonical text form, as sent in requests.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// A recursive-descent parser with one token of lookahead.
struct Parser<'a> {
    lexer: Lexer<'a>,
    ahead: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let ahead = lexer.next();
        Self { lexer, ahead }
    }

    fn take(&mut self) -> Token<'a> {
        std::mem::replace(&mut self.ahead, self.lexer.next())
    }

    fn take_if(&mut self, mark: Mark) -> Option<Token<'a>> {
        (self.ahead.mark == mark).then(|| self.take())
    }

    fn selector(mut self) -> Result<Vec<Requirement>, SelectorError> {
        let mut requirements = Vec::new();
        if self.ahead.mark == Mark::End {
            return Ok(requirements);
        }
        loop {
            requirements.push(self.requirement()?);
            let token = self.take();
            match token.mark {
                Mark::Comma => {}
                Mark::End => return Ok(requirements),
                _ => return Err(token.unexpected("\",\" or end of input")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let absent = self.take_if(Mark::Not).is_some();
        let Some(key) = self.take_if(Mark::Word) else {
            return Err(self.ahead.unexpected(if absent { "a label key" } else { "a label key or \"!\"" }));
        };
        check_key(key.text).map_err(|error| at(key, error))?;
        let condition = match self.ahead.mark {
            _ if absent => Condition::DoesNotExist,
            Mark::Comma | Mark::End => Condition::Exists,
            _ => self.condition(key.text)?,
        };
        Requirement::new(key.text, condition).map_err(|error| at(key, error))
    }

    fn condition(&mut self, key: &str) -> Result<Condition, SelectorError> {
        let operator = self.take();
        match (operator.mark, operator.text) {
            (Mark::Equals, _) => Ok(Condition::Equals(self.value(key)?)),
            (Mark::NotEquals, _) => Ok(Condition::NotEquals(self.value(key)?)),
            (Mark::Greater, _) => Ok(Condition::GreaterThan(self.bound(key)?)),
            (Mark::Less, _) => Ok(Condition::LessThan(self.bound(key)?)),
            (Mark::Word, "in") => Ok(Condition::In(self.set(key)?)),
            (Mark::Word, "notin") => Ok(Condition::NotIn(self.set(key)?)),
            _ => Err(operator.unexpected("one of =, ==, !=, in, notin, > and <")),
        }
    }

    /// Parses a value; nothing is the empty value.
    fn operand(&mut self) -> Result<Token<'a>, SelectorError> {
        match self.ahead.mark {
            Mark::Word => Ok(self.take()),
            Mark::Comma | Mark::End => Ok(Token { text: "", ..self.ahead }),
            _ => Err(self.ahead.unexpected("a value")),
        }
    }

    fn value(&mut self, key: &str) -> Result<String, SelectorError> {
        let value = self.operand()?;
        check_value(key, value.text).map_err(|error| at(value, error))?;
        Ok(value.text.to_owned())
    }

    fn bound(&mut self, key: &str) -> Result<i64, SelectorError> {
        let bound = self.operand()?;
        read_bound(key, bound.text).map_err(|error| at(bound, error))
    }

    fn set(&mut self, key: &str) -> Result<BTreeSet<String>, SelectorError> {
        if self.take_if(Mark::Open).is_none() {
            return Err(self.ahead.unexpected("\"(\""));
        }
        let mut values = BTreeSet::new();
        loop {
            let value = self.take_if(Mark::Word);
            if let Some(value) = value {
                check_value(key, value.text).map_err(|error| at(value, error))?;
            }
            values.insert(value.map_or("", |value| value.text).to_owned());
            let token = self.take();
            match token.mark {
                Mark::Comma => {}
                Mark::Close => return Ok(values),
                _ if value.is_some() => return Err(token.unexpected("\",\" or \")\"")),
                _ => return Err(token.unexpected("a value, \",\" or \")\"")),
            }
        }
    }
}

fn at(token: Token<'_>, error: RequirementError) -> SelectorError {
    SelectorError { at: token.at, problem: error.into() }
}
