//! Rows: the registry rows of a definition.

use std::sync::Arc;

use serde_json::Value;
use watchkeeper_print::Columns;

use crate::apply::DefinedTypes;
use crate::registry::{
    FieldFormat, Fields, Refusal, Resource, Scope, SelectableField, Subresource, Text, Verb, Verbs,
};
use crate::rules::Rules;

use super::ReplicaPaths;
use super::definition::{Definition, Version};
use super::kind::{CustomKind, Life};
use super::schema::Schema;
use super::version_order::by_preference;

/// Returns a row for each version of a definition, and whether it is served, under the accepted names.
pub(super) fn rows(definition: &Definition, life: &Arc<Life>) -> Vec<(Arc<Resource>, bool)> {
    let versions = &definition.spec.versions;
    let schemas: Vec<Arc<Schema>> = versions.iter().map(|version| schema(definition, version)).collect();
    let stored = versions.iter().position(|version| version.storage).unwrap_or_default();
    let open_api =
        |version: &Version| version.schema.as_ref().map_or(Value::Null, |schema| schema.open_api.clone());
    let documents: Vec<(String, Value)> = versions
        .iter()
        .map(|version| (format!("{}/{}", definition.spec.group, version.name), open_api(version)))
        .collect();
    let types = DefinedTypes::read(documents.iter().map(|(version, schema)| (version.clone(), schema)));
    let types = Arc::new(types);
    // Objects written under an earlier schema may not match this one.
    let is_verbatim = versions.len() == 1 && definition.metadata.generation <= 1;
    versions
        .iter()
        .zip(&schemas)
        .map(|(version, own)| {
            let kind = CustomKind {
                own: own.clone(),
                stored: schemas[stored].clone(),
                is_verbatim,
                list_kind: definition.status.accepted_names.list_kind.clone(),
                columns: Columns::custom(&version.additional_printer_columns),
                replicas: scale(version).map(ReplicaPaths::new),
                deprecation: deprecation(definition, version),
                open_api: open_api(version),
                types: types.clone(),
                life: life.clone(),
            };
            (Arc::new(row(definition, version, kind)), version.served)
        })
        .collect()
}

fn row(definition: &Definition, version: &Version, kind: CustomKind) -> Resource {
    let names = &definition.status.accepted_names;
    let texts = |texts: &[String]| texts.iter().cloned().map(Text::Owned).collect();
    let is_namespaced = definition.spec.scope == "Namespaced";
    let subresource = |name: &'static str, group_version, kind: &str| Subresource {
        name: name.into(),
        group_version,
        kind: kind.to_owned().into(),
        verbs: [Verb::Get, Verb::Patch, Verb::Update].into_iter().collect::<Verbs>(),
    };
    let mut subresources = Vec::new();
    if version.subresources.as_ref().is_some_and(|it| it.status.is_some()) {
        subresources.push(subresource("status", None, &names.kind));
    }
    if scale(version).is_some() {
        subresources.push(subresource("scale", Some(("autoscaling".into(), "v1".into())), "Scale"));
    }
    let own = version.selectable_fields.iter().map(|field| {
        let label = Text::Owned(field.json_path.trim_start_matches('.').to_owned());
        SelectableField { paths: vec![label.clone()], label, format: FieldFormat::Text }
    });
    Resource {
        singular: names.singular.clone().into(),
        kind: names.kind.clone().into(),
        scope: if is_namespaced { Scope::Namespaced } else { Scope::Cluster },
        short_names: texts(&names.short_names),
        categories: texts(&names.categories),
        subresources,
        counts_generation: true,
        fields: Fields { own: own.collect(), namespace: is_namespaced, refusal: Refusal::Label },
        custom: Some(Arc::new(kind)),
        rules: Rules::custom(),
        ..Resource::new(definition.spec.group.clone(), version.name.clone(), names.plural.clone())
    }
}

/// Compiles the schema of a version. This server stores structural schemas only; any other preserves all fields.
fn schema(definition: &Definition, version: &Version) -> Arc<Schema> {
    let open_api = version.schema.as_ref().map(|schema| &schema.open_api).filter(|schema| !schema.is_null());
    let compiled = open_api.filter(|_| !definition.spec.preserve_unknown_fields).map(Schema::compile);
    Arc::new(compiled.and_then(Result::ok).unwrap_or_else(Schema::preserve_everything))
}

fn scale(version: &Version) -> Option<&super::definition::Scale> {
    version.subresources.as_ref()?.scale.as_ref()
}

fn deprecation(definition: &Definition, version: &Version) -> Option<String> {
    if !version.deprecated {
        return None;
    }
    if let Some(warning) = &version.deprecation_warning {
        return Some(warning.clone());
    }
    let (group, kind) = (&definition.spec.group, &definition.spec.names.kind);
    let others = definition.spec.versions.iter().filter(|other| other.served && !other.deprecated);
    let newer = others.map(|other| &*other.name).filter(|other| by_preference(other, &version.name).is_lt());
    let hint =
        newer.min_by(|a, b| by_preference(a, b)).map(|better| format!("; use {group}/{better} {kind}"));
    Some(format!("{group}/{} {kind} is deprecated{}", version.name, hint.unwrap_or_default()))
}
