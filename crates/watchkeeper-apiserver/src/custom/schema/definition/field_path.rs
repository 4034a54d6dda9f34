//! Field paths: `.spec.replicas`, and `['a.b']` for names with a dot.

use crate::validate::field::Field;

/// Returns the schema at a path, and the normalized path.
///
/// # Errors
/// kube-apiserver's message if the path leads nowhere.
pub(super) fn find<'a>(
    path: &str,
    schema: &Field<'a>,
    has_brackets: bool,
) -> Result<(String, Field<'a>), String> {
    let (mut rest, mut found, mut plain) = (path, schema.clone(), String::new());
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = take(&mut rest) {
        let name = match token {
            "[" if !has_brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = take(&mut rest).ok_or_else(end)?;
                let inner = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                unescaped(inner)?
            }
            "." => take(&mut rest).ok_or_else(end)?.to_owned(),
            token => return Err(format!("expected [ or . but got: {token}")),
        };
        let invalid = || "does not refer to a valid field".to_owned();
        let properties = found.child("properties");
        if !properties.is_empty() {
            plain = if plain.is_empty() { name.clone() } else { format!("{plain}.{name}") };
            found = properties.child(&name);
        } else {
            plain = format!("{plain}[{name}]");
            found = found.child("additionalProperties");
        }
        if !found.is_set() {
            return Err(invalid());
        }
        if token == "[" {
            match take(&mut rest).ok_or_else(end)? {
                "]" => {}
                token => return Err(format!("expected ] but got {token}")),
            }
        }
    }
    Ok((plain, found))
}

/// Takes a delimiter, a quoted name, or everything up to a delimiter.
fn take<'p>(rest: &mut &'p str) -> Option<&'p str> {
    let text = *rest;
    let first = text.chars().next()?;
    let end = match first {
        '.' | '[' | ']' => 1,
        '\'' => {
            let bytes = text.as_bytes();
            (1..bytes.len())
                .find(|at| bytes[*at] == b'\'' && bytes[*at - 1] != b'\\')
                .map_or(text.len(), |at| at + 1)
        }
        _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
    };
    let (token, after) = text.split_at(end);
    *rest = after;
    Some(token)
}

fn unescaped(text: &str) -> Result<String, String> {
    let (mut out, mut characters) = (String::new(), text.chars());
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some(c @ ('\'' | '\\')) => out.push(c),
            _ => return Err("invalid string literal: invalid syntax".to_owned()),
        }
    }
    Ok(out)
}
