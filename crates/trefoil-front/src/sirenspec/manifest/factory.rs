//! Factory nodes: an agent or swarm for each item of a list, or a number of agents.

use trefoil_ir::OnItemFailure;
use trefoil_syntax::yaml::{Entry, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span};

use super::scalar;
use super::swrm::{self, Swrm};
use super::write::{self, Write};
use crate::{Fields, Reader};

/// A factory.
#[derive(Debug, Clone)]
pub struct FactoryNode<'n> {
    /// The agent or swarm.
    pub worker: Option<Worker<'n>>,
    /// The items.
    pub over: Option<Over<'n>>,
    /// The inputs, rendered in order for each instance.
    pub inputs: Vec<&'n Entry>,
    /// The maximum number of concurrent instances.
    pub concurrency: u32,
    /// The timeout of one instance in milliseconds.
    pub timeout_ms: u64,
    /// Where that is written.
    pub timeout_at: Option<Span>,
    /// What happens when an instance fails.
    pub on_failure: OnItemFailure,
    /// The path for the list of outputs.
    pub writes: Option<Write<'n>>,
}

/// The work of an instance.
#[derive(Debug, Clone)]
pub enum Worker<'n> {
    /// A declared agent.
    Agent(&'n Text),
    /// A swarm.
    Swrm(Swrm<'n>),
}

/// The items of a factory.
#[derive(Debug, Clone)]
pub enum Over<'n> {
    /// `for_each`: a list, as a template or as JSON.
    List(&'n Text),
    /// `swarm_size`.
    Count(Size<'n>),
}

/// A number of instances.
#[derive(Debug, Clone)]
pub enum Size<'n> {
    /// A literal number.
    Fixed(i64),
    /// A template.
    Text(&'n Text),
}

/// The maximum of `swarm_size`.
pub const MAX_SWARM_SIZE: u32 = 100;

/// The keys of a factory node.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> FactoryNode<'n> {
    let worker = worker(fields);
    let over = over(fields, worker.as_ref());
    FactoryNode {
        worker,
        over,
        inputs: inputs(fields),
        concurrency: scalar::count(fields, "concurrency", 1).unwrap_or(1),
        timeout_ms: scalar::patience(fields, "timeout_per_instance").unwrap_or(60_000),
        timeout_at: fields.entry("timeout_per_instance").map(|e| e.value.span),
        on_failure: swrm::on_failure(fields).unwrap_or(OnItemFailure::Abort),
        writes: write::require(fields),
    }
}

fn worker<'n>(fields: &mut Fields<'n, '_>) -> Option<Worker<'n>> {
    let reader = fields.reader;
    match (fields.take("agent"), fields.take("swrm")) {
        (Some(agent), None) => reader.text(&agent.value, "agent").map(Worker::Agent),
        (None, Some(swrm)) => {
            let mut inner = reader.fields(&swrm.value, "swrm")?;
            let body = swrm::body(&mut inner);
            inner.no_effect(&["on_failure"], "the factory's own `on_failure` decides");
            inner.finish();
            Some(Worker::Swrm(body))
        }
        (None, None) if fields.entries().iter().any(|e| &*e.key.value == "agents" && e.value.sequence().is_some()) => {
            let at = fields.take("agents").map_or(fields.head(), |e| e.key.span);
            let d =
                Diagnostic::error("missing-key", reader.at(at), "the agents of a factory's swarm belong under `swrm`");
            reader.report(d.help("write `swrm:` above them, and indent `agents` and `synthesis` under it"));
            let concurrency = fields.take("concurrency").is_some();
            let body = swrm::body(fields);
            Some(Worker::Swrm(Swrm { concurrency: body.concurrency.filter(|_| !concurrency), ..body }))
        }
        (agent, swrm) => {
            one_of(fields, "agent", "swrm", agent.zip(swrm));
            None
        }
    }
}

fn over<'n>(fields: &mut Fields<'n, '_>, worker: Option<&Worker<'_>>) -> Option<Over<'n>> {
    let reader = fields.reader;
    match (fields.take("for_each"), fields.take("swarm_size")) {
        (Some(list), None) => match list.value.string() {
            Some(text) => Some(Over::List(text)),
            None => {
                let mut d = Diagnostic::error(
                    "wrong-type",
                    reader.at(list.value.span),
                    format!("`for_each` must be text, not {}", list.value.describe()),
                );
                if list.value.sequence().is_some() {
                    d = d.help("write the list as JSON in quotes: `'[\"a\", \"b\"]'`");
                }
                reader.report(d);
                None
            }
        },
        (None, Some(size)) => {
            if matches!(worker, Some(Worker::Swrm(_))) {
                reader.report(
                    Diagnostic::error(
                        "wrong-type",
                        reader.at(size.key.span),
                        "`swarm_size` works only with `agent`, not with `swrm`",
                    )
                    .help("use `for_each`"),
                );
            }
            match size.value.string() {
                Some(text) if text.value.contains("{{") => Some(Over::Count(Size::Text(text))),
                _ => scalar::whole_node(reader, &size.value, "swarm_size", None, 1..=i64::from(MAX_SWARM_SIZE))
                    .map(|n| Over::Count(Size::Fixed(n))),
            }
        }
        (list, size) => {
            one_of(fields, "for_each", "swarm_size", list.zip(size));
            None
        }
    }
}

fn one_of(fields: &mut Fields<'_, '_>, a: &'static str, b: &'static str, both: Option<(&Entry, &Entry)>) {
    let reader = fields.reader;
    reader.report(match both {
        Some((first, second)) => Diagnostic::error(
            "conflicting-keys",
            reader.at(second.key.span),
            format!("a factory cannot have both `{a}` and `{b}`"),
        )
        .label(reader.at(first.key.span), "the other one"),
        None => {
            let at = reader.at(fields.lack(&[a, b]));
            // Nothing else needs to be reported about a key without a value.
            for key in [a, b] {
                fields.take_nullable(key);
            }
            Diagnostic::error("missing-key", at, format!("a factory needs `{a}` or `{b}`"))
        }
    });
}

/// `inputs` of a factory or workflow node: texts, or literal numbers or booleans.
pub fn inputs<'n>(fields: &mut Fields<'n, '_>) -> Vec<&'n Entry> {
    let outer: Vec<&str> = fields.entries().iter().map(|e| &*e.key.value).collect();
    let Some(inputs) = fields.fields("inputs") else { return Vec::new() };
    for entry in inputs.entries() {
        misplaced(inputs.reader, &outer, entry);
        if entry.value.scalar().is_none() || entry.value.is_null() {
            inputs.reader.wrong_type(&entry.value, &entry.key.value, "text");
        }
    }
    inputs.entries().iter().collect()
}

/// Reports a key of the node that is wrongly written in its inputs.
fn misplaced(reader: &Reader<'_>, node: &[&str], entry: &Entry) {
    let key = &*entry.key.value;
    let fits = match key {
        "concurrency" | "timeout_per_instance" => matches!(entry.value.scalar(), Some((Scalar::Int(_), _))),
        "on_failure" => entry.value.string().is_some_and(|t| matches!(&*t.value, "abort" | "continue")),
        _ => false,
    };
    if !fits || node.contains(&key) || !node.iter().any(|k| matches!(*k, "for_each" | "swarm_size")) {
        return;
    }
    let message = format!("`{key}` under `inputs` is an input of every instance, and the factory has no `{key}`");
    let d = Diagnostic::warning("no-effect", reader.at(entry.key.span), message);
    reader.report(d.help(format!("align `{key}` with `inputs` to make it a key of the factory")));
}
