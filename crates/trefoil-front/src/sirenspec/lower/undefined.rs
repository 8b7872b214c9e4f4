//! What is said about names that have no value, may have none, or have it too late (decisions C9, S6).

use trefoil_ir::Source;
use trefoil_syntax::{Diagnostic, Location, Severity, suggest};
use trefoil_template::{Missing, Reference, Segment, Value};

use super::names::{Look, NodeName};
use super::scope::{Bound, Reading, Scope};
use super::shape::Shape;
use super::texts;
use crate::mend;
use crate::sirenspec::manifest::{Node, NodeKind, Root};

/// What to do where a path goes on behind a value in which there is nothing.
struct Instead {
    help: String,
    /// The path that was meant.
    path: Option<String>,
    /// The value is a list, not text.
    list: bool,
}

impl Scope<'_, '_, '_> {
    /// Some ways lead here on which nobody has left the value (decision C9).
    pub(super) fn perhaps(
        &self,
        look: &Look,
        node: Option<(usize, usize)>,
        path: &[Segment],
        reference: &Reference,
        at: Location,
    ) {
        if look.seeded || reference.default.is_some() || matches!(self.who, Reading::EdgeFrom(_)) {
            return;
        }
        let names = self.flow.names;
        let writers = look.writes.iter().filter(|w| names.provides(**w, path)).filter_map(|w| names.writes.get(*w));
        let mut producers: Vec<usize> = writers.map(|w| w.node).chain(node.map(|(n, _)| n)).collect();
        producers.sort_unstable();
        producers.dedup();
        if !self.surely(&producers) {
            // Looked at last: it goes over all edges.
            if self.asked_before(reference, &producers) {
                return;
            }
            let why = match producers.as_slice() {
                [one] if self.flow.links.runs(*one) => format!("`{}` may have failed", self.id(*one)),
                [one] => format!("`{}` may not have run", self.id(*one)),
                all => {
                    let ids: Vec<String> = all.iter().map(|p| format!("`{}`", self.id(*p))).collect();
                    format!("perhaps none of {} has run", ids.join(", "))
                }
            };
            return self.maybe(reference, at, why);
        }
        if let Some((node, taken)) = node
            && let Some(NodeKind::Tool(tool)) = self.flow.manifest.nodes.get(node).map(|n| &n.kind)
            && tool.skip
            && look.writes.is_empty()
            && path.len() > taken + tool.output_key.len()
            && !self.asked_before(reference, &producers)
        {
            return self.maybe(reference, at, format!("`{}` may have failed, and leaves null then", self.id(node)));
        }
        if let Some((node, taken)) = node
            && let Some([agents, agent, ..]) = path.get(taken..)
            && &*agents.name == "agents"
            && self.continues(node)
        {
            self.maybe(reference, at, format!("agent `{}` may have failed", agent.name));
        }
    }

    /// Whether every edge that leads here asks for the value, or for another one that the same node leaves: where that is
    /// missing none of them is taken (decision S8).
    fn asked_before(&self, reference: &Reference, producers: &[usize]) -> bool {
        let Reading::Node(own) = self.who else { return false };
        let own = self.id(own);
        let dotted = reference.dotted();
        let results: Vec<String> = producers.iter().map(|p| format!("{}.output", self.id(*p))).collect();
        let asks = |when: &str| when.contains(&dotted) || results.iter().any(|result| when.contains(&**result));
        let mut into = self.flow.manifest.edges.iter().filter(|e| &*e.to.value == own).peekable();
        into.peek().is_some() && into.all(|e| e.when.is_some_and(|when| asks(&when.value)))
    }

    /// A value of `state` without content, which nobody writes before it is read: templates put a word in (decision S3).
    pub(super) fn seeded_null(&self, look: &Look, reference: &Reference, at: Location) {
        let Reading::Node(node) = self.who else { return };
        let kind = self.flow.manifest.nodes.get(node).map(|n| &n.kind);
        // In what a tool or another workflow gets null may be what is meant.
        let prompt = !matches!(kind, Some(NodeKind::Tool(_) | NodeKind::Call(_)));
        if !look.writes.is_empty() || !prompt || reference.default.is_some() {
            return;
        }
        let message =
            format!("`{}` is null: `state` gives it no value, and no node before writes it", reference.dotted());
        let d = Diagnostic::warning("maybe-undefined", at, message);
        self.flow.reader.report(d.help("a template puts the word `null` in; write `\"\"` for an empty text"));
    }

    fn continues(&self, node: usize) -> bool {
        let node = self.flow.manifest.nodes.get(node);
        node.is_some_and(|n| match &n.kind {
            NodeKind::Swrm(swrm) => swrm.on_failure == trefoil_ir::OnItemFailure::Continue,
            _ => false,
        })
    }

    pub(super) fn perhaps_failed(&self, reference: &Reference, at: Location, agent: &str) {
        if self.partial && reference.default.is_none() {
            self.maybe(reference, at, format!("agent `{agent}` may have failed"));
        }
    }

    fn maybe(&self, reference: &Reference, at: Location, why: String) {
        let message = format!("`{}` may not be there: {why}", reference.dotted());
        let help = format!("write `{{{{ {} | default('...') }}}}`", reference.dotted());
        self.flow.reader.report(Diagnostic::warning("maybe-undefined", at, message).help(help));
    }

    /// A variable of the environment that is a credential by its name, where a model reads it or a person.
    pub(super) fn credential(&self, reference: &Reference, at: Location) {
        let [root, name] = reference.path.as_slice() else { return };
        if &*root.name != "env" || !trefoil_ir::credential::is_credential(&name.name) {
            return;
        }
        let message = format!("`{}` is a credential by its name, and would be put into a prompt", reference.dotted());
        let d = Diagnostic::warning("secret-in-prompt", at, message);
        self.flow.reader.report(d.help("credentials belong in the `headers` of a tool"));
    }

    pub(super) fn too_early(&self, reference: &Reference, at: Location, source: usize, writes: bool) -> Bound {
        let source = self.id(source);
        let (who, help) = match self.who {
            Reading::EdgeFrom(from) => (
                format!("the condition on an edge from `{}`", self.id(from)),
                format!("`{source}` has to end before `{}`: add an edge", self.id(from)),
            ),
            Reading::Node(me) if self.flow.links.chain => (
                format!("`{}`", self.id(me)),
                format!("without edges nodes run in the order of the file: declare `{source}` first"),
            ),
            Reading::Node(me) => {
                (format!("`{}`", self.id(me)), format!("the edges lead from `{}` to `{source}`, not back", self.id(me)))
            }
            Reading::Nobody => (String::new(), String::new()),
        };
        let path = reference.dotted();
        let message = if writes {
            format!("{who} reads `{path}`, but `{source}`, which writes it, does not end before it")
        } else {
            format!("{who} reads `{path}`, but `{source}` does not end before it")
        };
        self.flow.reader.report(Diagnostic::error("unordered-read", at, message).help(help));
        (Source::Missing(Missing::Key(reference.path.len().saturating_sub(1) as u16)), 0)
    }

    /// What a node leaves is not there while it runs.
    pub(super) fn own_output(&self, reference: &Reference, at: Location, node: usize) -> Bound {
        self.flow.reader.report(
            Diagnostic::error(
                "unordered-read",
                at,
                format!("`{}` reads its own output: `{}`", self.id(node), reference.dotted()),
            )
            .help("a node can read only what ended before it"),
        );
        (Source::Missing(Missing::Key(reference.path.len().saturating_sub(1) as u16)), 0)
    }

    pub(super) fn working_dot_node_id(&self, reference: &Reference, at: Location, node: &NodeName<'_>, taken: usize) {
        let rest = reference.path.get(1 + taken..).unwrap_or(&[]);
        // The list is what a fan-out goes over; the text would not be one.
        let list = self.decides == Some("for_each") && rest.is_empty() && node.shape.at("outputs").is_some();
        let (fixed, sure) = match list {
            true => (format!("{}.outputs", node.id.value), true),
            false => through_node(node, rest),
        };
        let (path, id) = (reference.dotted(), &node.id.value);
        let message = format!("working_dot_node_id: `{path}` reads node `{id}` through `working`");
        let d = Diagnostic::error("working-dot-node-id", at, message)
            .help(format!("use `{{{{ {fixed} }}}}`; in templates `working.*` is for paths you write or seed yourself"));
        let whole = mend::segments(reference, at, 0, reference.path.len().saturating_sub(1));
        self.flow.reader.report(mend::rewritten(d, whole, &fixed, sure));
    }

    pub(super) fn no_field(&self, reference: &Reference, at: Location, root: &'static str) -> Bound {
        let example = if root == "env" { "env.NAME" } else { "inputs.message" };
        let message = format!("`{root}` needs a field name after it");
        let help = format!("for example `{{{{ {example} }}}}`");
        let d = self.undefined_name("unresolved-name", reference, at, message, Some(help));
        let whole = mend::segments(reference, at, 0, 0).filter(|_| root == "inputs");
        self.flow.reader.report(mend::rewritten(d, whole, example, false));
        (Source::Missing(Missing::NoField(root.into())), 0)
    }

    pub(super) fn unknown_path(
        &self,
        root: Root,
        base: usize,
        look: &Look,
        reference: &Reference,
        at: Location,
    ) -> Bound {
        let names = self.flow.names;
        let path = reference.path.get(base..).unwrap_or(&[]);
        // As far as something goes on.
        let known = (1..=path.len()).rev().find(|n| self.leads(root, path.get(..*n).unwrap_or(&[]))).unwrap_or(0);
        let mut candidates = names.candidates(root, path.get(..known).unwrap_or(&[]));
        if base == 1 && known == 0 && !matches!(self.who, Reading::EdgeFrom(_)) {
            // In templates `working.<node id>` is no way to go.
            candidates.retain(|name| names.node_of(name).is_none());
        }
        if base == 0 && known == 0 {
            candidates.extend(["inputs", "env", "item", "index", "total"]);
            let rest = path.get(1..).unwrap_or(&[]);
            let roots = [("working", Root::Working), ("output", Root::Output)];
            candidates.extend(roots.iter().filter(|(_, root)| self.leads(*root, rest)).map(|(word, _)| word));
        }
        if let Some(meant) = self.elsewhere(root, base, reference) {
            return self.said(base + known, reference, at, &meant);
        }
        if reference.path.first().map_or("", |s| &*s.name) == "memory" && look.named.is_none() {
            let message = format!("`{}` is not defined: nothing is kept between runs", reference.dotted());
            let help = "pass it in as a field of `input`".to_owned();
            self.flow.reader.report(self.undefined_name("unresolved-name", reference, at, message, Some(help)));
            return (Source::Missing(Missing::Key(0)), 0);
        }
        let instead = self.instead(root, base, known, reference, &candidates);
        self.undefined_in(reference, at, base + known, candidates, instead)
    }

    /// What to do instead of going on behind a value in which there is nothing of that name.
    fn instead(
        &self,
        root: Root,
        base: usize,
        known: usize,
        reference: &Reference,
        candidates: &[&str],
    ) -> Option<Instead> {
        let names = self.flow.names;
        let path = reference.path.get(base..)?;
        let (before, after) =
            path.split_at_checked(known).filter(|(before, _)| !before.is_empty() && candidates.is_empty())?;
        let written: Vec<&str> = reference.path.iter().take(base + known).map(|s| &*s.name).collect();
        let written = written.join(".");
        if let Some(Value::List(items)) = names.seeded(root, before) {
            let help = match items.len().checked_sub(1) {
                Some(last) => format!("it is a list: the first index is 0, the last one {last}"),
                None => "it is an empty list".to_owned(),
            };
            return Some(Instead { help, path: None, list: true });
        }
        let look = names.look(root, before);
        let writer = look.writes.iter().filter_map(|w| names.writes.get(*w)).find(|w| w.path.len() == known);
        let owner = look.named.map(|(node, _)| node).filter(|_| look.in_node).or_else(|| writer.map(|w| w.node))?;
        let id = self.id(owner);
        if let (Some(_), None, [output], 0) = (writer, look.named, after, base)
            && *output.name == **names.nodes.get(owner)?.output.first()?
        {
            let path = format!("{id}.{}", output.name);
            let help =
                format!("`{written}` is what node `{id}` writes: use `{{{{ {written} }}}}` or `{{{{ {path} }}}}`");
            return Some(Instead { help, path: Some(path), list: false });
        }
        let checked = match &self.flow.manifest.nodes.get(owner)?.kind {
            NodeKind::Agent(node) => {
                let agent = node.agent.and_then(|id| self.flow.manifest.agent(&id.value))?;
                agent.guardrails.as_ref().is_some_and(|g| g.has_schema())
            }
            NodeKind::Human(_) => false,
            _ => return None,
        };
        let though = if checked { ", though a `schema` guardrail checks that it reads as an object" } else { "" };
        let help = match (&self.who, after) {
            (Reading::EdgeFrom(_), [length]) if matches!(&*length.name, "length" | "len" | "size") => {
                format!("write `len({written})`")
            }
            (Reading::EdgeFrom(_), _) => format!("it is text{though}: compare all of it"),
            _ => format!("it is text{though}: `{{{{ {written} }}}}` puts in all of it"),
        };
        Some(Instead { help, path: None, list: false })
    }

    /// Whether something is at a path, in some run.
    pub(super) fn leads(&self, root: Root, path: &[Segment]) -> bool {
        let names = self.flow.names;
        let look = names.look(root, path);
        !path.is_empty() && (look.in_node || look.seeded || look.writes.iter().any(|w| names.provides(*w, path)))
    }

    /// The path that was meant, where all of it is right but the place: an input without `inputs`, a node behind `nodes`,
    /// an agent of a swarm without its node, a path of the other tree.
    fn elsewhere(&self, root: Root, base: usize, reference: &Reference) -> Option<String> {
        let words: Vec<&str> = reference.path.iter().map(|s| &*s.name).collect();
        let path = reference.path.get(base..)?;
        if base == 1 {
            let (other, word) = match root {
                Root::Working => (Root::Output, "output"),
                Root::Output => (Root::Working, "working"),
            };
            let all = words.get(1..).unwrap_or_default();
            if self.leads(other, path) && (other == Root::Output || self.flow.names.node_at(path).is_none()) {
                return Some(format!("{word}.{}", all.join(".")));
            }
            // What a node leaves is read by its id, not by the tree of what is written.
            let conditional = matches!(self.who, Reading::EdgeFrom(_));
            return (root == Root::Output && !conditional).then(|| self.of_node(all)).flatten();
        }
        let (first, rest) = words.split_first()?;
        if let Some(meant) = self.foreign(first, rest) {
            return Some(meant);
        }
        if self.flow.inputs.shape(first).is_some() {
            return Some(format!("inputs.{}", words.join(".")));
        }
        if rest.is_empty() && matches!(*first, "input" | "prompt" | "query" | "question") {
            return Some("inputs.message".to_owned());
        }
        // The agents of the swarm whose synthesis reads.
        if let Reading::Node(me) = self.who
            && let Some(agent) =
                words.iter().position(|w| self.own.iter().any(|(id, _)| **id == **w)).filter(|a| *a < 2)
        {
            let after = words.get(agent + 1..).filter(|a| !a.is_empty()).map_or("output".to_owned(), |a| a.join("."));
            return Some(format!("{}.agents.{}.{after}", self.id(me), words.get(agent)?));
        }
        // An agent of another node's swarm, without `agents` or behind another word.
        if let (Some(node), Some(agent)) = (
            self.flow.names.node_of(first),
            rest.iter().take(2).position(|word| {
                let node = self.flow.names.node_of(first).and_then(|at| self.flow.names.nodes.get(at));
                node.is_some_and(|n| n.members.iter().any(|(id, _)| **id == **word))
            }),
        ) && rest.first() != Some(&"agents")
        {
            let after = rest.get(agent + 1..).filter(|a| !a.is_empty()).map_or("output".to_owned(), |a| a.join("."));
            return Some(format!("{}.agents.{}.{after}", self.id(node), rest.get(agent)?));
        }
        if matches!(*first, "nodes" | "steps" | "outputs" | "context" | "results" | "state" | "agents") {
            return match rest {
                [node] if self.flow.names.node_of(node).is_some() => Some(format!("{node}.output")),
                [node, ..] if self.flow.names.node_of(node).is_some() && self.leads(Root::Working, path.get(1..)?) => {
                    Some(rest.join("."))
                }
                _ => None,
            };
        }
        None
    }

    /// What other systems call what is there: `secrets.TOKEN`, `state.article`, the agent of a node.
    fn foreign(&self, first: &str, rest: &[&str]) -> Option<String> {
        let names = self.flow.names;
        let variable = |name: &str| {
            name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') && !name.is_empty()
        };
        match (first, rest) {
            ("secrets", [name]) => return Some(format!("env.{name}")),
            ("state", rest) => {
                let (root, word, path) = match rest {
                    ["output", path @ ..] => (Root::Output, "output", path),
                    ["working", path @ ..] => (Root::Working, "working", path),
                    path => (Root::Working, "working", path),
                };
                let segments: Vec<_> = path.iter().map(|n| Segment { name: (*n).into(), span: 0..0 }).collect();
                if self.leads(root, &segments) && names.node_at(&segments).is_none() {
                    return Some(format!("{word}.{}", path.join(".")));
                }
            }
            (name, []) if name.contains('_') && variable(name) => return Some(format!("env.{name}")),
            (name, []) => {
                if let Some(name) = name.strip_prefix("env:").filter(|name| variable(name)) {
                    return Some(format!("env.{name}"));
                }
            }
            (_, ["output", index, ..]) if index.bytes().all(|b| b.is_ascii_digit()) => {
                let node = names.node_of(first).and_then(|at| self.flow.manifest.nodes.get(at));
                if matches!(node.map(|n| &n.kind), Some(NodeKind::Factory(_))) {
                    return Some(format!("{first}.outputs.{}", rest.get(1..)?.join(".")));
                }
            }
            _ => {}
        }
        // An agent's id in the place of its node's.
        self.flow.manifest.agent(first).filter(|_| names.node_of(first).is_none())?;
        let mut users = self.flow.manifest.nodes.iter().filter(
            |n| matches!(&n.kind, NodeKind::Agent(node) if node.agent.is_some_and(|agent| *agent.value == *first)),
        );
        let user = users.next().filter(|_| users.next().is_none())?;
        let all: Vec<&str> = std::iter::once(&*user.id.value).chain(rest.iter().copied()).collect();
        self.of_node(&all)
    }

    /// The path to what a node left, of an id and perhaps what is behind it.
    fn of_node(&self, words: &[&str]) -> Option<String> {
        let (id, rest) = words.split_first()?;
        let node = self.flow.names.nodes.get(self.flow.names.node_of(id)?)?;
        if rest.is_empty() {
            return Some(format!("{id}.{}", node.output.join(".")));
        }
        let rest: Vec<_> = rest.iter().map(|n| Segment { name: (*n).into(), span: 0..0 }).collect();
        node.shape.missing(&rest).is_none().then(|| words.join("."))
    }

    /// A name that nobody defines where it is looked for, and where it is.
    fn said(&self, segment: usize, reference: &Reference, at: Location, meant: &str) -> Bound {
        let name = reference.path.get(segment).map_or("", |s| &*s.name);
        let before: Vec<&str> = reference.path.iter().take(segment).map(|s| &*s.name).collect();
        let (rule, why) = match before.as_slice() {
            [] => ("unresolved-name", format!("no node, written path or state is called `{name}`")),
            before => ("unknown-property", format!("`{}` has no `{name}`", before.join("."))),
        };
        let message = format!("`{}` is not defined: {why}", reference.dotted());
        let d = self.undefined_name(rule, reference, at, message, Some(format!("did you mean `{meant}`?")));
        let whole = mend::segments(reference, at, 0, reference.path.len().saturating_sub(1));
        self.flow.reader.report(mend::rewritten(d, whole, meant, false));
        (Source::Missing(Missing::Key(segment as u16)), 0)
    }

    /// A name that nobody ever defines, at this segment.
    pub(super) fn undefined(
        &self,
        reference: &Reference,
        at: Location,
        segment: usize,
        candidates: Vec<&str>,
    ) -> Bound {
        self.undefined_in(reference, at, segment, candidates, None)
    }

    /// The same, with what to say of the value before this segment.
    fn undefined_in(
        &self,
        reference: &Reference,
        at: Location,
        segment: usize,
        candidates: Vec<&str>,
        instead: Option<Instead>,
    ) -> Bound {
        let name = reference.path.get(segment).map_or("", |s| &*s.name);
        let before: Vec<&str> = reference.path.iter().take(segment).map(|s| &*s.name).collect();
        let message = if before.is_empty() {
            format!("`{}` is not defined: no node, written path or state is called `{name}`", reference.dotted())
        } else {
            format!("`{}` is not defined: `{}` has no `{name}`", reference.dotted(), before.join("."))
        };
        let near = suggest::near(name, candidates.iter().copied());
        // A node alone is an object: what it left is meant.
        let result =
            near.filter(|_| segment + 1 == reference.path.len()).and_then(|near| self.result(&before, near.name));
        let help = match near {
            Some(_) if result.is_some() => result.as_ref().map(|path| format!("did you mean `{path}`?")),
            Some(near) => {
                let fixed = before.iter().copied().chain([near.name]);
                let rest = reference.path.iter().skip(segment + 1).map(|s| &*s.name);
                Some(format!("did you mean `{}`?", fixed.chain(rest).collect::<Vec<_>>().join(".")))
            }
            None if before == ["inputs"] => Some(format!("declare it: `input: {{{name}: ...}}`")),
            None if instead.is_some() => instead.as_ref().map(|i| i.help.clone()),
            None if candidates.is_empty() => None,
            None => {
                let mut known: Vec<String> = candidates.iter().take(8).map(|c| format!("`{c}`")).collect();
                known.dedup();
                let more = if candidates.len() > 8 { ", ..." } else { "" };
                Some(format!("available: {}{more}", known.join(", ")))
            }
        };
        let rule = match before.as_slice() {
            [] => "unresolved-name",
            ["inputs" | "working" | "output"] => "unknown-property",
            _ if instead.as_ref().is_some_and(|i| i.list) => "unknown-property",
            _ if candidates.is_empty() => "property-of-text",
            _ => "unknown-property",
        };
        let mut d = self.undefined_name(rule, reference, at, message, help);
        if let Some(path) = result {
            let whole = mend::segments(reference, at, 0, segment);
            d = mend::rewritten(d, whole, &path, false);
        } else if let Some(near) = near {
            d = mend::renamed(d, mend::segment(reference, at, segment), near, reference.default.is_none());
        } else if let Some(path) = instead.and_then(|i| i.path) {
            let whole = mend::segments(reference, at, 0, reference.path.len().saturating_sub(1));
            d = mend::rewritten(d, whole, &path, false);
        }
        self.flow.reader.report(d);
        (Source::Missing(Missing::Key(segment as u16)), 0)
    }

    /// The path to what a node left that a name nearly names; none where a written or seeded value has that name too.
    fn result(&self, before: &[&str], id: &str) -> Option<String> {
        let names = self.flow.names;
        let node = names.nodes.get(names.node_of(id)?)?;
        let root = match before {
            [] => "",
            ["working"] => "working.",
            _ => return None,
        };
        let path = [Segment { name: id.into(), span: 0..0 }];
        let look = names.look(Root::Working, &path);
        let written = look.seeded || look.writes.iter().any(|w| names.provides(*w, &path));
        (!written && !node.output.is_empty()).then(|| format!("{root}{id}.{}", node.output.join(".")))
    }

    /// The reading node, where the text is an agent's and another node that uses it has the name: a factory's inputs.
    fn only_here(&self, reference: &Reference, at: Location) -> Option<&str> {
        let (Reading::Node(me), [root, field, ..]) = (self.who, reference.path.as_slice()) else { return None };
        let manifest = self.flow.manifest;
        let gives = |node: &Node<'_>| match &node.kind {
            NodeKind::Factory(factory) => factory.inputs.iter().any(|e| e.key.value == field.name),
            _ => false,
        };
        let reads = |node: &Node<'_>| {
            let holds = |t: &&trefoil_syntax::yaml::Text| t.span.start <= at.span.start && at.span.end <= t.span.end;
            texts::of_node(manifest, node).iter().any(holds)
        };
        let others = manifest.nodes.iter().enumerate().filter(|(other, _)| *other != me);
        (&*root.name == "inputs" && others.into_iter().any(|(_, n)| gives(n) && reads(n))).then(|| self.id(me))
    }

    /// An error, or a warning where a default catches it.
    fn undefined_name(
        &self,
        rule: &'static str,
        reference: &Reference,
        at: Location,
        message: String,
        help: Option<String>,
    ) -> Diagnostic {
        let (within, always) = match self.only_here(reference, at) {
            Some(node) => (format!("in `{node}`, "), "there it is always"),
            None => (String::new(), "it is always"),
        };
        let (severity, message) = match &reference.default {
            None => (Severity::Error, format!("{within}{message}")),
            Some(default) => (Severity::Warning, format!("{within}{message}; {always} `{default}`")),
        };
        let mut d = Diagnostic::new(rule, severity, at, message);
        if let Some(help) = help {
            d = d.help(help);
        }
        d
    }
}

/// The path to a node's result, or to what is in it, and whether all that was written is in it. Whoever reads a node as a key
/// of `working` may leave out `output` and `outputs`.
fn through_node(node: &NodeName<'_>, rest: &[Segment]) -> (String, bool) {
    let id = &node.id.value;
    let words: Vec<&str> = rest.iter().map(|s| &*s.name).collect();
    let main = node.output.join(".");
    if rest.is_empty() {
        return (format!("{id}.{main}"), true);
    }
    if node.shape.missing(rest).is_none() {
        return (format!("{id}.{}", words.join(".")), true);
    }
    for within in [&*main, "outputs"] {
        let inside = within.split('.').try_fold(&node.shape, |shape, key| shape.at(key));
        if let Some(inside) = inside.filter(|shape| shape.missing(rest).is_none()) {
            // Of what nothing is known, something of that name may stand in any place.
            return (format!("{id}.{within}.{}", words.join(".")), *inside != Shape::Any);
        }
    }
    (format!("{id}.{main}"), false)
}
