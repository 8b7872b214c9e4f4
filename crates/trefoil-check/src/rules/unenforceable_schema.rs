//! An output schema that a provider cannot enforce.

use trefoil_ir::{AnswerFormat, SchemaId};
use trefoil_syntax::FindingSeverity;
use trefoil_template::Value;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "unenforceable-schema",
    group: RuleGroup::Models,
    level: Some(FindingSeverity::Info),
    strict: None,
    page: include_str!("unenforceable_schema.md"),
    run: RuleSource::Declared(run),
};

/// Keywords that no provider's structured output enforces.
/// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>
const UNENFORCED: &[&str] = &[
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let mut done: Vec<SchemaId> = Vec::new();
    for (_, _, call) in cx.model.reachable_calls() {
        let AnswerFormat::Json(schema) = call.format else { continue };
        if done.contains(&schema) {
            continue;
        }
        done.push(schema);
        let schema = &program.schemas[schema];
        let mut found = Vec::new();
        keywords(&schema.json, &mut found);
        if schema.json.get("type").is_some_and(|t| t.as_str().is_some_and(|t| t != "object")) {
            found.push("an answer that is not an object".to_owned());
        }
        if found.is_empty() {
            continue;
        }
        let message = format!("providers cannot enforce {} of this schema", found.join(", "));
        let finding = cx.new_finding(schema.origin, message);
        cx.report_finding(finding.with_help("the answer is checked when it arrives; describe the requirement in the prompt, or remove it from the schema"));
    }
}

fn keywords(schema: &Value, found: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    for (key, value) in object {
        match &**key {
            "properties" | "$defs" => {
                let Some(schemas) = value.as_object() else { continue };
                for schema in schemas.values() {
                    keywords(schema, found);
                }
            }
            "items" | "additionalProperties" => keywords(value, found),
            "anyOf" => {
                for schema in value.as_list().unwrap_or_default() {
                    keywords(schema, found);
                }
            }
            word if UNENFORCED.contains(&word) => {
                let shown = format!("`{word}`");
                if !found.contains(&shown) {
                    found.push(shown);
                }
            }
            _ => {}
        }
    }
}
