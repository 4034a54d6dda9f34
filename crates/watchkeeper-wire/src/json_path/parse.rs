//! The parser of paths and templates.

use serde_json::Value;

use super::{End, Filter, MAX_DEPTH, Operator, Part, Step};

/// An error from parsing a path or template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonPathError {
    /// An unclosed brace.
    #[error("unclosed action")]
    Unclosed,
    /// An unknown character.
    #[error("unrecognized character in action: {0:?}")]
    Character(char),
    /// An identifier other than `range` and `end`.
    #[error("unrecognized identifier {0}")]
    Word(String),
    /// `end` without `range`.
    #[error("not in range, nothing to end")]
    End,
    /// An unclosed bracket.
    #[error("unterminated array")]
    List,
    /// Neither an index, nor a slice, nor a quoted name.
    #[error("invalid array index {0}")]
    Index(String),
    /// An unclosed filter.
    #[error("unterminated filter")]
    Filter,
    /// An unknown comparison operator.
    #[error("unrecognized filter operator {0}")]
    Operator(String),
    /// An unclosed quote, or an invalid escape in it.
    #[error("unterminated quoted string")]
    Quote,
    /// An invalid number.
    #[error("cannot parse number {0}")]
    Number(String),
    /// `....`
    #[error("invalid multiple recursive descent")]
    Descent,
    /// Nested too deeply (`json_path.P2`).
    #[error("nested more than {MAX_DEPTH} deep")]
    Depth,
    /// More than one path where one is expected.
    #[error(
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or '{{.name1.name2}}'"
    )]
    NotOnePath,
}

pub(super) fn path(text: &str) -> Result<Vec<Step>, JsonPathError> {
    let text = text.trim();
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or(JsonPathError::NotOnePath)?,
        None => text,
    };
    if inner.contains(['{', '}']) {
        return Err(JsonPathError::NotOnePath);
    }
    let relaxed;
    let inner = match inner.chars().next() {
        None | Some('.' | '[' | '@' | '$') => inner,
        Some(_) => {
            relaxed = format!(".{inner}");
            &relaxed
        }
    };
    match Parser::action(inner, 0)? {
        (Action::Values, steps) => Ok(steps),
        _ => Err(JsonPathError::NotOnePath),
    }
}

pub(super) fn template(text: &str) -> Result<Vec<Part>, JsonPathError> {
    // The open ranges with their parts so far; the first entry is the template.
    let mut open: Vec<(Vec<Step>, Vec<Part>)> = vec![(Vec::new(), Vec::new())];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        if let Some((_, parts)) = open.last_mut().filter(|_| !before.is_empty()) {
            parts.push(Part::Text(before.to_owned()));
        }
        let length = closing_brace(after)?;
        let (mark, steps) = Parser::action(&after[..length], 0)?;
        rest = &after[length + 1..];
        match mark {
            Action::Values => {
                if let Some((_, parts)) = open.last_mut() {
                    parts.push(Part::Values(steps));
                }
            }
            Action::Range if open.len() > MAX_DEPTH => return Err(JsonPathError::Depth),
            Action::Range => open.push((steps, Vec::new())),
            Action::End if open.len() == 1 => return Err(JsonPathError::End),
            Action::End => close(&mut open),
        }
    }
    if let Some((_, parts)) = open.last_mut().filter(|_| !rest.is_empty()) {
        parts.push(Part::Text(rest.to_owned()));
    }
    // An open range ends with the text.
    while open.len() > 1 {
        close(&mut open);
    }
    Ok(open.pop().map(|(_, parts)| parts).unwrap_or_default())
}

fn close(open: &mut Vec<(Vec<Step>, Vec<Part>)>) {
    if let Some((steps, inner)) = open.pop()
        && let Some((_, parts)) = open.last_mut()
    {
        parts.push(Part::Range(steps, inner));
    }
}

/// Returns the length of an action, ignoring braces in quotes.
fn closing_brace(text: &str) -> Result<usize, JsonPathError> {
    let mut quote = None;
    let mut escaped = false;
    for (position, letter) in text.char_indices() {
        match (quote, letter) {
            (_, '\n' | '\r') => return Err(JsonPathError::Unclosed),
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (None, '}') => return Ok(position),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if letter == open => quote = None,
            _ => {}
        }
    }
    Err(if quote.is_some() { JsonPathError::Quote } else { JsonPathError::Unclosed })
}

/// The type of an action.
enum Action {
    Values,
    Range,
    End,
}

struct Parser<'a> {
    rest: &'a str,
    steps: Vec<Step>,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Parses the text between braces.
    fn action(text: &'a str, depth: usize) -> Result<(Action, Vec<Step>), JsonPathError> {
        if depth > MAX_DEPTH {
            return Err(JsonPathError::Depth);
        }
        let mut parser = Parser { rest: text, steps: Vec::new(), depth };
        let mut mark = Action::Values;
        while let Some(letter) = parser.rest.chars().next() {
            let after = &parser.rest[letter.len_utf8()..];
            match letter {
                ' ' | '\t' | '@' | '$' => parser.rest = after,
                '.' if after.starts_with('.') => parser.descent(&after[1..])?,
                '.' => {
                    parser.rest = after;
                    parser.field();
                }
                '[' if after.starts_with("?(") => parser.filter(&after[2..])?,
                '[' => parser.list(after)?,
                '"' | '\'' => {
                    let (text, rest) = unquoted(letter, after)?;
                    parser.steps.push(Step::Literal(text.into()));
                    parser.rest = rest;
                }
                '+' | '-' | '0'..='9' => parser.number()?,
                letter if is_word(letter) => mark = parser.word(mark)?,
                letter => return Err(JsonPathError::Character(letter)),
            }
        }
        Ok((mark, parser.steps))
    }

    /// Parses a name. A backslash escapes the next character.
    fn name(&mut self) -> String {
        let mut name = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((position, letter)) = letters.next() {
            match letter {
                '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
                letter if is_end(letter) => {
                    self.rest = &self.rest[position..];
                    return name;
                }
                letter => name.push(letter),
            }
        }
        self.rest = "";
        name
    }

    fn field(&mut self) {
        let name = self.name();
        match name.as_str() {
            "*" => self.steps.push(Step::Each),
            // A lone dot is the object itself.
            "" => {}
            _ => self.steps.push(Step::Field(name)),
        }
    }

    fn descent(&mut self, after: &'a str) -> Result<(), JsonPathError> {
        if self.steps.last() == Some(&Step::Deep) {
            return Err(JsonPathError::Descent);
        }
        self.steps.push(Step::Deep);
        self.rest = after;
        if after.starts_with(is_word) {
            self.field();
        }
        Ok(())
    }

    fn word(&mut self, mark: Action) -> Result<Action, JsonPathError> {
        let name = self.name();
        match name.as_str() {
            "range" => return Ok(Action::Range),
            "end" => return Ok(Action::End),
            "true" => self.steps.push(Step::Literal(true.into())),
            "false" => self.steps.push(Step::Literal(false.into())),
            _ => return Err(JsonPathError::Word(name)),
        }
        Ok(mark)
    }

    fn number(&mut self) -> Result<(), JsonPathError> {
        let signed = self.rest.strip_prefix(['+', '-']).unwrap_or(self.rest);
        let digits = signed.trim_start_matches(|letter: char| letter == '.' || letter.is_ascii_digit());
        let (text, rest) = self.rest.split_at(self.rest.len() - digits.len());
        let whole = text.parse::<i64>().map(Value::from);
        let number = whole.or_else(|_| text.parse::<f64>().map(Value::from));
        let number = number.map_err(|_| JsonPathError::Number(text.to_owned()))?;
        self.steps.push(Step::Literal(number));
        self.rest = rest;
        Ok(())
    }

    fn list(&mut self, after: &'a str) -> Result<(), JsonPathError> {
        let end = end_of_list(after).ok_or(JsonPathError::List)?;
        let parts = split_outside_quotes(&after[..end]);
        self.rest = &after[end + 1..];
        match parts.as_slice() {
            [only] => self.entry(only),
            several => {
                let all = several.iter().map(|part| {
                    let mut one = Parser { rest: "", steps: Vec::new(), depth: self.depth + 1 };
                    one.entry(part).map(|()| one.steps)
                });
                let all = all.collect::<Result<_, _>>()?;
                self.steps.push(Step::Union(all));
                Ok(())
            }
        }
    }

    /// Parses the text between brackets or commas.
    fn entry(&mut self, text: &str) -> Result<(), JsonPathError> {
        let text = text.trim();
        if text == "*" {
            self.steps.push(Step::Slice { from: None, to: End::Last, step: None });
            return Ok(());
        }
        let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
        if let Some(name) = quoted('\'').or_else(|| quoted('"')) {
            let (_, steps) = Parser::action(&format!(".{name}"), self.depth + 1)?;
            self.steps.extend(steps);
            return Ok(());
        }
        let invalid = || JsonPathError::Index(text.to_owned());
        let number = |part: &str| match part {
            "" => Ok(None),
            part => part.parse::<i64>().map(Some).map_err(|_| invalid()),
        };
        let parts: Vec<&str> = text.split(':').collect();
        let step = match parts.as_slice() {
            [index] => {
                Step::Slice { from: Some(number(index)?.ok_or_else(invalid)?), to: End::One, step: None }
            }
            [from, to] => {
                Step::Slice { from: number(from)?, to: number(to)?.map_or(End::Last, End::At), step: None }
            }
            [from, to, step] => Step::Slice {
                from: number(from)?,
                to: number(to)?.map_or(End::Last, End::At),
                step: number(step)?,
            },
            _ => return Err(invalid()),
        };
        self.steps.push(step);
        Ok(())
    }

    fn filter(&mut self, after: &'a str) -> Result<(), JsonPathError> {
        let end = end_of_filter(after).ok_or(JsonPathError::Filter)?;
        let text = &after[..end];
        self.rest = &after[end + 2..];
        let side = |text| Parser::action(text, self.depth + 1).map(|(_, steps)| steps);
        let filter = match comparison_in(text).filter(|position| *position > 0) {
            None => Filter { left: side(text)?, comparison: None },
            Some(position) => {
                let (left, rest) = text.split_at(position);
                let right = rest.trim_start_matches(is_sign);
                let operator = operator(&rest[..rest.len() - right.len()])?;
                Filter { left: side(left)?, comparison: Some((operator, side(right)?)) }
            }
        };
        self.steps.push(Step::Filter(filter));
        Ok(())
    }
}

fn operator(text: &str) -> Result<Operator, JsonPathError> {
    Ok(match text {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        other => return Err(JsonPathError::Operator(other.to_owned())),
    })
}

/// Returns the position of the closing bracket, ignoring quotes.
fn end_of_list(text: &str) -> Option<usize> {
    outside_quotes(text).find(|(_, letter)| *letter == ']').map(|(position, _)| position)
}

/// Returns the position of the comparison operator, ignoring nested filters.
fn comparison_in(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (position, letter) in outside_quotes(text) {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            letter if depth == 0 && is_sign(letter) => return Some(position),
            _ => {}
        }
    }
    None
}

fn is_sign(letter: char) -> bool {
    matches!(letter, '!' | '<' | '>' | '=')
}

/// Returns the position of the `)]` that closes the filter, ignoring nested filters.
fn end_of_filter(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (position, letter) in outside_quotes(text) {
        match letter {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => return text[position + 1..].starts_with(']').then_some(position),
            _ => {}
        }
    }
    None
}

fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begun = 0;
    for (position, _) in outside_quotes(text).filter(|(_, letter)| *letter == ',') {
        parts.push(&text[begun..position]);
        begun = position + 1;
    }
    parts.push(&text[begun..]);
    parts
}

/// Returns the characters outside of quotes.
fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().filter(move |(_, letter)| match quote {
        _ if std::mem::take(&mut escaped) => false,
        _ if *letter == '\\' => {
            escaped = true;
            false
        }
        Some(open) => {
            if *letter == open {
                quote = None;
            }
            false
        }
        None if matches!(letter, '"' | '\'') => {
            quote = Some(*letter);
            false
        }
        None => true,
    })
}

/// Returns the text up to the closing quote, and the rest.
fn unquoted(quote: char, text: &str) -> Result<(String, &str), JsonPathError> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((position, letter)) = letters.next() {
        match letter {
            '\n' => return Err(JsonPathError::Quote),
            letter if letter == quote => return Ok((value, &text[position + 1..])),
            '\\' => {
                let (_, escape) = letters.next().ok_or(JsonPathError::Quote)?;
                value.push(match escape {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    'x' => code(&mut letters, 2)?,
                    'u' => code(&mut letters, 4)?,
                    'U' => code(&mut letters, 8)?,
                    '\\' | '"' | '\'' => escape,
                    _ => return Err(JsonPathError::Quote),
                });
            }
            letter => value.push(letter),
        }
    }
    Err(JsonPathError::Quote)
}

fn code(letters: &mut std::str::CharIndices<'_>, digits: usize) -> Result<char, JsonPathError> {
    let digits: String = letters.take(digits).map(|(_, letter)| letter).collect();
    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
    code.ok_or(JsonPathError::Quote)
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

fn is_end(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}
