//! Factory nodes: an agent or swarm for each item of a list, or a number of agents.

use trefoil_ir::OnItemFailure;
use trefoil_syntax::yaml::{YamlEntry, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use super::scalar;
use super::swrm::{self, SirenSwarm};
use super::write::{self, NodeWrite};
use crate::{ManifestReader, MappingReader};

/// A factory.
#[derive(Debug, Clone)]
pub struct FactoryNode<'n> {
    /// The agent or swarm.
    pub worker: Option<FactoryWorker<'n>>,
    /// The items.
    pub over: Option<FactoryItems<'n>>,
    /// The inputs, rendered in order for each instance.
    pub inputs: Vec<&'n YamlEntry>,
    /// The maximum number of concurrent instances.
    pub concurrency: u32,
    /// The timeout of one instance in milliseconds.
    pub timeout_ms: u64,
    /// Where that is written.
    pub timeout_at: Option<Span>,
    /// What happens when an instance fails.
    pub on_failure: OnItemFailure,
    /// The path for the list of outputs.
    pub writes: Option<NodeWrite<'n>>,
}

/// The work of an instance.
#[derive(Debug, Clone)]
pub enum FactoryWorker<'n> {
    /// A declared agent.
    Agent(&'n YamlText),
    /// A swarm.
    Swrm(SirenSwarm<'n>),
}

/// The items of a factory.
#[derive(Debug, Clone)]
pub enum FactoryItems<'n> {
    /// `for_each`: a list, as a template or as JSON.
    List(&'n YamlText),
    /// `swarm_size`.
    Count(SwarmSize<'n>),
}

/// A number of instances.
#[derive(Debug, Clone)]
pub enum SwarmSize<'n> {
    /// A literal number.
    Fixed(i64),
    /// A template.
    Text(&'n YamlText),
}

/// The maximum of `swarm_size`.
pub const MAX_SWARM_SIZE: u32 = 100;

/// The keys of a factory node.
pub fn read_factory_node<'n>(fields: &mut MappingReader<'n, '_>) -> FactoryNode<'n> {
    let worker = worker(fields);
    let over = over(fields, worker.as_ref());
    FactoryNode {
        worker,
        over,
        inputs: read_node_inputs(fields),
        concurrency: scalar::read_count(fields, "concurrency", 1).unwrap_or(1),
        timeout_ms: scalar::read_call_timeout(fields, "timeout_per_instance").unwrap_or(60_000),
        timeout_at: fields.peek_entry("timeout_per_instance").map(|e| e.value.span),
        on_failure: swrm::on_failure(fields).unwrap_or(OnItemFailure::Abort),
        writes: write::require_write(fields),
    }
}

fn worker<'n>(fields: &mut MappingReader<'n, '_>) -> Option<FactoryWorker<'n>> {
    let reader = fields.reader;
    match (fields.take("agent"), fields.take("swrm")) {
        (Some(agent), None) => reader.read_text(&agent.value, "agent").map(FactoryWorker::Agent),
        (None, Some(swrm)) => {
            let mut inner = reader.read_mapping(&swrm.value, "swrm")?;
            let body = swrm::read_swarm_body(&mut inner);
            inner.no_effect(&["on_failure"], "the factory's own `on_failure` decides");
            inner.finish_mapping();
            Some(FactoryWorker::Swrm(body))
        }
        (None, None)
            if fields.entries().iter().any(|e| &*e.key.value == "agents" && e.value.as_sequence().is_some()) =>
        {
            let at = match fields.take("agents") {
                Some(entry) => entry.key.span,
                None => fields.head_span(),
            };
            let d = Diagnostic::new_error(
                "missing-key",
                reader.location_of(at),
                "the agents of a factory's swarm belong under `swrm`",
            );
            reader
                .report_finding(d.with_help("write `swrm:` above them, and indent `agents` and `synthesis` under it"));
            let is_of_factory = fields.take("concurrency").is_some();
            let mut body = swrm::read_swarm_body(fields);
            if is_of_factory {
                body.concurrency = None;
            }
            Some(FactoryWorker::Swrm(body))
        }
        both_or_neither => {
            one_of(fields, ("agent", "swrm"), both_or_neither);
            None
        }
    }
}

fn over<'n>(fields: &mut MappingReader<'n, '_>, worker: Option<&FactoryWorker<'_>>) -> Option<FactoryItems<'n>> {
    let reader = fields.reader;
    match (fields.take("for_each"), fields.take("swarm_size")) {
        (Some(list), None) => match list.value.as_string() {
            Some(text) => Some(FactoryItems::List(text)),
            None => {
                let mut d = Diagnostic::new_error(
                    "wrong-type",
                    reader.location_of(list.value.span),
                    format!("`for_each` must be text, not {}", list.value.kind_description()),
                );
                if list.value.as_sequence().is_some() {
                    d = d.with_help("write the list as JSON in quotes: `'[\"a\", \"b\"]'`");
                }
                reader.report_finding(d);
                None
            }
        },
        (None, Some(size)) => {
            if matches!(worker, Some(FactoryWorker::Swrm(_))) {
                reader.report_finding(
                    Diagnostic::new_error(
                        "wrong-type",
                        reader.location_of(size.key.span),
                        "`swarm_size` works only with `agent`, not with `swrm`",
                    )
                    .with_help("use `for_each`"),
                );
            }
            match size.value.as_string() {
                Some(text) if text.value.contains("{{") => Some(FactoryItems::Count(SwarmSize::Text(text))),
                _ => scalar::whole_node(reader, &size.value, "swarm_size", None, 1..=i64::from(MAX_SWARM_SIZE))
                    .map(|n| FactoryItems::Count(SwarmSize::Fixed(n))),
            }
        }
        both_or_neither => {
            one_of(fields, ("for_each", "swarm_size"), both_or_neither);
            None
        }
    }
}

fn one_of(
    fields: &mut MappingReader<'_, '_>,
    (a, b): (&'static str, &'static str),
    entries: (Option<&YamlEntry>, Option<&YamlEntry>),
) {
    let reader = fields.reader;
    reader.report_finding(match entries {
        (Some(first), Some(second)) => Diagnostic::new_error(
            "conflicting-keys",
            reader.location_of(second.key.span),
            format!("a factory cannot have both `{a}` and `{b}`"),
        )
        .with_label(reader.location_of(first.key.span), "the other one"),
        _ => {
            let at = reader.location_of(fields.missing_key_span(&[a, b]));
            // Nothing else needs to be reported about a key without a value.
            for key in [a, b] {
                fields.take_nullable(key);
            }
            Diagnostic::new_error("missing-key", at, format!("a factory needs `{a}` or `{b}`"))
        }
    });
}

/// `inputs` of a factory or workflow node: texts, or literal numbers or booleans.
pub fn read_node_inputs<'n>(fields: &mut MappingReader<'n, '_>) -> Vec<&'n YamlEntry> {
    let outer: Vec<&str> = fields.entries().iter().map(|e| &*e.key.value).collect();
    let Some(inputs) = fields.read_mapping("inputs") else { return Vec::new() };
    for entry in inputs.entries() {
        misplaced(inputs.reader, &outer, entry);
        if entry.value.as_scalar().is_none() || entry.value.is_null() {
            inputs.reader.wrong_type(&entry.value, &entry.key.value, "text");
        }
    }
    inputs.entries().iter().collect()
}

/// Reports a key of the node that is wrongly written in its inputs.
fn misplaced(reader: &ManifestReader<'_>, node: &[&str], entry: &YamlEntry) {
    let key = &*entry.key.value;
    let fits = match key {
        "concurrency" | "timeout_per_instance" => matches!(entry.value.as_scalar(), Some((YamlScalar::Int(_), _))),
        "on_failure" => {
            matches!(entry.value.as_string(), Some(text) if matches!(&*text.value, "abort" | "continue"))
        }
        _ => false,
    };
    if !fits || node.contains(&key) || !node.iter().any(|k| matches!(*k, "for_each" | "swarm_size")) {
        return;
    }
    let message = format!("`{key}` under `inputs` is an input of every instance, and the factory has no `{key}`");
    let d = Diagnostic::new_warning("no-effect", reader.location_of(entry.key.span), message);
    reader.report_finding(d.with_help(format!("align `{key}` with `inputs` to make it a key of the factory")));
}
