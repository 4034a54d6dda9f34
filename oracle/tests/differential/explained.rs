//! Explained differences: the expected differences between our responses and the real server's, with reasons.
//!
//! A line is `file/scenario/name  /json/pointer  reason`. A pointer also covers everything below it, and `*` covers the
//! whole response. A `*` at the end of the first word covers all requests with that prefix.

use std::collections::BTreeSet;

#[derive(Debug)]
struct Line {
    request: String,
    pointer: String,
    text: String,
}

#[derive(Debug)]
pub(crate) struct Explained {
    lines: Vec<Line>,
    used: BTreeSet<usize>,
}

impl Explained {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines = lines.map(|line| {
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some(request), Some(pointer), Some(_reason)) => Ok(Line {
                    request: request.to_owned(),
                    pointer: pointer.to_owned(),
                    text: line.to_owned(),
                }),
                _ => Err(format!("invalid line: want request, pointer and reason: {line}")),
            }
        });
        Ok(Self { lines: lines.collect::<Result<_, _>>()?, used: BTreeSet::new() })
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether a difference is explained.
    pub(crate) fn covers(&mut self, request: &str, pointer: &str) -> bool {
        let is_below = |line: &Line| {
            let rest = pointer.strip_prefix(&*line.pointer);
            line.pointer == "*" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_of = |line: &Line| match line.request.strip_suffix('*') {
            Some(prefix) => request.starts_with(prefix),
            None => request == line.request,
        };
        let found: Vec<usize> = (0..self.lines.len())
            .filter(|at| is_of(&self.lines[*at]) && is_below(&self.lines[*at]))
            .collect();
        self.used.extend(&found);
        !found.is_empty()
    }

    /// Returns the lines that covered no difference.
    pub(crate) fn stale(&self) -> String {
        let stale = self.lines.iter().enumerate().filter(|(at, _)| !self.used.contains(at));
        stale.map(|(_, line)| format!("no longer differs: {}\n", line.text)).collect()
    }
}
