//! What is certain to go wrong because inputs are not set: required ones; agents whose whole prompt would be empty, so that their
//! answer would be paid for and mean nothing; steps that would fail after others were paid for.

use std::collections::HashMap;
use std::sync::Arc;

use trefoil_check::semantic::rendered::{Piece, Slotted, pieces_of};
use trefoil_ir::{Call, Callee, Expr, FlowId, ModelCall, Program, Source, Step, StepKind, ToolCall, ToolKind};
use trefoil_syntax::Diagnostic;
use trefoil_template::{Object, Value};
use trefoil_tools::unfilled;

use super::certain::certain_steps;
use trefoil_project::input::{INPUT_INVALID, MissingInput, missing};

/// Everything that is certain to go wrong with a run of this input because of what the input lacks.
pub fn missing_inputs(program: &Program, given: Option<&Value>) -> Vec<Diagnostic> {
    let missing = missing(program, given);
    let needed: Vec<&MissingInput> = missing.iter().filter(|one| !one.may_be_empty()).collect();
    if let Some(first) = needed.first() {
        let message = format!("{} required and not set", input_names(&needed));
        let found = Diagnostic::error(INPUT_INVALID, first.declared(), message);
        return vec![found.help(pass_advice(&needed))];
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
    let names: Vec<String> = all.iter().map(|one| format!("`{}`", one.name)).collect();
    match names.as_slice() {
        [one] => format!("the input {one} is"),
        several => format!("the inputs {} are", several.join(", ")),
    }
}

/// The advice to pass these inputs: `--input a=... --input b=...`.
pub fn pass_advice(all: &[&MissingInput]) -> String {
    format!("pass `{}`", all.iter().map(|one| one.option()).collect::<Vec<_>>().join(" "))
}

/// Which inputs of each flow are inputs of the run that are not set, in all runs.
struct UnsetInputs<'p> {
    program: &'p Program,
    /// By flow and name; without a name, it is the whole input.
    all: HashMap<(FlowId, Option<Arc<str>>), &'p MissingInput>,
}

impl<'p> UnsetInputs<'p> {
    fn in_program(program: &'p Program, missing: &'p [MissingInput], steps: &[(FlowId, &Step)]) -> Self {
        let name = |one: &MissingInput| (!one.is_whole()).then(|| Arc::from(one.name.as_str()));
        let all = missing.iter().map(|one| ((program.entry, name(one)), one)).collect();
        let mut unset = Self { program, all };
        // A flow may be called before the one that calls it is looked at.
        loop {
            let before = unset.all.len();
            for (flow, step) in steps {
                let StepKind::Call(call) = &step.kind else { continue };
                let (Callee::Flow(callee), Some(Expr::Object(members))) = (&call.callee, &call.input) else { continue };
                for (member, value) in members {
                    if let Some(one) = unset.is(*flow, value) {
                        unset.all.entry((*callee, Some(member.clone()))).or_insert(one);
                    }
                }
            }
            if unset.all.len() == before {
                return unset;
            }
        }
    }

    /// The input that an expression of a flow is, if it is not set.
    fn is(&self, flow: FlowId, expr: &Expr) -> Option<&'p MissingInput> {
        match pieces_of(expr).as_slice() {
            [Piece::Value(value)] => self.value(flow, value),
            _ => None,
        }
    }

    fn value(&self, flow: FlowId, value: &Slotted<'_>) -> Option<&'p MissingInput> {
        let slot = self.program.flows[flow].intake.slot;
        let mut path = match value.source? {
            Source::Member(of, path) if *of == slot => path.clone(),
            Source::Slot(of) if *of == slot => Vec::new(),
            _ => return None,
        };
        path.extend(value.rest());
        self.all.get(&(flow, path.into_iter().next())).copied()
    }

    /// An agent that is called with nothing but inputs that are not set.
    fn prompt(&self, flow: FlowId, step: &Step, call: &ModelCall) -> Option<Diagnostic> {
        let mut unset: Vec<&MissingInput> = Vec::new();
        for piece in pieces_of(&call.user) {
            match piece {
                Piece::Written(text) if text.trim().is_empty() => {}
                Piece::Written(_) => return None,
                Piece::Value(value) => unset.push(self.value(flow, &value)?),
            }
        }
        let first = unset.first()?;
        let input = if first.is_whole() { "its input".to_owned() } else { format!("the input `{}`", first.name) };
        let message = format!("the whole prompt of `{}` is {input}, which is not set", call.speaker);
        Some(Diagnostic::error(INPUT_INVALID, step.origin, message).help(pass_advice(&unset)))
    }

    /// A request whose address has a placeholder for an input that is not set.
    fn address(&self, flow: FlowId, step: &Step, call: &ToolCall) -> Option<Diagnostic> {
        let member = |name: &str| {
            let Expr::Object(members) = &call.arguments else { return None };
            members.iter().find(|(member, _)| &**member == name).map(|(_, value)| value)
        };
        let text = |piece: Piece<'_>| if let Piece::Written(text) = piece { text } else { "x".to_owned() };
        let url: String = pieces_of(member("url")?).into_iter().map(text).collect();
        let Some(Expr::Object(params)) = member("params") else { return None };
        let unset: Vec<_> = params.iter().filter_map(|(name, value)| Some((name, self.is(flow, value)?))).collect();
        let is_unset = |name: &Arc<str>| unset.iter().any(|(other, _)| *other == name);
        let set: Object = params
            .iter()
            .filter(|(name, _)| !is_unset(name))
            .map(|(name, _)| (name.clone(), Value::from("x")))
            .collect();
        let placeholder = unfilled(&url, &set)?;
        let (_, input) = unset.iter().find(|(name, _)| ***name == *placeholder)?;
        let message = format!(
            "`{{{placeholder}}}` in the URL of `{}` has no value, because the input `{}` is not set",
            call.name, input.name
        );
        Some(Diagnostic::error(INPUT_INVALID, step.origin, message).help(pass_advice(&[input])))
    }

    /// A flow that is called with an input that is not set, and which requires it.
    fn passed(&self, program: &Program, flow: FlowId, step: &Step, call: &Call) -> Option<Diagnostic> {
        let (Callee::Flow(callee), Some(Expr::Object(members))) = (&call.callee, &call.input) else { return None };
        let callee = &program.flows[*callee];
        let mut required = callee.intake.fields.iter().filter(|f| !f.nullable && !f.optional && f.default.is_none());
        let (field, input) = required.find_map(|field| {
            let (_, value) = members.iter().find(|(member, _)| *member == field.name)?;
            Some((field, self.is(flow, value)?))
        })?;
        let message = format!(
            "`{}` needs its input `{}`, but that is the input `{}`, which is not set",
            callee.name, field.name, input.name
        );
        let found = Diagnostic::error(INPUT_INVALID, step.origin, message).label(field.origin, "required here");
        Some(found.help(pass_advice(&[input])))
    }
}
