//! Object printer: JSON, YAML, names, paths and columns, of single objects or lists.

use serde_json::{Value, json};
use watchkeeper_core::GroupVersion;
use watchkeeper_wire::{schema, yaml};

use super::format::Format;
use super::json;
use super::tab_writer::TabWriter;
use crate::failure::Failure;

/// A printer of objects; separators and headers depend on what was printed before.
#[derive(Debug)]
pub(crate) struct ObjectPrinter {
    format: Format,
    no_headers: bool,
    managed_fields: bool,
    by_type: bool,
    printed: usize,
    out: TabWriter,
}

impl ObjectPrinter {
    /// Creates a printer for any format except tables.
    pub(crate) fn new(format: Format, no_headers: bool, managed_fields: bool) -> Self {
        Self { format, no_headers, managed_fields, by_type: false, printed: 0, out: TabWriter::default() }
    }

    /// Orders JSON fields by type instead of alphabetically, as kubectl does for objects that it has decoded.
    pub(crate) fn by_type(mut self) -> Self {
        self.by_type = true;
        self
    }

    /// Formats an object, or a list of objects.
    ///
    /// # Errors
    /// If a path cannot be evaluated.
    pub(crate) fn print(&mut self, mut object: Value) -> Result<String, Failure> {
        self.hide(&mut object);
        self.printed += 1;
        Ok(match &self.format {
            Format::Json if self.by_type => by_type(&object) + "\n",
            Format::Json => json::indented(&object) + "\n",
            Format::Yaml => self.separator() + &yaml::write(&object),
            Format::Name => items(&object).map(name).collect(),
            Format::JsonPath(template) => template
                .render(&object)
                .map_err(|error| Failure::error(format!("error executing jsonpath: {error}")))?,
            Format::JsonPathAsJson(template) => {
                let results = template.results(&object);
                let results =
                    results.map_err(|error| Failure::error(format!("error executing jsonpath: {error}")))?;
                results.iter().map(|values| json::indented(&json!(values)) + "\n").collect()
            }
            Format::CustomColumns(columns) => {
                if self.printed == 1 && !self.no_headers {
                    columns.write_headers(&mut self.out);
                }
                for item in items(&object) {
                    columns.write(item, &mut self.out)?;
                }
                self.out.flush();
                self.out.take()
            }
            Format::Table { .. } => String::new(), // tables are printed by `RowPrinter`
        })
    }

    /// Formats a watch event.
    ///
    /// # Errors
    /// As [`print`](Self::print).
    pub(crate) fn print_event(&mut self, event: &str, mut object: Value) -> Result<String, Failure> {
        match &self.format {
            Format::Json => {
                let object = json::compact(&object);
                Ok(format!("{{\"type\":{},\"object\":{object}}}\n", json::compact(&event.into())))
            }
            Format::Yaml => {
                self.printed += 1;
                Ok(self.separator() + &yaml::write(&json!({"type": event, "object": object.take()})))
            }
            Format::Name => self.print(object),
            _ => self.print(json!({"type": event, "object": object.take()})),
        }
    }

    fn separator(&self) -> String {
        if self.printed > 1 { "---\n".to_owned() } else { String::new() }
    }

    /// Removes managedFields from JSON and YAML unless requested. Paths can still select them.
    fn hide(&self, object: &mut Value) {
        if self.managed_fields || !matches!(self.format, Format::Json | Format::Yaml) {
            return;
        }
        let hide = |object: &mut Value| {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        };
        match object.get_mut("items").and_then(Value::as_array_mut) {
            Some(items) => items.iter_mut().for_each(hide),
            None => hide(object),
        }
    }
}

/// Wraps objects in a `List`.
pub(crate) fn list(items: Vec<Value>) -> Value {
    let mut list = json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}});
    list["items"] = Value::Array(items); // moved, since there may be many
    list
}

fn by_type(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let version = object["apiVersion"].as_str().unwrap_or_default().parse::<GroupVersion>();
    match version.ok().and_then(|it| schema::builtin().message(&it.group, &it.version, kind)) {
        Some(message) => json::indented_as(object, message),
        None => json::indented(object),
    }
}

fn items(object: &Value) -> impl Iterator<Item = &Value> {
    match object["items"].as_array() {
        Some(items) => items.iter(),
        None => std::slice::from_ref(object).iter(),
    }
}

fn name(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&object["kind"]).to_lowercase();
    let name = Some(text(&object["metadata"]["name"])).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "<unknown>".to_owned());
    match text(&object["apiVersion"]).parse::<GroupVersion>() {
        Ok(version) if !version.group.is_empty() => format!("{kind}.{}/{name}\n", version.group),
        _ => format!("{kind}/{name}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "managedFields": []}})
    }

    fn printed(format: &str, objects: Vec<Value>) -> String {
        let mut printer = ObjectPrinter::new(Format::parse(format).unwrap(), false, false);
        objects.into_iter().map(|object| printer.print(object).unwrap()).collect()
    }

    #[test]
    fn objects_are_printed_in_every_format() {
        assert_eq!(
            printed("json", vec![pod("a")]),
            "{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"Pod\",\n    \"metadata\": {\n        \"name\": \"a\"\n    }\n}\n"
        );
        let yaml = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n";
        assert_eq!(printed("yaml", vec![pod("a"), pod("a")]), format!("{yaml}---\n{yaml}"));
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        assert_eq!(printed("name", vec![list(vec![pod("a"), deployment])]), "pod/a\ndeployment.apps/web\n");
        assert_eq!(printed("jsonpath={.metadata}", vec![pod("a")]), r#"{"managedFields":[],"name":"a"}"#);
        assert_eq!(
            printed("jsonpath-as-json={.kind} x", vec![pod("a")]),
            "[\n    \"Pod\"\n]\n[\n    \" x\"\n]\n"
        );
        assert_eq!(
            printed("custom-columns=N:.metadata.name", vec![list(vec![pod("a"), pod("b")]), pod("c")]),
            "N\na\nb\nc\n"
        );
    }

    #[test]
    fn watch_events_contain_the_object() {
        let mut printer = ObjectPrinter::new(Format::Json, false, false);
        assert_eq!(
            printer.print_event("ADDED", json!({"kind": "Pod"})).unwrap(),
            "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}\n"
        );
        let mut printer =
            ObjectPrinter::new(Format::parse("jsonpath={.type} {.object.kind}").unwrap(), false, false);
        assert_eq!(printer.print_event("DELETED", json!({"kind": "Pod"})).unwrap(), "DELETED Pod");
    }
}
