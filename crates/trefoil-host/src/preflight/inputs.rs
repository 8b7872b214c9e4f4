//! What is certain to go wrong because inputs are not set: required ones; agents whose whole prompt would be empty, so that their
//! answer would be paid for and mean nothing; steps that would fail after others were paid for.

use std::collections::HashMap;
use std::sync::Arc;

use trefoil_check::semantic::text_pieces::{InsertedValue, TextPiece, expression_pieces};
use trefoil_ir::{
    FlowCallee, FlowId, ModelCall, Program, Source, Step, StepKind, SubflowCall, ToolCall, ToolKind, ValueExpression,
};
use trefoil_syntax::Diagnostic;
use trefoil_template::{Value, ValueObject};
use trefoil_tools::find_unfilled;

use super::certain_steps::certain_steps;
use trefoil_project::input::{INPUT_INVALID, MissingInput, find_missing_inputs};

/// Everything that is certain to go wrong with a run of this input because of what the input lacks.
pub fn missing_inputs(program: &Program, given: Option<&Value>) -> Vec<Diagnostic> {
    let missing = find_missing_inputs(program, given);
    let needed: Vec<&MissingInput> = missing.iter().filter(|input| !input.may_be_empty()).collect();
    if let Some(first) = needed.first() {
        let message = format!("{} required and not set", input_names(&needed));
        let found = Diagnostic::new_error(INPUT_INVALID, first.declaration_location(), message);
        return vec![found.with_help(pass_advice(&needed))];
    }
    let steps = certain_steps(program);
    let unset = UnsetInputs::in_program(program, &missing, &steps);
    let mut found = Vec::new();
    for (flow, step) in steps {
        found.extend(match &step.kind {
            StepKind::Model(call) => unset.prompt(flow, step, call),
            StepKind::Tool(call) if call.kind == ToolKind::Http => unset.address(flow, step, call),
            StepKind::Call(call) => unset.passed(program, flow, step, call),
            _ => None,
        });
    }
    found
}

/// `` the input `topic` is ``, or `` the inputs `topic`, `tone` are ``.
pub fn input_names(all: &[&MissingInput]) -> String {
    let names: Vec<String> = all.iter().map(|input| format!("`{}`", input.name)).collect();
    match names.as_slice() {
        [name] => format!("the input {name} is"),
        several => format!("the inputs {} are", several.join(", ")),
    }
}

/// The advice to pass these inputs: `--input a=... --input b=...`.
pub fn pass_advice(all: &[&MissingInput]) -> String {
    let options: Vec<_> = all.iter().map(|input| input.option_text()).collect();
    format!("pass `{}`", options.join(" "))
}

/// Which inputs of each flow are inputs of the run that are not set, in all runs.
struct UnsetInputs<'p> {
    program: &'p Program,
    /// By flow and name; without a name, it is the whole input.
    all: HashMap<(FlowId, Option<Arc<str>>), &'p MissingInput>,
}

impl<'p> UnsetInputs<'p> {
    fn in_program(program: &'p Program, missing: &'p [MissingInput], steps: &[(FlowId, &Step)]) -> Self {
        let mut all = HashMap::new();
        for input in missing {
            let name = if input.is_whole() { None } else { Some(Arc::from(input.name.as_str())) };
            all.insert((program.entry, name), input);
        }
        let mut unset = Self { program, all };
        // A flow may be called before the one that calls it is looked at.
        loop {
            let before = unset.all.len();
            for (flow, step) in steps {
                let StepKind::Call(call) = &step.kind else { continue };
                let (FlowCallee::Flow(callee), Some(ValueExpression::Object(members))) = (&call.callee, &call.input)
                else {
                    continue;
                };
                for (member, value) in members {
                    if let Some(input) = unset.unset_input(*flow, value) {
                        unset.all.entry((*callee, Some(member.clone()))).or_insert(input);
                    }
                }
            }
            if unset.all.len() == before {
                return unset;
            }
        }
    }

    /// The input that an expression of a flow is, if it is not set.
    fn unset_input(&self, flow: FlowId, expr: &ValueExpression) -> Option<&'p MissingInput> {
        match expression_pieces(expr).as_slice() {
            [TextPiece::Value(value)] => self.value(flow, value),
            _ => None,
        }
    }

    fn value(&self, flow: FlowId, value: &InsertedValue<'_>) -> Option<&'p MissingInput> {
        let slot = self.program.flows[flow].intake.slot;
        let mut path = match value.source? {
            Source::Member(of, path) if *of == slot => path.clone(),
            Source::Slot(of) if *of == slot => Vec::new(),
            _ => return None,
        };
        path.extend(value.remaining_path());
        self.all.get(&(flow, path.into_iter().next())).copied()
    }

    /// An agent that is called with nothing but inputs that are not set.
    fn prompt(&self, flow: FlowId, step: &Step, call: &ModelCall) -> Option<Diagnostic> {
        let mut unset: Vec<&MissingInput> = Vec::new();
        for piece in expression_pieces(&call.user) {
            match piece {
                TextPiece::Written(text) if text.trim().is_empty() => {}
                TextPiece::Written(_) => return None,
                TextPiece::Value(value) => unset.push(self.value(flow, &value)?),
            }
        }
        let first = unset.first()?;
        let input = if first.is_whole() { "its input".to_owned() } else { format!("the input `{}`", first.name) };
        let message = format!("the whole prompt of `{}` is {input}, which is not set", call.speaker);
        Some(Diagnostic::new_error(INPUT_INVALID, step.origin, message).with_help(pass_advice(&unset)))
    }

    /// A request whose address has a placeholder for an input that is not set.
    fn address(&self, flow: FlowId, step: &Step, call: &ToolCall) -> Option<Diagnostic> {
        let member = |name: &str| {
            let ValueExpression::Object(members) = &call.arguments else { return None };
            let (_, value) = members.iter().find(|(member, _)| &**member == name)?;
            Some(value)
        };
        let mut url = String::new();
        for piece in expression_pieces(member("url")?) {
            match piece {
                TextPiece::Written(text) => url.push_str(&text),
                TextPiece::Value(_) => url.push('x'),
            }
        }
        let Some(ValueExpression::Object(params)) = member("params") else { return None };
        let mut unset = Vec::new();
        for (name, value) in params {
            if let Some(input) = self.unset_input(flow, value) {
                unset.push((name, input));
            }
        }
        let is_unset = |name: &Arc<str>| unset.iter().any(|(other, _)| *other == name);
        let set: ValueObject = params
            .iter()
            .filter(|(name, _)| !is_unset(name))
            .map(|(name, _)| (name.clone(), Value::from("x")))
            .collect();
        let placeholder = find_unfilled(&url, &set)?;
        let (_, input) = unset.iter().find(|(name, _)| ***name == *placeholder)?;
        let message = format!(
            "`{{{placeholder}}}` in the URL of `{}` has no value, because the input `{}` is not set",
            call.name, input.name
        );
        Some(Diagnostic::new_error(INPUT_INVALID, step.origin, message).with_help(pass_advice(&[input])))
    }

    /// A flow that is called with an input that is not set, and which requires it.
    fn passed(&self, program: &Program, flow: FlowId, step: &Step, call: &SubflowCall) -> Option<Diagnostic> {
        let (FlowCallee::Flow(callee), Some(ValueExpression::Object(members))) = (&call.callee, &call.input) else {
            return None;
        };
        let callee = &program.flows[*callee];
        for field in &callee.intake.fields {
            if field.nullable || field.optional || field.default.is_some() {
                continue;
            }
            let Some((_, value)) = members.iter().find(|(member, _)| *member == field.name) else { continue };
            let Some(input) = self.unset_input(flow, value) else { continue };
            let message = format!(
                "`{}` needs its input `{}`, but that is the input `{}`, which is not set",
                callee.name, field.name, input.name
            );
            let found =
                Diagnostic::new_error(INPUT_INVALID, step.origin, message).with_label(field.origin, "required here");
            return Some(found.with_help(pass_advice(&[input])));
        }
        None
    }
}
