//! Parts of the API that have a schema of their own, because the command line prints them as well: findings, traces, plans and comparisons.

use serde_json::{Map, Value as Json};
use trefoil_host::durable::DIFF_SCHEMA;
use trefoil_syntax::diagnostic::render::JSON_SCHEMA;
use trefoil_template::read_json_bytes;
use trefoil_view::{plan, trace};
use utoipa::openapi::{Object, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

macro_rules! published_schemas {
    ($($(#[$about:meta])* $name:ident,)*) => {
        $(
            $(#[$about])*
            pub struct $name;

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    Object::new().into()
                }
            }

            impl ToSchema for $name {}
        )*
    };
}

published_schemas! {
    /// A finding, as `trefoil check --format json` has it.
    Finding,
    /// A trace, as `trefoil run --trace` writes it.
    RunTrace,
    /// What a run waits for, as its trace has it.
    OpenQuestion,
    /// What a run stopped before, as its trace has it.
    StoppedBefore,
    /// A plan, as `trefoil plan --format json` prints it.
    FlowPlan,
    /// What a run costs, as its plan has it.
    FlowPlanCost,
    /// Two runs, as `trefoil runs diff --output json` prints them.
    RunComparison,
    /// Why a request differs from an earlier one, as a comparison has it.
    RunComparisonReason,
}

/// Puts the schemas of these types into the schemas of a description.
pub fn add_published(schemas: &mut Map<String, Json>) {
    if let Some(definitions) = read_published(JSON_SCHEMA, "Finding", schemas)
        && let Some(finding) = definitions.pointer("/properties/diagnostics/items")
    {
        schemas.insert("Finding".to_owned(), finding.clone());
    }
    for (text, name) in [(plan::SCHEMA, "FlowPlan"), (DIFF_SCHEMA, "RunComparison")] {
        if let Some(schema) = read_published(text, name, schemas) {
            schemas.insert(name.to_owned(), schema);
        }
    }
    let Some(mut trace) = read_published(trace::SCHEMA, "RunTrace", schemas) else { return };
    for (name, at) in [("OpenQuestion", "/properties/waiting/items"), ("StoppedBefore", "/properties/stopped")] {
        let Some(part) = trace.pointer_mut(at) else { continue };
        let mut schema = part.take();
        // A list of questions adds members to each.
        if let Some(members) = schema.as_object_mut() {
            members.remove("additionalProperties");
        }
        *part = serde_json::json!({ "$ref": format!("#/components/schemas/{name}") });
        schemas.insert(name.to_owned(), schema);
    }
    schemas.insert("RunTrace".to_owned(), trace);
}

/// A schema, whose definitions become schemas of the description with this prefix.
fn read_published(text: &str, prefix: &str, schemas: &mut Map<String, Json>) -> Option<Json> {
    let mut schema: Json = read_json_bytes(text.as_bytes()).ok()?;
    let name_of = |definition: &str| {
        let mut letters = definition.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        format!("{prefix}{}{}", first.map(String::from).unwrap_or_default(), letters.as_str())
    };
    rewrite_references(&mut schema, &name_of);
    let members = schema.as_object_mut()?;
    members.remove("$schema");
    members.remove("$id");
    if let Some(Json::Object(definitions)) = members.remove("$defs") {
        for (name, definition) in definitions {
            schemas.insert(name_of(&name), definition);
        }
    }
    Some(schema)
}

fn rewrite_references(schema: &mut Json, name_of: &impl Fn(&str) -> String) {
    match schema {
        Json::Object(members) => {
            for (name, value) in members {
                if name == "$ref"
                    && let Some(definition) = value.as_str().and_then(|target| target.strip_prefix("#/$defs/"))
                {
                    *value = format!("#/components/schemas/{}", name_of(definition)).into();
                } else {
                    rewrite_references(value, name_of);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rewrite_references(item, name_of)),
        _ => {}
    }
}
