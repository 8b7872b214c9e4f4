//! Which tools and commands change the world, and which steps of a program perform them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::{StepId, StepKind};
use trefoil_machine::PreparedProgram;
use trefoil_machine::request::{Activity, Request, ToolRequest};

/// Says whether doing a tool call twice is the same as doing it once.
pub type IsIdempotent = Arc<dyn Fn(&ToolRequest) -> bool + Send + Sync>;

/// The tools of a run.
#[derive(Clone, Default)]
pub struct ToolSafety(Option<IsIdempotent>);

impl std::fmt::Debug for ToolSafety {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ToolSafety")
    }
}

impl ToolSafety {
    /// These.
    pub fn from_idempotency(idempotent: IsIdempotent) -> Self {
        Self(Some(idempotent))
    }

    /// Whether something may not be safe to do twice.
    pub fn may_harm(&self, request: &Request) -> bool {
        match request {
            Request::Command(_) => true,
            Request::Tool(request) => !matches!(&self.0, Some(is_idempotent) if is_idempotent(request)),
            _ => false,
        }
    }

    /// Whether a step performs effects like this one, as far as the program says it: the name of a tool that sent something may now
    /// be that of one that only reads.
    fn perform(&self, program: &PreparedProgram, step: StepId, request: &Request) -> bool {
        let is_of_class = match (&program.program.steps[step].kind, request) {
            (StepKind::Tool(call), Request::Tool(asked)) => {
                let mut declared = ToolRequest::from_declaration(call);
                if !declared.calls_same(asked) {
                    declared.name = asked.name.clone();
                }
                self.same_class(&Request::Tool(declared), request)
            }
            _ => true,
        };
        is_of_class && program.makes_request(step, request)
    }

    /// Whether neither of two effects, or each of them, may be unsafe to do twice. What is safe does not stand for what is not.
    pub fn same_class(&self, one: &Request, other: &Request) -> bool {
        self.may_harm(one) == self.may_harm(other)
    }
}

/// The steps of a program, by the labels around them. Looking them up walks the whole program.
pub struct StepsByLabels<'p> {
    program: &'p PreparedProgram,
    known: BTreeMap<Arc<[Arc<str>]>, Vec<StepId>>,
}

impl<'p> StepsByLabels<'p> {
    /// Of this program.
    pub fn for_program(program: &'p PreparedProgram) -> Self {
        Self { program, known: BTreeMap::new() }
    }

    fn under(&mut self, labels: &Arc<[Arc<str>]>) -> &[StepId] {
        self.known.entry(labels.clone()).or_insert_with(|| self.program.effect_steps(labels))
    }

    /// Whether the program has the step of an activity: one under its names that makes such requests.
    pub fn has_step_of(&mut self, activity: &Activity) -> bool {
        let program = self.program;
        self.under(&activity.labels).iter().any(|step| program.makes_request(*step, &activity.request))
    }

    /// The same for a tool or a command: one that performs such effects.
    pub fn has_effect_step(&mut self, activity: &Activity, hands: &ToolSafety) -> bool {
        self.effect_steps(activity, hands).next().is_some()
    }

    /// All of these steps.
    fn effect_steps(&mut self, activity: &Activity, hands: &ToolSafety) -> impl Iterator<Item = StepId> {
        let program = self.program;
        let all = self.under(&activity.labels).iter().copied();
        all.filter(move |step| hands.perform(program, *step, &activity.request))
    }

    /// What the steps that perform such effects do, as text.
    pub fn effect_definitions(&mut self, activity: &Activity, hands: &ToolSafety) -> BTreeSet<String> {
        let program = self.program;
        self.effect_steps(activity, hands).filter_map(|step| program.step_definition(step)).collect()
    }
}
