//! The inputs that a step passes compared with those of the agent that it calls.

use std::sync::Arc;

use trefoil_ir::ValueExpression;
use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, FindingSeverity, suggestions};
use trefoil_template::Value;

use trefoil_front::ManifestSource;
use trefoil_front::agntz::binding::BoundAgent;
use trefoil_front::agntz::manifest::{PipelineManifest, PipelineStep as Written, StepTarget};
use trefoil_front::agntz::names::{AgntzAgentNames, PipelinePosition};
use trefoil_front::agntz::schema::misfit_reason;
use trefoil_front::agntz::signature::{AgentSignature, InputProperty};
use trefoil_front::bound_text::BoundText;
use trefoil_front::spelling_fixes;
use trefoil_front::spelling_fixes::fix_spelling;

use super::FindingList;

use super::indented;

/// Checks the steps of a pipeline.
pub fn check_step_inputs(
    file: ManifestSource<'_>,
    bound: &BoundAgent<'_>,
    pipeline: &PipelineManifest<'_>,
    found: &mut FindingList,
) {
    for (index, (step, name)) in pipeline.steps.iter().zip(&bound.names.steps).enumerate() {
        let Some(callee) = name.callee.as_deref() else { continue };
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            let declared = callee.inputs.get(&key.value).is_some();
            if !declared && indented::check_indented_key(file, step, callee, key, value, found) {
                continue;
            }
            if let Some(text) = bound.texts.get(value, PipelinePosition::Step(index)) {
                passed(file, bound, callee, map, (key, text), found);
            }
        }
        match &step.input {
            _ if step.unclear => {}
            Some(_) => missing(file, step, callee, found),
            None => no_input(file, step, callee, found),
        }
    }
}

/// One key of an input map.
fn passed(
    file: ManifestSource<'_>,
    bound: &BoundAgent<'_>,
    callee: &AgentSignature,
    map: &[(&YamlText, &YamlText)],
    (key, value): (&YamlText, &BoundText),
    found: &mut FindingList,
) {
    match callee.inputs.get(&key.value) {
        Some(property) => {
            fit(file, value, property, callee, found);
            usual(&bound.names, value, property, callee, found);
        }
        None if callee.inputs.closed => undeclared(file, key, map, callee, found),
        None => {}
    }
}

/// Whether a property accepts every text.
pub fn takes_any_text(property: &ValueType) -> bool {
    if property.allowed_values().is_some() {
        return false;
    }
    match property.solid_kinds() {
        Some(kinds) => kinds.contains(ValueKind::Text),
        None => true,
    }
}

fn undeclared(
    file: ManifestSource<'_>,
    key: &YamlText,
    map: &[(&YamlText, &YamlText)],
    callee: &AgentSignature,
    found: &mut FindingList,
) {
    let names: Vec<&str> = callee.inputs.properties.iter().map(|p| &*p.name).collect();
    let message = format!("`{}` has no input `{}`", callee.id, key.value);
    let d = Diagnostic::new_error("unknown-input", file.location_of(key.span), message);
    let first = names.iter().find_map(|name| callee.inputs.members.declaration_of(name));
    let d = match first {
        Some(at) => d.with_label(at, "its inputs"),
        None => d,
    };
    let takes = spelling_fixes::join_names(names.iter().copied());
    found.push(match suggestions::find_near_match(&key.value, names.iter().copied()) {
        Some(near) => {
            let d = d.with_help(format!("did you mean `{}`? available: {takes}", near.name));
            let taken = map.iter().any(|(given, _)| &*given.value == near.name);
            let declaration = callee.inputs.members.declaration_of(near.name);
            let here = matches!(declaration, Some(at) if at.file == file.file);
            let near = suggestions::NearMatch {
                sure: near.sure && (!here || file.confirms_misspelling(near.name, &key.value)),
                ..near
            };
            if taken { d } else { fix_spelling(d, file.location_of(key.span), key, near) }
        }
        None if names.is_empty() => d.with_help("its `inputSchema` is empty"),
        None => d.with_help(format!("available: {takes}")),
    });
}

/// The finding with the place where the child declares the property.
fn label_declaration(d: Diagnostic, callee: &AgentSignature, property: &str) -> Diagnostic {
    match callee.inputs.members.declaration_of(property) {
        Some(at) => d.with_label(at, "declared here"),
        None => d,
    }
}

/// The finding with the places where the child declares the properties.
fn label_declarations(mut d: Diagnostic, callee: &AgentSignature, properties: &[&InputProperty]) -> Diagnostic {
    for property in properties {
        d = label_declaration(d, callee, &property.name);
    }
    d
}

/// A value that can never match the child's input.
fn fit(
    file: ManifestSource<'_>,
    text: &BoundText,
    property: &InputProperty,
    callee: &AgentSignature,
    found: &mut FindingList,
) {
    let value = &text.source;
    let given_type = text.value_type();
    let wanted = &property.of;
    let Some(kinds) = wanted.solid_kinds() else { return };
    let given = given_type.solid_kinds().unwrap_or_default();
    let never = !given.is_empty() && !given.overlaps_with(kinds);
    let choices = texts(wanted);
    if !never && choices.is_none() {
        return;
    }
    // An invalid value is reported separately.
    let Some(expr) = text.typed_expr() else { return };
    let what = format!("`{}` of `{}`", property.name, callee.id);
    if never {
        let lone = matches!(text.as_template(), Some(template) if template.is_single());
        let message = format!("{what} is {kinds}, but this is {given}");
        let severity = match &property.with_lists {
            // It is passed on as it is.
            Some(_) if given.is_only(ValueKind::List) => FindingSeverity::Warning,
            _ => FindingSeverity::Error,
        };
        let d = Diagnostic::new("schema-mismatch", severity, file.location_of(value.span), message);
        let d = label_declaration(d, callee, &property.name);
        found.push(match &expr {
            _ if severity == FindingSeverity::Warning => {
                d.with_help("the list is passed on; declare the input as `array`")
            }
            ValueExpression::Const(_) => d.with_help(
                "only a single placeholder keeps its type: write a placeholder of an input with this `default`",
            ),
            _ if !lone => d.with_help("only a single placeholder keeps its type; anything else is text"),
            _ if given_type.is_answer() => d.with_help("add an `outputSchema` to the agent that this comes from"),
            _ => d,
        });
        return;
    }
    let (ValueExpression::Const(Value::Str(text)), Some(choices)) = (&expr, choices) else { return };
    if !choices.contains(text) {
        let d = Diagnostic::new_error(
            "schema-mismatch",
            file.location_of(value.span),
            format!("{what} cannot be `{text}`"),
        );
        let d = label_declaration(d, callee, &property.name);
        let all = spelling_fixes::join_names(choices.iter().map(|c| &**c));
        found.push(match suggestions::find_near_match(text, choices.iter().map(|c| &**c)) {
            Some(near) => {
                let d = d.with_help(format!("did you mean `{}`? available: {all}", near.name));
                fix_spelling(d, file.location_of(value.span), value, near)
            }
            None => d.with_help(format!("available: {all}")),
        });
    }
}

/// The only texts that a value of a type can be.
fn texts(of: &ValueType) -> Option<Vec<Arc<str>>> {
    let all = of.allowed_values()?;
    Some(all.iter().filter_map(Value::as_str).map(Arc::from).collect())
}

/// An input with a default that the child rejects, so a run that omits it fails.
fn usual(
    scope: &AgntzAgentNames,
    text: &BoundText,
    property: &InputProperty,
    callee: &AgentSignature,
    found: &mut FindingList,
) {
    let Some(template) = text.as_template() else { return };
    let ([reference], true) = (template.references(), template.is_single()) else { return };
    let [root] = reference.path.as_slice() else { return };
    let Some(own) = scope.inputs.get(&root.name) else { return };
    let Some(default) = own.json.get("default") else { return };
    if !scope.steps_named(&root.name).is_empty() || default.is_null() || own.json == property.json {
        return;
    }
    // A value that can never match is reported separately.
    let (Some(mine), Some(theirs)) = (own.of.solid_kinds(), property.of.solid_kinds()) else { return };
    if !mine.overlaps_with(theirs) {
        return;
    }
    let Some(why) = misfit_reason(&property.json, &default.to_json()) else { return };
    let message =
        format!("`{}` of `{}` does not accept the default of `{}`: {why}", property.name, callee.id, root.name);
    let at = match text.uses.first() {
        Some(used) => used.at,
        None => text.at,
    };
    let d = Diagnostic::new_warning("schema-mismatch", at, message);
    let d = label_declaration(d, callee, &property.name);
    found.push(match scope.inputs.members.declaration_of(&root.name) {
        Some(at) => d.with_label(at, "its default is here"),
        None => d,
    });
}

/// Properties that are missing in an input map.
fn missing(file: ManifestSource<'_>, step: &Written<'_>, callee: &AgentSignature, found: &mut FindingList) {
    let given = step.given.as_deref().unwrap_or_default();
    // For an unknown name, the property that was meant is reported there.
    let mut meant: Vec<&str> = Vec::new();
    for key in given {
        if callee.inputs.closed && callee.inputs.get(&key.value).is_none() {
            let all = callee.inputs.properties.iter().map(|property| &*property.name);
            if let Some(near) = suggestions::find_near_match(&key.value, all) {
                meant.push(near.name);
            }
        }
    }
    let (mut must, mut may) = (Vec::new(), Vec::new());
    for property in &callee.inputs.properties {
        let is_given = given.iter().any(|key| key.value == property.name);
        if !property.needed || is_given || meant.contains(&&*property.name) {
            continue;
        }
        if property.required {
            must.push(property);
        } else {
            may.push(property);
        }
    }
    let at = file.location_of(step.input_span);
    if !must.is_empty() {
        let message = format!("`input` lacks {}, which `{}` requires", names(&must), callee.id);
        found.push(label_declarations(Diagnostic::new_error("missing-input", at, message), callee, &must));
    }
    if !may.is_empty() {
        let message = format!("`input` lacks {} of `{}`, which is then null", names(&may), callee.id);
        let d =
            Diagnostic::new_warning("missing-input", at, message).with_help("pass it, or declare a `default` for it");
        found.push(label_declarations(d, callee, &may));
    }
}

/// A step without `input`: the child gets no explicit input.
fn no_input(file: ManifestSource<'_>, step: &Written<'_>, callee: &AgentSignature, found: &mut FindingList) {
    let needed: Vec<_> = callee.inputs.properties.iter().filter(|p| p.needed).collect();
    let at = file.location_of(step.span);
    if let [first, ..] = needed.as_slice() {
        let message = format!("`{}` requires {}, but the step has no `input`", callee.id, names(&needed));
        let help = format!("add `input: {{ {}: \"{{{{...}}}}\" }}` to the step", first.name);
        let d = Diagnostic::new_error("missing-input", at, message).with_help(help);
        found.push(label_declarations(d, callee, &needed));
    } else if callee.sends_input && !callee.inputs.declared {
        let message =
            format!("`{}` gets an empty user message: the step has no `input`, and the agent no `prompt`", callee.id);
        let help = "add `input` to the step, or `prompt` to the agent: earlier results are not passed on automatically";
        found.push(Diagnostic::new_warning("empty-message", at, message).with_help(help));
    } else if callee.reads_input && !callee.inputs.declared && matches!(step.target, StepTarget::Ref(_)) {
        let message = format!("`{}` reads its input, but the step has no `input`, so it is null", callee.id);
        let help = "add `input` to the step: earlier results are not passed on automatically";
        found.push(Diagnostic::new_warning("missing-input", at, message).with_help(help));
    }
}

fn names(properties: &[&InputProperty]) -> String {
    spelling_fixes::join_names(properties.iter().map(|p| &*p.name))
}
