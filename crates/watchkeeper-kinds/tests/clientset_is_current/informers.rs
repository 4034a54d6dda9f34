//! Renders the typed factory.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::render::GENERATED;
use crate::table::{Resource, by_group};

/// rustfmt's line width.
const WIDTH: usize = 110;

/// Returns the files by their paths in the crate.
pub(crate) fn files() -> BTreeMap<String, String> {
    let mut groups = by_group();
    for versions in groups.values_mut() {
        versions.values_mut().for_each(|resources| resources.retain(Resource::is_watched));
        versions.retain(|_, resources| !resources.is_empty());
    }
    groups.retain(|_, versions| !versions.is_empty());
    let folder = "src/factory/generated";
    let mut files = BTreeMap::new();
    let (mut modules, mut exports) = (Vec::new(), Vec::new());
    for versions in groups.values() {
        let word = versions.values().next().unwrap()[0].group_word();
        modules.push(format!("mod {word};\n"));
        exports.push(format!("pub use self::{word}::*;\n"));
        files.insert(format!("{folder}/{word}.rs"), group(versions));
    }
    modules.sort();
    exports.sort();
    let all: Vec<&Resource> = groups.values().flat_map(BTreeMap::values).flatten().collect();
    let list = format!(
        "//! The informers of the built-in groups.\n{GENERATED}\n{}\n{}\n{}",
        modules.concat(),
        exports.concat(),
        table(&all)
    );
    files.insert(format!("{folder}/mod.rs"), list);
    files.insert("tests/factory/methods.rs".to_owned(), methods(&all));
    files
}

fn group(versions: &BTreeMap<String, Vec<Resource>>) -> String {
    let first = &versions.values().next().unwrap()[0];
    let name = match first.group.as_str() {
        "" => "core group".to_owned(),
        group => format!("group `{group}`"),
    };
    let words: Vec<&str> = versions.keys().map(String::as_str).collect();
    let imported = match words[..] {
        [version] => version.to_owned(),
        _ => format!("{{{}}}", words.join(", ")),
    };
    let mut file = format!(
        "//! The informers of the {name}.\n{GENERATED}\nuse crate::api::{}::{imported};\nuse \
         crate::{{TypedFactory, TypedInformer}};\n\nimpl TypedFactory {{\n",
        first.module()
    );
    for (at, resources) in versions.values().enumerate() {
        let (accessor, informers) = (resources[0].accessor(), informers(&resources[0]));
        let gap = if at > 0 { "\n" } else { "" };
        let _ = write!(
            file,
            "{gap}    /// Returns the informers of `{}`.\n    pub fn {accessor}(&self) -> {informers} {{\n        \
             {informers} {{ factory: self.clone() }}\n    }}\n",
            resources[0].group_version()
        );
    }
    file.push_str("}\n");
    for resources in versions.values() {
        let (one, informers) = (&resources[0], informers(&resources[0]));
        let _ = write!(
            file,
            "\n/// The informers of `{}`, from [`TypedFactory::{}`].\n#[derive(Clone, Debug)]\npub struct \
             {informers} {{\n    factory: TypedFactory,\n}}\n\nimpl {informers} {{\n",
            one.group_version(),
            one.accessor()
        );
        for (at, resource) in resources.iter().enumerate() {
            let gap = if at > 0 { "\n" } else { "" };
            let (plural, returned) = (&resource.plural, format!("{}::{}", resource.version, resource.kind));
            let (method, returned) = (resource.method(), format!("TypedInformer<{returned}>"));
            let line = format!("    pub fn {method}(&self) -> {returned} {{");
            let signature = if line.len() > WIDTH {
                format!("    pub fn {method}(\n        &self,\n    ) -> {returned} {{")
            } else {
                line
            };
            let _ = write!(
                file,
                "{gap}    /// Returns the informer of `{plural}` (`{}`).\n{signature}\n        self.factory.of()\n    }}\n",
                resource.group_version()
            );
        }
        file.push_str("}\n");
    }
    file
}

/// Returns the name of the type: `AppsV1Informers`.
fn informers(resource: &Resource) -> String {
    format!("{}Informers", resource.client())
}

/// Renders all resources as rows.
fn table(resources: &[&Resource]) -> String {
    let mut text = "/// The resources that can be watched: group, version, resource, kind, and whether it is namespaced.\n\
                    #[rustfmt::skip]\npub(super) const WATCHED: &[(&str, &str, &str, &str, bool)] = &[\n"
        .to_owned();
    for Resource { group, version, plural, kind, namespaced, .. } in resources {
        let _ = writeln!(text, "    ({group:?}, {version:?}, {plural:?}, {kind:?}, {namespaced}),");
    }
    text + "];\n"
}

/// Renders a macro over every method, for tests.
fn methods(resources: &[&Resource]) -> String {
    let mut file = format!("//! Every method of the typed factory.\n{GENERATED}\n");
    file.push_str(
        "/// Calls a macro with every method: accessor, method, group, version, plural, kind, scope, and whether \
         the\n/// embedded server has it.\n#[rustfmt::skip]\nmacro_rules! every_informer {\n    \
         ($call:ident) => {\n        $call! {\n",
    );
    for resource in resources {
        let Resource { group, version, plural, kind, namespaced, embedded, .. } = resource;
        let scope = if *namespaced { "namespaced" } else { "cluster" };
        let _ = writeln!(
            file,
            "            ({}, {}, {group:?}, {version:?}, {plural:?}, {kind:?}, {scope}, {embedded}),",
            resource.accessor(),
            resource.method(),
        );
    }
    file.push_str("        }\n    };\n}\npub(crate) use every_informer;\n");
    file
}
