//! What the analyses of a program show, one function for each kind of proof.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{
    AnswerFormat, FanOutItems, FlowCallee, FlowId, ModelCall, Source, StateMachine, Step, StepContents, StepId,
    StepKind, ToolKind, ValueExpression, walk,
};
use trefoil_syntax::hash::HashSet;
use trefoil_template::HoleKind;

use super::{ProgramProof, UnseenPart};
use crate::rule::CheckRoot;
use crate::semantic::effects::{self, CallEffect};
use crate::semantic::text_pieces::{TextPiece, expression_pieces};
use crate::semantic::visits::MachinePaths;
use crate::semantic::{ReadPresence, SemanticModel, ValueRead};
use crate::words;

/// The program, and the steps that a run can start.
pub(super) struct ProgramProver<'m, 'p> {
    model: &'m SemanticModel<'p>,
    root: FlowId,
    alive: Vec<(FlowId, StepId, &'p Step)>,
}

impl<'m, 'p> ProgramProver<'m, 'p> {
    pub(super) fn for_root(model: &'m SemanticModel<'p>, root: &CheckRoot) -> Self {
        Self { model, root: root.flow, alive: model.live_steps().collect() }
    }

    /// The references that a run may read, each place once.
    fn references(&self) -> Vec<&'m ValueRead<'p>> {
        let alive: HashSet<StepId> = self.alive.iter().map(|(_, id, _)| *id).collect();
        let mut seen = HashSet::default();
        let mut references = Vec::new();
        for read in self.model.value_reads() {
            let is_of_run = match read.step {
                Some(step) => alive.contains(&step),
                None => self.model.reach_analysis().is_called(read.flow) || read.flow == self.root,
            };
            if is_of_run && read.reference.is_some() && seen.insert(read.at) {
                references.push(read);
            }
        }
        references
    }

    pub(super) fn prove_names(&self, proof: &mut ProgramProof) {
        let (mut all, mut missing) = (0, 0);
        for read in self.references() {
            all += 1;
            if matches!(read.source, Source::Missing(..)) {
                missing += 1;
                proof.unseen.push(UnseenPart::new(format!("`{}` never has a value", read.path_text()), read.at));
            }
        }
        proof.proved.push(match (all, missing) {
            (0, _) => "nothing is referenced".to_owned(),
            (_, 0) => format!("{} something that exists", count_with_verb(all, "reference names", "references name")),
            _ => format!("{} of {all} references name something that exists", all - missing),
        });
        for (_, id, step) in &self.alive {
            if let StepKind::Call(call) = &step.kind
                && let FlowCallee::Named { .. } = call.callee
            {
                let what = format!("what {} calls, because the name is known only at run time", self.name(*id));
                proof.unseen.push(UnseenPart::new(what, step.origin));
            }
        }
        for (name, at) in self.model.program.missing_agents.iter() {
            proof.unseen.push(UnseenPart::new(format!("agent `{name}`, which is not defined"), *at));
        }
    }

    pub(super) fn prove_types(&self, proof: &mut ProgramProof) {
        let (mut all, mut known) = (0, 0);
        for read in self.references() {
            all += 1;
            known += usize::from(read.schema.value_kinds().is_some());
        }
        if all > 0 {
            proof.proved.push(match all - known {
                0 => format!("{} a known type", count_with_verb(all, "reference has", "references have")),
                _ => format!("{known} of {all} references have a known type"),
            });
        }
        for (flow, id, step) in &self.alive {
            let what = match &step.kind {
                StepKind::Model(call) => match call.format {
                    AnswerFormat::Text if self.model.program_types().raw_result_type(*flow, step).is_answer() => {
                        format!("what the answer of {} contains: it has no schema", self.name(*id))
                    }
                    AnswerFormat::JsonOrText => {
                        format!("the type of the answer of {}: it has no schema", self.name(*id))
                    }
                    _ => continue,
                },
                StepKind::Tool(call)
                    if self.model.program_types().raw_result_type(*flow, step).value_kinds().is_none() =>
                {
                    let tool = if call.name.is_empty() { String::new() } else { format!(" `{}`", call.name) };
                    format!("the type of what the tool{tool} returns: it declares no schema")
                }
                _ => continue,
            };
            proof.unseen.push(UnseenPart::new(what, step.origin));
        }
        let inputs = &self.model.program.flows[self.root].intake.fields;
        for field in inputs {
            if ValueType::from_schema(&field.schema).value_kinds().is_none() {
                proof.unseen.push(UnseenPart::new(format!("the type of the input `{}`", field.name), field.origin));
            }
        }
    }

    pub(super) fn prove_order(&self, proof: &mut ProgramProof, holds: bool) {
        let (mut handled, mut open) = (0, false);
        for read in self.references() {
            let ReadPresence::Sometimes(why) = &read.defined else { continue };
            if read.guarded {
                handled += 1;
                continue;
            }
            open = true;
            let what = format!("`{}` may have no value: {}", read.path_text(), why.in_words());
            proof.unseen.push(UnseenPart::new(what, read.at));
        }
        if holds {
            let mut ordered = "no value is read before its step".to_owned();
            match handled {
                0 => {}
                1 => ordered.push_str(", and 1 that may be missing is handled"),
                n => ordered.push_str(&format!(", and {n} that may be missing are handled")),
            }
            proof.proved.push(if open {
                "no value is read where its step can never have run".to_owned()
            } else {
                ordered
            });
        }
        self.prove_ends(proof, holds);
    }

    /// That every run ends.
    fn prove_ends(&self, proof: &mut ProgramProof, holds: bool) {
        let mut loops = 0;
        let mut ends = true;
        for flow in self.model.circular_flows() {
            let flow = &self.model.program.flows[flow];
            ends = false;
            proof.unseen.push(UnseenPart::new(format!("whether `{}` ends: it calls itself", flow.name), flow.origin));
        }
        for (_, id, step) in &self.alive {
            match step.kind.step_info().inside {
                StepContents::Repeated { max, .. } => loops += u32::from(max > 1),
                StepContents::StateMachine(it) => loops += u32::from(returns(it)),
                StepContents::ForEach(each) => match &each.items {
                    FanOutItems::List(list) if !matches!(list, ValueExpression::Const(_)) => {
                        let what = format!("how often {} repeats: its list is known only at run time", self.name(*id));
                        proof.unseen.push(UnseenPart::new(what, step.origin));
                    }
                    _ => loops += 1,
                },
                _ => {}
            }
            if matches!(&step.kind, StepKind::Human(call) if call.timeout_ms.is_none()) {
                let what = format!("how long {} waits for a person: it has no time limit", self.name(*id));
                proof.unseen.push(UnseenPart::new(what, step.origin));
            }
        }
        if holds && ends {
            proof.proved.push(match loops {
                0 => "nothing repeats without end".to_owned(),
                1 => "the only repetition has a limit".to_owned(),
                n => format!("all {n} repetitions have a limit"),
            });
        }
    }

    pub(super) fn prove_secrets(&self, proof: &mut ProgramProof, holds: bool) {
        let holes = walk::program_holes(self.model.program);
        let count = |kind: HoleKind| holes.iter().filter(|(k, _)| *k == kind).count();
        let (secrets, env) = (count(HoleKind::Secret), count(HoleKind::Env));
        if secrets + env == 0 {
            if holds {
                proof.proved.push("no secret and no environment value is read".to_owned());
            }
            return;
        }
        if holds {
            let read = match (secrets, env) {
                (_, 0) => many(secrets, "secret"),
                (0, _) => many(env, "environment value"),
                _ => format!("{} and {}", many(secrets, "secret"), many(env, "environment value")),
            };
            proof.proved.push(format!("{read}: no credential is in a prompt, a command-line argument or the result"));
        }
        for (_, id, step) in &self.alive {
            if !is_act(step) {
                continue;
            }
            let mut names: Vec<Arc<str>> = Vec::new();
            for (kind, name, _) in walk::holes_of(step) {
                let root = if kind == HoleKind::Secret { "secrets" } else { "env" };
                let path: Arc<str> = format!("`{root}.{name}`").into();
                if !names.contains(&path) {
                    names.push(path);
                }
            }
            if !names.is_empty() {
                let what = format!("what {} does with {}", self.name(*id), names.join(", "));
                proof.unseen.push(UnseenPart::new(what, step.origin));
            }
        }
    }

    pub(super) fn prove_untrusted_text(&self, proof: &mut ProgramProof, holds: bool) {
        let (mut commands, mut requests) = (0, 0);
        for (.., step) in &self.alive {
            match &step.kind {
                StepKind::Command(_) => commands += 1,
                StepKind::Tool(call) if call.kind == ToolKind::Http => requests += 1,
                _ => {}
            }
        }
        if holds {
            proof.proved.push(match (commands, requests) {
                (0, 0) => "there is no command and no request that text could change".to_owned(),
                (n, 0) => format!("text from outside is never code of {}", many(n, "command")),
                (0, n) => format!("text from outside never decides the host of {}", many(n, "request")),
                (c, r) => format!(
                    "text from outside is never code of {}, and never decides the host of {}",
                    many(c, "command"),
                    many(r, "request")
                ),
            });
        }
        for (flow, id, step) in &self.alive {
            match &step.kind {
                StepKind::Model(call) => {
                    if let Some(who) = self.untrusted_origin(*flow, *id, call) {
                        let what = format!("what the model of {} makes of {who} in its prompt", self.name(*id));
                        proof.unseen.push(UnseenPart::new(what, step.origin));
                    }
                }
                StepKind::Conversation(it) => {
                    let what = format!("which arguments a model passes to {}", many(it.offers.len(), "tool"));
                    proof.unseen.push(UnseenPart::new(what, step.origin));
                }
                _ => {}
            }
        }
    }

    /// Where the first untrusted value in a prompt comes from, in words.
    fn untrusted_origin(&self, flow: FlowId, id: StepId, call: &ModelCall) -> Option<&'static str> {
        for piece in call.system.iter().chain([&call.user]).flat_map(expression_pieces) {
            let TextPiece::Value(value) = piece else { continue };
            let labels = self.model.taint().labels_of_value(self.model.program, flow, id, &value);
            if let Some((who, _)) = labels.untrusted_origin() {
                return Some(who);
            }
        }
        None
    }

    pub(super) fn prove_writes(&self, proof: &mut ProgramProof, root: &CheckRoot) {
        let (mut reads, mut changes) = (0, Vec::new());
        for (_, id, step) in &self.alive {
            let effect = match &step.kind {
                StepKind::Tool(call) => effects::tool_call_effect(call, std::iter::once(&*root.supplied)),
                StepKind::Command(_) => CallEffect::Unknown,
                _ => continue,
            };
            match effect {
                CallEffect::Reads => reads += 1,
                CallEffect::Repeatable(_) | CallEffect::Writes(_) => changes.push(self.name(*id)),
                CallEffect::Unknown => {
                    let what = format!("whether {} changes something: nothing declares it", self.name(*id));
                    proof.unseen.push(UnseenPart::new(what, step.origin));
                }
            }
        }
        if !changes.is_empty() {
            proof.proved.push(format!(
                "{} something: {}",
                count_with_verb(changes.len(), "step changes", "steps change"),
                changes.join(", ")
            ));
        }
        if reads > 0 {
            proof.proved.push(format!("{} only, as declared", count_with_verb(reads, "step reads", "steps read")));
        }
        if proof.proved.is_empty() && proof.unseen.is_empty() {
            proof.proved.push("nothing outside of the run is changed".to_owned());
        }
    }

    fn name(&self, id: StepId) -> String {
        // A step without a name is known by the one around it.
        words::step_name(self.model.program, self.model.named_ancestor(id).unwrap_or(id))
    }
}

fn is_act(step: &Step) -> bool {
    matches!(step.kind, StepKind::Tool(_) | StepKind::Command(_))
}

fn many(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `1 reference names`, `3 references name`.
fn count_with_verb(n: usize, one: &str, more: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {more}") }
}

/// Whether a state may be entered again.
fn returns(machine: &StateMachine) -> bool {
    let ways = MachinePaths::from_machine(machine);
    machine.states.element_ids().any(|id| ways.max_visits(id) > 1)
}
