//! Custom columns: `-o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName`.

use serde_json::Value;
use watchkeeper_wire::json_path::go_value;

use super::path::RelaxedPath;
use super::tab_writer::TabWriter;
use crate::failure::Failure;

/// Columns with their headers and paths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CustomColumns {
    columns: Vec<(String, RelaxedPath)>,
}

impl CustomColumns {
    /// Parses `NAME:.metadata.name,NODE:.spec.nodeName`.
    ///
    /// # Errors
    /// If the text is invalid.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        if text.is_empty() {
            return Err(Failure::error("custom-columns format specified but no custom columns given"));
        }
        let column = |text: &str| {
            let (header, path) = text.split_once(':').ok_or_else(|| {
                Failure::error(format!(
                    "unexpected custom-columns spec: {text}, expected <header>:<json-path-expr>"
                ))
            })?;
            Ok((header.to_owned(), RelaxedPath::parse(path)?))
        };
        Ok(Self { columns: text.split(',').map(column).collect::<Result<_, Failure>>()? })
    }

    /// Parses a template file of two lines: headers, and the path of each column.
    ///
    /// # Errors
    /// If the file is invalid.
    pub(crate) fn parse_file(text: &str) -> Result<Self, Failure> {
        let mut lines = text.lines();
        let mut line = |which: &str| {
            let line = lines.next().ok_or_else(|| {
                Failure::error(format!(
                    "invalid template, missing {which} line. Expected format is one line of space separated \
                     headers, one line of space separated column specs."
                ))
            })?;
            Ok::<Vec<&str>, Failure>(line.split_whitespace().collect())
        };
        let (headers, paths) = (line("header")?, line("spec")?);
        if headers.len() != paths.len() {
            return Err(Failure::error(format!(
                "number of headers ({}) and field specifications ({}) don't match",
                headers.len(),
                paths.len()
            )));
        }
        let column = |(header, path): (&str, &str)| Ok((header.to_owned(), RelaxedPath::parse(path)?));
        Ok(Self { columns: headers.into_iter().zip(paths).map(column).collect::<Result<_, Failure>>()? })
    }

    pub(crate) fn write_headers(&self, out: &mut TabWriter) {
        let headers: Vec<&str> = self.columns.iter().map(|(header, _)| header.as_str()).collect();
        out.write(&headers.join("\t"));
        out.write("\n");
    }

    /// # Errors
    /// If a path cannot be evaluated.
    pub(crate) fn write(&self, object: &Value, out: &mut TabWriter) -> Result<(), Failure> {
        let mut cells = Vec::with_capacity(self.columns.len());
        for (_, path) in &self.columns {
            let values: Vec<String> = path.find(object)?.iter().map(shown).collect();
            cells.push(if values.is_empty() { "<none>".to_owned() } else { values.join(",") });
        }
        out.write(&cells.join("\t"));
        out.write("\n");
        Ok(())
    }
}

/// Formats a value, and escapes characters that would control the terminal.
fn shown(value: &Value) -> String {
    go_value(value).to_string().replace('\u{1b}', "^[").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(columns: &CustomColumns) -> String {
        let mut out = TabWriter::default();
        columns.write_headers(&mut out);
        let pod =
            json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"ports": [1, 2], "node": null}});
        columns.write(&pod, &mut out).unwrap();
        out.flush();
        out.take()
    }

    #[test]
    fn columns_show_the_values_at_their_paths() {
        let columns = "NAME:.metadata.name,L:metadata.labels,PORTS:{.spec.ports[*]},NODE:.spec.node,NO:.none";
        assert_eq!(
            printed(&CustomColumns::parse(columns).unwrap()),
            "NAME   L          PORTS   NODE    NO\na      map[x:y]   1,2     <nil>   <none>\n"
        );
        let file = "NAME NO\nmetadata.name {.none}\n";
        assert_eq!(printed(&CustomColumns::parse_file(file).unwrap()), "NAME   NO\na      <none>\n");
    }

    #[test]
    fn invalid_columns_are_rejected() {
        let refused = |text: &str| CustomColumns::parse(text).unwrap_err().to_string();
        assert_eq!(refused(""), "error: custom-columns format specified but no custom columns given");
        assert_eq!(
            refused("A:.b,C"),
            "error: unexpected custom-columns spec: C, expected <header>:<json-path-expr>"
        );
        assert!(refused("A:{.b}{.c}").starts_with("error: unexpected path string"));
        for file in ["", "A B", "A B\nx", "A\n{"] {
            assert!(CustomColumns::parse_file(file).is_err(), "{file:?}");
        }
    }
}
