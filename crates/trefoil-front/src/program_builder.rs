//! Builds a program: its arenas, and the sources of a template.

use std::sync::Arc;

use trefoil_ir::{
    BoundTemplate, ClientTool, FlowDefinition, FlowId, IndexVec, Intake, ProgramParts, ProgramSchema, SchemaId, Slot,
    SlotId, Source, Step, StepId, StepKind, StepPolicy, UnsupportedFeature, ValueExpression,
};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{Policy, ReferenceBinding, Template, Value};

/// The arenas of a program under construction.
#[derive(Default)]
pub struct ProgramBuilder {
    flows: IndexVec<FlowId, Option<FlowDefinition>>,
    steps: IndexVec<StepId, Step>,
    schemas: IndexVec<SchemaId, ProgramSchema>,
    missing_agents: Vec<(Arc<str>, Location)>,
    client_tools: Vec<ClientTool>,
}

/// The slots of a flow under construction.
#[derive(Debug, Clone, Default)]
pub struct FlowSlots(pub IndexVec<SlotId, Slot>);

impl FlowSlots {
    /// One more.
    pub fn add_slot(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.0.push(Slot::new(name))
    }
}

impl ProgramBuilder {
    /// Reserves memory for more steps, which are large and costly to copy.
    pub fn reserve_steps(&mut self, steps: usize) {
        self.steps.reserve(steps);
    }
    /// Reserves the ids of several flows.
    pub fn reserve_flows(&mut self, count: usize) {
        for _ in 0..count {
            self.reserve_flow();
        }
    }
    /// Reserves a flow's id, so that calls can name it before it is built.
    pub fn reserve_flow(&mut self) -> FlowId {
        self.flows.push(None)
    }
    /// Fills a reserved flow.
    pub fn set_flow(&mut self, id: FlowId, flow: FlowDefinition) {
        if let Some(place) = self.flows.find_element_mut(id) {
            *place = Some(flow);
        }
    }
    /// Adds a flow.
    pub fn add_flow(&mut self, flow: FlowDefinition) -> FlowId {
        let id = self.reserve_flow();
        self.set_flow(id, flow);
        id
    }
    /// Adds a step.
    pub fn add_step(&mut self, step: Step) -> StepId {
        self.steps.push(step)
    }
    /// An added step, so that it can be completed.
    pub fn step_mut(&mut self, id: StepId) -> Option<&mut Step> {
        self.steps.find_element_mut(id)
    }
    /// Adds a schema.
    pub fn add_schema(&mut self, schema: ProgramSchema) -> SchemaId {
        self.schemas.push(schema)
    }
    /// Records a call of an agent that is not defined.
    pub fn missing_agent(&mut self, name: &Arc<str>, at: Location) {
        if self.missing_agent_location(name).is_none() {
            self.missing_agents.push((name.clone(), at));
        }
    }
    /// The first call of such an agent.
    pub fn missing_agent_location(&self, name: &str) -> Option<Location> {
        let (_, at) = self.missing_agents.iter().find(|(missing, _)| &**missing == name)?;
        Some(*at)
    }
    /// Records a tool that only the client of a run has.
    pub fn add_client_tool(&mut self, tool: ClientTool) {
        if self.client_tools.iter().all(|known| known.name != tool.name) {
            self.client_tools.push(tool);
        }
    }
    /// The parts of the program. A flow that was not filled because of a reported mistake is refused. `sources` are the
    /// texts it was made from, for its hash.
    pub fn finish_program<'t>(
        mut self,
        entry: FlowId,
        sources: impl IntoIterator<Item = &'t str>,
    ) -> Option<ProgramParts> {
        let nowhere = Location::new(FileId(0), Span::new(0, 0));
        let flows = std::mem::take(&mut self.flows).into_iter();
        let flows: IndexVec<FlowId, FlowDefinition> =
            flows.map(|flow| flow.unwrap_or_else(|| self.stand_in("agent", nowhere))).collect();
        let name = flows.find_element(entry)?.name.clone();
        // FNV-1a: stable across versions and computers; resistance to attacks is not needed here.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for source in sources {
            for byte in source.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Some(ProgramParts {
            name,
            flows,
            steps: self.steps,
            schemas: self.schemas,
            entry,
            hash,
            missing_agents: self.missing_agents,
            client_tools: self.client_tools,
        })
    }
    /// A stand-in for a flow that could not be built because of mistakes.
    pub fn stand_in(&mut self, sort: &'static str, origin: Location) -> FlowDefinition {
        let refused = UnsupportedFeature {
            feature: "a manifest with errors".into(),
            message: "fix the manifest first".into(),
            ..UnsupportedFeature::default()
        };
        let slot = SlotId(0);
        FlowDefinition {
            name: "?".into(),
            sort,
            origin,
            slots: vec![Slot::new("input")].into(),
            intake: Intake::for_any_input(slot),
            init: Vec::new(),
            body: self.add_step(plain_step(StepKind::Refused(refused), origin)),
            output: None,
            exports: Vec::new(),
            budget: None,
        }
    }
}

/// Replaces the flows of files by refused ones, so that a run that reaches them does not start.
pub fn refuse_files(program: &mut ProgramParts, files: &HashSet<FileId>) {
    let mut builder = ProgramBuilder { steps: std::mem::take(&mut program.steps), ..ProgramBuilder::default() };
    for flow in program.flows.iter_mut() {
        if files.contains(&flow.origin.file) {
            *flow = builder.stand_in(flow.sort, flow.origin);
        }
    }
    program.steps = builder.steps;
}

/// A step with only a kind.
pub fn plain_step(kind: StepKind, origin: Location) -> Step {
    Step { kind, label: None, origin, when: None, out: None, shape: None, policy: StepPolicy::default() }
}

/// `{{name}}`: a member of the step's result, or of the arguments that a model passes to a tool.
pub fn result_member(name: &str, policy: &Policy, origin: Location) -> Option<BoundTemplate> {
    let mut template = Template::parse(&format!("{{{{{name}}}}}"), policy).ok()?;
    template.bind_references(|_| ReferenceBinding { source: 0, skip: 0 });
    let spans = template.references().iter().map(|_| origin.span).collect();
    let sources = vec![Source::Result];
    Some(BoundTemplate {
        template,
        sources,
        origin,
        spans,
        locals: Vec::new(),
        literals: Vec::new(),
        written: Vec::new(),
    })
}

/// A bound text in a text position; literal text becomes a constant. An empty text keeps its place, so that it can be
/// reported.
pub fn as_text(text: BoundTemplate) -> ValueExpression {
    match text.template.literal_text() {
        Some(literal) if !literal.trim().is_empty() => ValueExpression::Const(Value::from(literal)),
        _ => ValueExpression::Template(text),
    }
}

/// A bound text in a typed position: a lone placeholder keeps its type.
pub fn as_typed(text: BoundTemplate) -> ValueExpression {
    match text.template.literal_text() {
        Some(literal) => ValueExpression::Const(Value::from(literal)),
        None => ValueExpression::Typed(text),
    }
}

/// The sources of one template, without duplicates.
#[derive(Clone, Default)]
pub struct TemplateSources(pub Vec<Source>);

impl TemplateSources {
    /// The binding of a source.
    pub fn bind_source(&mut self, (source, skip): (Source, u16)) -> ReferenceBinding {
        let known = self.0.iter().position(|known| *known == source);
        let index = match known {
            Some(index) => index,
            None => {
                self.0.push(source);
                self.0.len() - 1
            }
        };
        ReferenceBinding { source: index as u32, skip }
    }
}
