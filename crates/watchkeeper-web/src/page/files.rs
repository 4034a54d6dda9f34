//! The files of the page.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::HeaderValue;

/// One file of the page.
#[derive(Debug)]
pub(super) struct File {
    name: &'static str,
    pub(super) content: &'static [u8],
}

macro_rules! asset {
    ($name:literal) => {
        File { name: $name, content: include_bytes!(concat!("../../page/assets/", $name)) }
    };
}

const FILES: &[File] = &[
    File { name: "index.html", content: include_bytes!("../../page/index.html") },
    asset!("age.js"),
    asset!("api.js"),
    asset!("changes.js"),
    asset!("chooser.js"),
    asset!("clock.js"),
    asset!("columns.js"),
    asset!("connection.js"),
    asset!("dialog.js"),
    asset!("diff.js"),
    asset!("dom.js"),
    asset!("events.js"),
    asset!("filter.js"),
    asset!("help.js"),
    asset!("keys.js"),
    asset!("list.js"),
    asset!("login.js"),
    asset!("logo.svg"),
    asset!("main.js"),
    asset!("manifest.js"),
    asset!("namespaces.js"),
    asset!("object.css"),
    asset!("object.js"),
    asset!("page.css"),
    asset!("outage.js"),
    asset!("picker.js"),
    asset!("pods.js"),
    asset!("refresh.js"),
    asset!("resources.js"),
    asset!("route.js"),
    asset!("rows.js"),
    asset!("sort.js"),
    asset!("stream.js"),
    asset!("table.css"),
    asset!("table.js"),
    asset!("theme.css"),
    asset!("theme.js"),
    asset!("tree.js"),
    asset!("view.js"),
    asset!("worker.js"),
    asset!("yaml.js"),
];

impl File {
    /// Finds a file by name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.name == name)
    }

    /// Returns a tag that depends on the content.
    pub(super) fn etag(&self) -> HeaderValue {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        HeaderValue::try_from(format!("\"{:016x}\"", hasher.finish())).expect("digits between quotes")
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn text(file: &File) -> &'static str {
        std::str::from_utf8(file.content).expect("all files of the page are UTF-8")
    }

    /// Returns the names that follow `before` in a file, each up to the next quote.
    fn named<'a>(file: &'a File, before: &'a str) -> impl Iterator<Item = &'static str> + use<'a> {
        text(file).split(before).skip(1).filter_map(|rest| rest.split('"').next())
    }

    #[test]
    fn table_has_every_file_of_the_directory() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/assets");
        let names: BTreeSet<String> = std::fs::read_dir(directory)
            .expect("the page has assets")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in ASCII"))
            .collect();

        let table: BTreeSet<String> = FILES.iter().skip(1).map(|file| file.name.to_owned()).collect();

        assert_eq!(table, names);
    }

    #[test]
    fn table_has_every_referenced_file() {
        for file in FILES {
            for name in
                named(file, "\"/assets/").chain(named(file, "from \"./")).chain(named(file, "import \"./"))
            {
                assert!(File::find(name).is_some(), "{} names {name}", file.name);
            }
        }
    }

    #[test]
    fn index_preloads_every_module() {
        let index = File::find("index.html").expect("the page has an index");
        let loaded: BTreeSet<&str> =
            named(index, "\"/assets/").filter(|name| name.ends_with(".js")).collect();

        // The worker is not a module of the document.
        let modules: BTreeSet<&str> = FILES
            .iter()
            .map(|file| file.name)
            .filter(|name| name.ends_with(".js") && *name != "worker.js")
            .collect();

        assert_eq!(loaded, modules);
    }

    #[test]
    fn page_needs_no_inline_scripts_or_styles() {
        let index = text(File::find("index.html").expect("the page has an index"));

        for inline in
            ["<style", "style=", "<script>", "javascript:", " onclick=", " onload=", "http://", "https://"]
        {
            assert!(!index.contains(inline), "{inline}");
        }
    }

    #[test]
    fn different_files_have_different_tags() {
        let tags: BTreeSet<String> = FILES.iter().map(|file| format!("{:?}", file.etag())).collect();

        assert_eq!(tags.len(), FILES.len());
    }
}
