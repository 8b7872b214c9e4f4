//! Data computed once for a program and shared by all its runs: key segments, compiled schemas and patterns, graphs.
//!
//! Patterns are compiled on first use, like [`ProgramSchemas`], so a program with many of them starts as fast as one without.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use trefoil_ir::pattern::LinearPattern;
use trefoil_ir::{Guard, IndexVec, Program, Source, Step, StepId, StepKind, ToolKind, ValidatorKind, printer, walk};
use trefoil_template::HoleKind;

use super::graph_plan::GraphPlan;
use crate::guard::{self, StoredInput};
use crate::key;
use crate::request::{Activity, Request, ToolRequest};
use crate::schemas::ProgramSchemas;
use crate::step_path::{join_path, path_inside};

/// A program and the data computed for it.
pub struct PreparedProgram {
    /// The program.
    pub program: Arc<Program>,
    /// Its schemas.
    pub schemas: ProgramSchemas,
    fingerprint: OnceLock<String>,
    steps: IndexVec<StepId, StepFacts>,
    /// Whether anything reads the usage of steps by slot.
    pub tracks_spending: bool,
    /// Whether a flow has a cost limit.
    pub limits_cost: bool,
    /// The guardrails of its agents that hide what they find. What no agent has read yet is shown without it, too.
    pub conceals: Vec<Guard>,
    /// What a run stores of its input.
    pub stored_input: StoredInput,
    /// Whether values may have holes, because something reads the environment or the secret store.
    pub has_holes: bool,
    /// The environment variables and secrets that the program names.
    pub holes: Vec<(HoleKind, Arc<str>)>,
}

#[derive(Default)]
struct StepFacts {
    segment: Arc<str>,
    patterns: Vec<OnceLock<Option<LinearPattern>>>,
    judges: Vec<Vec<Arc<str>>>,
    graph: OnceLock<Arc<GraphPlan>>,
    /// Whether it calls whatever tool a model names of those that its source lists.
    is_listed: bool,
}

impl std::fmt::Debug for PreparedProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "program `{}`", self.program.name)
    }
}

impl PreparedProgram {
    /// Prepares a program.
    pub fn new(program: Arc<Program>) -> Arc<Self> {
        let mut steps: IndexVec<StepId, StepFacts> = program.steps.iter().map(facts).collect();
        for (id, flow) in program.flows.entries() {
            let entry_name = if id == program.entry { Some(&*flow.name) } else { None };
            KeySegments::default().assign(&program, flow.body, entry_name, &mut steps);
        }
        for step in &program.steps {
            let StepKind::Conversation(it) = &step.kind else { continue };
            for offer in &it.offers {
                if offer.all {
                    steps[offer.step].is_listed = true;
                }
            }
        }
        let tracks_spending = reads(&program, |s| matches!(s, Source::Spent(slots) if !slots.is_empty()));
        let sends = |step: &Step| match &step.kind {
            StepKind::Tool(call) => matches!(&call.kind, ToolKind::Mcp { headers, .. } if !headers.is_empty()),
            _ => false,
        };
        let has_holes =
            reads(&program, |s| matches!(s, Source::Environment | Source::Secrets)) || program.steps.iter().any(sends);
        let limits_cost =
            program.flows.iter().any(|f| matches!(&f.budget, Some(budget) if budget.max_cost_micro.is_some()));
        let schemas = ProgramSchemas::new(program.clone());
        let conceals = guard::concealing_guards(&program);
        let stored_input = StoredInput::for_program(&program, &conceals);
        let holes = if has_holes { walk::program_holes(&program) } else { Vec::new() };
        Arc::new(Self {
            program,
            schemas,
            fingerprint: OnceLock::new(),
            steps,
            tracks_spending,
            limits_cost,
            conceals,
            stored_input,
            has_holes,
            holes,
        })
    }

    /// The fingerprint of the program in journals.
    pub fn fingerprint(&self) -> &str {
        self.fingerprint.get_or_init(|| self.program.fingerprint().to_string())
    }

    /// The key segment of a step: its escaped label, if it has one; a mark if keys would be equal otherwise.
    pub fn key_segment(&self, step: StepId) -> &str {
        &self.steps[step].segment
    }

    /// The key segment of a judge of an `Attempts` step.
    pub fn judge_segment(&self, step: StepId, validator: usize, judge: usize) -> &str {
        let Some(names) = self.steps[step].judges.get(validator) else { return "" };
        match names.get(judge) {
            Some(name) => name,
            None => "",
        }
    }

    /// The order of a graph step's nodes.
    pub fn graph_plan(&self, step: StepId) -> Option<Arc<GraphPlan>> {
        let StepKind::Graph(graph) = &self.program.steps[step].kind else { return None };
        Some(self.steps[step].graph.get_or_init(|| Arc::new(GraphPlan::from_graph(graph))).clone())
    }

    /// The steps with activities of their own that a run can reach with these labels around them: see
    /// [`Activity::labels`](crate::Activity::labels).
    pub fn effect_steps(&self, labels: &[Arc<str>]) -> Vec<StepId> {
        let program = &*self.program;
        // A step, and the number of labels around it.
        let mut open: Vec<(StepId, usize)> = vec![(program.entry_flow().body, 0)];
        let (mut met, mut found) = (BTreeSet::new(), Vec::new());
        while let Some((id, before)) = open.pop() {
            if !met.insert((id, before)) {
                continue;
            }
            let step = &program.steps[id];
            let at = match &step.label {
                None => before,
                Some(label) if labels.get(before) == Some(label) => before + 1,
                Some(_) => continue,
            };
            let count = open.len();
            for child in walk::children_of(step) {
                open.push((child, at));
            }
            for flow in walk::callees_of(step) {
                open.push((program.flows[flow].body, at));
            }
            if open.len() == count && at == labels.len() && step.kind.step_info().has_activity {
                found.push(id);
            }
        }
        found
    }

    /// Whether a step makes requests of this sort; for a tool, calls of the same one. The arguments do not count.
    pub fn makes_request(&self, step: StepId, request: &Request) -> bool {
        match (&self.program.steps[step].kind, request) {
            (StepKind::Tool(call), Request::Tool(request)) => {
                let is_listed = self.steps[step].is_listed;
                ToolRequest::from_declaration(call).calls_same(request) || is_listed && call.kind == request.kind
            }
            (StepKind::Model(_), Request::Model(_))
            | (StepKind::Command(_), Request::Command(_))
            | (StepKind::Human(_), Request::Human(_))
            | (StepKind::Wait { .. }, Request::Timer { .. }) => true,
            _ => false,
        }
    }

    /// What a step does, as text: the same in two programs if it is the same.
    pub fn step_definition(&self, step: StepId) -> Option<String> {
        let program = &self.program;
        let (flow, _) = walk::reachable_steps(program, program.entry).into_iter().find(|(_, one)| *one == step)?;
        Some(printer::step_definition(program, flow, step))
    }

    /// Whether a run can still reach the step of an activity: one under the same names that makes such requests. Another step may
    /// have got its name.
    pub fn has_step_of(&self, activity: &Activity) -> bool {
        self.effect_steps(&activity.labels).into_iter().any(|step| self.makes_request(step, &activity.request))
    }

    /// The pattern of a step's validator; `None`: it is invalid.
    pub fn validator_pattern(&self, step: StepId, validator: usize) -> Option<&LinearPattern> {
        let lock = self.steps[step].patterns.get(validator)?;
        let StepKind::Attempts(attempts) = &self.program.steps[step].kind else { return None };
        let ValidatorKind::Regex { pattern, .. } = &attempts.validators.get(validator)?.kind else { return None };
        lock.get_or_init(|| LinearPattern::new(pattern).ok()).as_ref()
    }
}

fn facts(step: &Step) -> StepFacts {
    let StepKind::Attempts(attempts) = &step.kind else { return StepFacts::default() };
    StepFacts { patterns: attempts.validators.iter().map(|_| OnceLock::new()).collect(), ..StepFacts::default() }
}

/// Whether a source of this kind is read anywhere in a program.
fn reads(program: &Program, wanted: impl Fn(&Source) -> bool) -> bool {
    let mut found = false;
    let mut look = |source: &Source| found |= wanted(source);
    for step in &program.steps {
        for evaluated in walk::evaluated_by_step(step) {
            evaluated.visit_sources(&mut look);
        }
    }
    for flow in &program.flows {
        for evaluated in walk::evaluated_by_flow(flow) {
            evaluated.visit_sources(&mut look);
        }
    }
    found
}

/// Assigns key segments to the steps of one flow. Keys must identify activities independently of timing, so if two
/// steps would have the same key, the later one in the program gets a mark `~2`, `~3`, ...
#[derive(Default)]
struct KeySegments {
    effects: BTreeMap<String, u32>,
    structure: BTreeMap<String, u32>,
}

impl KeySegments {
    fn assign(mut self, program: &Program, body: StepId, entry: Option<&str>, steps: &mut IndexVec<StepId, StepFacts>) {
        // The path before each step, and whether it already contains the step's own label (states).
        let mut stack = vec![(body, String::new(), false)];
        while let Some((id, before, named)) = stack.pop() {
            let (step, facts) = (&program.steps[id], &mut steps[id]);
            let mut segment = match &step.label {
                Some(label) if !named => key::escape_label(label),
                _ => String::new(),
            };
            let effect = step.kind.step_info().has_activity;
            if let Some(entry) = entry
                && effect
                && segment.is_empty()
                && before.is_empty()
            {
                segment = key::escape_label(entry);
            }
            let taken = if effect { &mut self.effects } else { &mut self.structure };
            let mut path = join_path(&before, &segment);
            if effect || has_own_activities(step) {
                let count = taken.entry(path.clone()).or_insert(0);
                *count += 1;
                if *count > 1 {
                    let mark = format!("~{count}");
                    segment.push_str(&mark);
                    path.push_str(&mark);
                }
            }
            facts.segment = segment.as_str().into();
            if let StepKind::Attempts(attempts) = &step.kind {
                let mut names: BTreeMap<String, u32> = BTreeMap::new();
                if let Some(label) = &program.steps[attempts.body].label {
                    names.insert(key::escape_label(label), 1);
                }
                facts.judges = attempts.validators.iter().map(|v| judge_names(&v.kind, &mut names)).collect();
            }
            for (child, name) in step.named_children().into_iter().rev() {
                stack.push((child, path_inside(step, &path, name), name.is_some()));
            }
        }
    }
}

fn judge_names(kind: &ValidatorKind, taken: &mut BTreeMap<String, u32>) -> Vec<Arc<str>> {
    let ValidatorKind::Judges { judges, .. } = kind else { return Vec::new() };
    let mut names = Vec::with_capacity(judges.len());
    for judge in judges {
        let mut name = key::escape_label(&judge.name);
        let count = taken.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            name.push_str(&format!("~{count}"));
        }
        names.push(Arc::from(name));
    }
    names
}

/// Whether a structure may need its own timers or questions, or adds marks to its key for its children.
fn has_own_activities(step: &Step) -> bool {
    let plain = matches!(step.kind, StepKind::Sequence(_) | StepKind::Parallel(_));
    !plain
        || step.policy.timeout_ms.is_some()
        || step.policy.retry.is_some()
        || !walk::evaluated_by_step(step).is_empty()
}
