//! Making a program: arenas, and texts turned into bound templates and conditions.

use std::sync::Arc;

use trefoil_ir::{
    Cond, Expr, Flow, FlowId, Program, Schema, SchemaId, Source, Step, StepId, StepKind, StepPolicy, Text,
};
use trefoil_syntax::yaml;
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Binding, Broken, Condition, Policy, SyntaxError, Template, Value};

use crate::bound::{BoundText, Content, Look};
use crate::learn::{self, Resolve};
use crate::lookalike;
use crate::read::Reader;

/// The arenas of a program under construction.
#[derive(Default)]
pub struct Builder {
    flows: Vec<Option<Flow>>,
    steps: Vec<Step>,
    schemas: Vec<Schema>,
    missing_agents: Vec<(Arc<str>, Location)>,
}

impl Builder {
    /// Reserves a flow's id, so that calls can name it before it is built.
    pub fn reserve_flow(&mut self) -> FlowId {
        self.flows.push(None);
        FlowId(self.flows.len() as u32 - 1)
    }
    /// Fills a reserved flow.
    pub fn set_flow(&mut self, id: FlowId, flow: Flow) {
        if let Some(place) = self.flows.get_mut(id.index()) {
            *place = Some(flow);
        }
    }
    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) -> FlowId {
        let id = self.reserve_flow();
        self.set_flow(id, flow);
        id
    }
    /// Adds a step.
    pub fn step(&mut self, step: Step) -> StepId {
        self.steps.push(step);
        StepId(self.steps.len() as u32 - 1)
    }
    /// A step already added, to complete it.
    pub fn step_mut(&mut self, id: StepId) -> Option<&mut Step> {
        self.steps.get_mut(id.index())
    }
    /// Adds a schema.
    pub fn schema(&mut self, schema: Schema) -> SchemaId {
        self.schemas.push(schema);
        SchemaId(self.schemas.len() as u32 - 1)
    }
    /// Notes that an agent is called that nobody declares.
    pub fn missing_agent(&mut self, name: &Arc<str>, at: Location) {
        if !self.missing_agents.iter().any(|(n, _)| n == name) {
            self.missing_agents.push((name.clone(), at));
        }
    }
    /// Where such an agent is named first.
    pub fn missing_agent_location(&self, name: &str) -> Option<Location> {
        self.missing_agents.iter().find(|(n, _)| &**n == name).map(|(_, at)| *at)
    }
    /// The program, if every reserved flow was filled. `sources` are the texts it was made from (for its hash).
    pub fn finish<'t>(self, entry: FlowId, sources: impl IntoIterator<Item = &'t str>) -> Option<Program> {
        let flows = self.flows.into_iter().collect::<Option<Vec<_>>>()?;
        let name = flows.get(entry.index())?.name.clone();
        // FNV-1a: stable across versions and machines, and nothing here is adversarial.
        let hash = sources
            .into_iter()
            .flat_map(|s| s.bytes().chain([0]))
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Some(Program {
            name,
            flows,
            steps: self.steps,
            schemas: self.schemas,
            entry,
            hash,
            missing_agents: self.missing_agents,
        })
    }
}

/// A step with nothing but its kind.
pub fn plain(kind: StepKind, origin: Location) -> Step {
    Step { kind, label: None, origin, when: None, out: None, shape: None, policy: StepPolicy::default() }
}

/// Parses and binds a text position. Mistakes are reported at their place in the file; then `None`.
pub fn text(
    reader: &Reader<'_>,
    text: &yaml::Text,
    policy: &'static Policy,
    resolve: &mut dyn Resolve,
) -> Option<Text> {
    let template =
        Template::examine(&text.value, policy).map_err(|broken| report(reader, text, policy, false, broken, resolve));
    let template = template.ok()?;
    learn::text(reader, text, policy, false, template.references(), resolve);
    learn::locals(reader, text, &template, resolve);
    lookalike::report(reader, text, resolve);
    if policy.reads_literals() && !template.expressions().is_empty() {
        lookalike::literals(reader, text, template.expressions(), resolve);
    }
    for stray in template.strays() {
        report_stray(reader, text, stray.clone());
    }
    Some(bind_template(reader, text, template, resolve))
}

/// A bound text as text; plain text becomes a constant. One that says nothing keeps its place, for whoever reports it.
pub fn as_text(text: Text) -> Expr {
    match text.template.literal() {
        Some(literal) if !literal.trim().is_empty() => Expr::Const(Value::from(literal)),
        _ => Expr::Template(text),
    }
}

/// A bound text as a value: a lone placeholder keeps its type.
pub fn as_typed(text: Text) -> Expr {
    match text.template.literal() {
        Some(literal) => Expr::Const(Value::from(literal)),
        None => Expr::Typed(text),
    }
}

/// A part of a text position (a byte range of its decoded text) as a template of its own. Mistakes are not reported: the
/// whole text is parsed as well, and facts are noted there.
pub fn text_part(
    reader: &Reader<'_>,
    text: &yaml::Text,
    range: std::ops::Range<usize>,
    policy: &'static Policy,
    resolve: &mut dyn Resolve,
) -> Option<Text> {
    let offset = range.start as u32;
    let mut template = Template::parse(text.value.get(range.clone())?, policy).ok()?;
    let mut sources = Sources::default();
    let mut spans = Vec::new();
    template.bind(|r| {
        let at = reader.at(text.source(r.span.start + offset..r.span.end + offset));
        spans.push(at.span);
        sources.bind(resolve.bind(r, at))
    });
    let origin = reader.at(text.source(offset..range.end as u32));
    let own = template.locals().iter().map(|l| text.source(l.span.start + offset..l.span.end + offset)).collect();
    let literals = template.literals().map(|l| text.source(l.start + offset..l.end + offset)).collect();
    Some(Text { template, sources: sources.0, origin, spans, locals: own, literals })
}

/// Parses and binds a condition.
pub fn condition(
    reader: &Reader<'_>,
    text: &yaml::Text,
    policy: &'static Policy,
    resolve: &mut dyn Resolve,
) -> Option<Cond> {
    let condition =
        Condition::examine(&text.value, policy).map_err(|broken| report(reader, text, policy, true, broken, resolve));
    let mut condition = condition.ok()?;
    if policy.reads_literals() {
        lookalike::literals(reader, text, std::slice::from_ref(condition.expression()), resolve);
    }
    learn::text(reader, text, policy, true, condition.references(), resolve);
    let mut sources = Sources::default();
    let mut spans = Vec::new();
    condition.bind(|r| {
        let at = reader.at(text.source(r.span.clone()));
        spans.push(at.span);
        sources.bind(resolve.bind(r, at))
    });
    Some(Cond { condition, sources: sources.0, origin: reader.at(text.span), text: text.value.clone(), spans })
}

fn bind_template(reader: &Reader<'_>, text: &yaml::Text, mut template: Template, resolve: &mut dyn Resolve) -> Text {
    let mut sources = Sources::default();
    let mut spans = Vec::new();
    template.bind(|r| {
        let at = reader.at(text.source(r.span.clone()));
        spans.push(at.span);
        sources.bind(resolve.bind(r, at))
    });
    let locals = template.locals().iter().map(|l| text.source(l.span.clone())).collect();
    let literals = template.literals().map(|l| text.source(l)).collect();
    Text { template, sources: sources.0, origin: reader.at(text.span), spans, locals, literals }
}

/// What is wrong with a text whatever its dialect: mistakes of its language, and what looks like a part of it and is none.
pub fn check(reader: &Reader<'_>, bound: &BoundText) {
    let look = Look(bound);
    let text = &bound.source;
    match &bound.content {
        Content::Template(template) => {
            lookalike::report(reader, text, &look);
            if bound.policy.reads_literals() && !template.expressions().is_empty() {
                lookalike::literals(reader, text, template.expressions(), &look);
            }
            for stray in template.strays() {
                report_stray(reader, text, stray.clone());
            }
        }
        Content::Condition(condition) if bound.policy.reads_literals() => {
            lookalike::literals(reader, text, std::slice::from_ref(condition.expression()), &look);
        }
        Content::Condition(_) => {}
        Content::Broken { broken, condition } => {
            if !condition {
                lookalike::report(reader, text, &look);
            }
            broken.errors.iter().cloned().for_each(|error| mistake(reader, text, error));
        }
    }
}

/// A path of what only a block gives, and there is none.
fn report_stray(reader: &Reader<'_>, text: &yaml::Text, span: std::ops::Range<u32>) {
    let path = text.value.get(span.start as usize..span.end as usize).unwrap_or_default();
    let (message, help) = match path.chars().next() {
        _ if matches!(path, "this" | ".") => (
            format!("`{path}` is not in a block: it prints everything that there is, as JSON"),
            "write the path of what is meant; `{{json this}}` says that it is everything",
        ),
        Some('@') => (format!("`{path}` is always empty: it has a value only inside of `{{{{#each}}}}`"), ""),
        Some('.') => (format!("`{path}` is always empty: it leads out of more blocks than there are around it"), ""),
        _ => (
            format!("`{path}` is not in a block: `this` is an item only inside of `{{{{#each}}}}`"),
            "write the whole path",
        ),
    };
    let d = Diagnostic::warning("loop-variable", reader.at(text.source(span)), message);
    reader.report(if help.is_empty() { d } else { d.help(help) });
}

/// All that is wrong with a text: besides its own mistakes the names in the rest of it, which `resolve` reports.
fn report(
    reader: &Reader<'_>,
    text: &yaml::Text,
    policy: &'static Policy,
    condition: bool,
    broken: Broken,
    resolve: &mut dyn Resolve,
) {
    // The text of somebody who is still typing.
    learn::text(reader, text, policy, condition, &broken.references, resolve);
    if !condition {
        lookalike::report(reader, text, resolve);
    }
    for reference in &broken.references {
        resolve.bind(reference, reader.at(text.source(reference.span.clone())));
    }
    broken.errors.into_iter().for_each(|error| mistake(reader, text, error));
}

/// A mistake of a text's language.
fn mistake(reader: &Reader<'_>, text: &yaml::Text, error: SyntaxError) {
    let at = reader.at(text.source(error.span.clone()));
    let mut d = Diagnostic::error(error.code, at, error.message);
    if let Some(help) = error.help {
        d = d.help(help);
    }
    reader.report(match error.meant {
        Some(meant) if error.code == "template-unclosed" => {
            // Only where the text stands in the file as it is read: the rest of the line is written again.
            let straight = at.span.end - at.span.start == error.span.end - error.span.start;
            if straight { d.suggestion("close it with `}}`", at, meant) } else { d }
        }
        // Other quotes than those around the whole text.
        Some(meant) if meant.starts_with('\'') && text.style == yaml::Style::Single => {
            let meant = meant.replace('\'', "\"");
            d.fix(format!("write `{meant}`"), at, meant)
        }
        Some(meant) => {
            let wrong = text.value.get(error.span.start as usize..error.span.end as usize).unwrap_or_default();
            // A sign is what it is; a word may be another one.
            let near = suggest::near(wrong, [meant.trim()]);
            let sure = !wrong.contains(char::is_alphanumeric) || near.is_some_and(|near| near.sure);
            let message = format!("write `{}`", meant.trim());
            if sure { d.fix(message, at, meant) } else { d.suggestion(message, at, meant) }
        }
        None => d,
    });
}

/// The table of sources of one template, each once.
#[derive(Default)]
pub struct Sources(pub Vec<Source>);

impl Sources {
    /// The binding of a source.
    pub fn bind(&mut self, (source, skip): (Source, u16)) -> Binding {
        let at = self.0.iter().position(|s| *s == source).unwrap_or_else(|| {
            self.0.push(source);
            self.0.len() - 1
        });
        Binding { source: at as u32, skip }
    }
}
