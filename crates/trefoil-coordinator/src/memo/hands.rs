//! Which tools and commands change the world, and which steps of a program perform them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::{StepId, StepKind};
use trefoil_machine::Prepared;
use trefoil_machine::request::{Activity, Request, ToolRequest};

/// Says whether doing a tool call twice is the same as doing it once.
pub type IsIdempotent = Arc<dyn Fn(&ToolRequest) -> bool + Send + Sync>;

/// The tools of a run.
#[derive(Clone, Default)]
pub struct Hands(Option<IsIdempotent>);

impl std::fmt::Debug for Hands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hands")
    }
}

impl Hands {
    /// These.
    pub fn of(idempotent: IsIdempotent) -> Self {
        Self(Some(idempotent))
    }

    /// Whether something may not be safe to do twice.
    pub fn may_harm(&self, request: &Request) -> bool {
        match request {
            Request::Command(_) => true,
            Request::Tool(request) => !self.0.as_ref().is_some_and(|is_idempotent| is_idempotent(request)),
            _ => false,
        }
    }

    /// Whether a step performs effects like this one, as far as the program says it: the name of a tool that sent something may now
    /// be that of one that only reads.
    fn perform(&self, program: &Prepared, step: StepId, request: &Request) -> bool {
        let is_of_class = match (&program.program.steps[step].kind, request) {
            (StepKind::Tool(call), Request::Tool(asked)) => {
                let mut declared = ToolRequest::declared(call);
                if !declared.calls_same(asked) {
                    declared.name = asked.name.clone();
                }
                self.same_class(&Request::Tool(declared), request)
            }
            _ => true,
        };
        is_of_class && program.makes(step, request)
    }

    /// Whether neither of two effects, or each of them, may be unsafe to do twice. What is safe does not stand for what is not.
    pub fn same_class(&self, one: &Request, other: &Request) -> bool {
        self.may_harm(one) == self.may_harm(other)
    }
}

/// The steps of a program, by the labels around them. Looking them up walks the whole program.
pub struct Steps<'p> {
    program: &'p Prepared,
    known: BTreeMap<Arc<[Arc<str>]>, Vec<StepId>>,
}

impl<'p> Steps<'p> {
    /// Of this program.
    pub fn of(program: &'p Prepared) -> Self {
        Self { program, known: BTreeMap::new() }
    }

    fn under(&mut self, labels: &Arc<[Arc<str>]>) -> &[StepId] {
        self.known.entry(labels.clone()).or_insert_with(|| self.program.effects(labels))
    }

    /// Whether the program has the step of an activity: one under its names that makes such requests.
    pub fn have(&mut self, activity: &Activity) -> bool {
        let program = self.program;
        self.under(&activity.labels).iter().any(|step| program.makes(*step, &activity.request))
    }

    /// The same for a tool or a command: one that performs such effects.
    pub fn perform(&mut self, activity: &Activity, hands: &Hands) -> bool {
        self.performing(activity, hands).next().is_some()
    }

    /// All of these steps.
    fn performing(&mut self, activity: &Activity, hands: &Hands) -> impl Iterator<Item = StepId> {
        let program = self.program;
        let all = self.under(&activity.labels).iter().copied();
        all.filter(move |step| hands.perform(program, *step, &activity.request))
    }

    /// What the steps that perform such effects do, as text.
    pub fn definitions(&mut self, activity: &Activity, hands: &Hands) -> BTreeSet<String> {
        let program = self.program;
        self.performing(activity, hands).filter_map(|step| program.definition(step)).collect()
    }
}
