//! One lowering: the entry's file and every file that it calls. A file is read once; it is bound and lowered for every way in
//! which it is called, and the rules look at it once for every set of inputs that it is given.

use std::cell::RefCell;
use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::types;
use trefoil_syntax::{Diagnostic, FileId};

use super::lint::{self, Subject};
use super::lower::{self, Workflow};
use super::manifest::{self, CallNode, Manifest, NodeKind, Root};
use super::names::binding::Texts;
use super::names::child::Child;
use super::names::declare;
use super::names::inputs::Inputs;
use super::names::known::Known;
use super::names::links::Links;
use super::names::texts;
use super::references::{self, stem};
use crate::learn;
use crate::project::resolve_path;
use crate::{Builder, Document, Findings, Lowered, Project, Reader};

/// Deeper nesting is refused whatever `max_depth` says: nobody needs it, and it is paid for in stack.
const DEEPEST: u32 = 64;

/// Lowers a document as the entry of a program.
pub fn run(project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
    let mut session = Session {
        project,
        found: findings.apart(),
        manifests: HashMap::default(),
        builder: Builder::default(),
        stack: Vec::new(),
        done: HashMap::default(),
        linted: HashSet::default(),
        files: Vec::new(),
        env_files: Vec::new(),
    };
    let entry = session.workflow(document, Vec::new(), 0);
    let Session { found, builder, files, env_files, .. } = session;
    // What others found before is no reason to give nothing back.
    let broken = found.diagnostics.has_errors();
    findings.absorb(found);
    let texts = files.iter().filter_map(|file| project.files.get(*file)).map(|file| &**file.text());
    let program = entry.and_then(|entry| builder.finish(entry.flow, texts));
    findings.sound(program.map(|program| Lowered { program, env_files }), broken)
}

struct Session<'p> {
    project: &'p Project,
    found: Findings,
    manifests: HashMap<usize, Option<Arc<Manifest<'p>>>>,
    builder: Builder,
    /// The documents being lowered, outermost first.
    stack: Vec<usize>,
    done: HashMap<Wish, Option<Child>>,
    linted: HashSet<(usize, Vec<Arc<str>>)>,
    files: Vec<FileId>,
    env_files: Vec<String>,
}

/// A file as one of its callers wants it: with these inputs, at this depth.
type Wish = (usize, Vec<Arc<str>>, u32);

impl<'p> Session<'p> {
    /// A document's flow; none when it is not a mapping.
    fn workflow(&mut self, document: usize, given: Vec<Arc<str>>, depth: u32) -> Option<Child> {
        let wish = (document, given, depth);
        if let Some(done) = self.done.get(&wish) {
            return done.clone();
        }
        let opened = self.project.documents.get(document)?;
        if !self.files.contains(&opened.file) {
            self.files.push(opened.file);
        }
        let found = RefCell::new(self.found.apart());
        let text = self.project.files.get(opened.file).map(|f| &**f.text());
        let reader = Reader::new(opened.file, &found).with_text(text);
        self.stack.push(document);
        let manifest = self.manifest(&reader, document, opened);
        let child = manifest.map(|manifest| self.lower(&reader, &manifest, opened, &wish));
        self.stack.pop();
        self.found.absorb(found.into_inner());
        self.done.insert(wish, child.clone());
        child
    }

    /// What a document says, read once.
    fn manifest(&mut self, reader: &Reader<'_>, document: usize, opened: &'p Document) -> Option<Arc<Manifest<'p>>> {
        if let Some(read) = self.manifests.get(&document) {
            return read.clone();
        }
        let manifest = manifest::read(reader, &opened.root).map(Arc::new);
        if let Some(file) = manifest.as_ref().and_then(|manifest| manifest.env_file) {
            let file = resolve_path(&opened.path, &file.value);
            if !self.env_files.contains(&file) {
                self.env_files.push(file);
            }
        }
        self.manifests.insert(document, manifest.clone());
        manifest
    }

    fn lower(
        &mut self,
        reader: &Reader<'_>,
        manifest: &Manifest<'_>,
        opened: &Document,
        (document, given, depth): &Wish,
    ) -> Child {
        let child = |node: &manifest::Node<'_>| match &node.kind {
            NodeKind::Call(call) => self.child(reader, *document, &node.id.value, call, *depth),
            _ => None,
        };
        let children: Vec<Option<Child>> = manifest.nodes.iter().map(child).collect();
        let entry = *depth == 0;
        let offered = if entry { references::offered(self.project, *document) } else { Vec::new() };
        let inputs = |slot| Inputs::new(manifest, |span| reader.at(span), slot, given, &offered);
        let known = Arc::new(Known::new(reader.file, manifest, &children, inputs));
        let nodes = texts::parse(reader.file, manifest);
        let links = Arc::new(Links::new(manifest, &known, &nodes));
        let texts = Texts::new(manifest, &known, &links, nodes);
        let name = stem(&opened.path);
        // All that there is to say is said once.
        if self.linted.insert((*document, given.clone())) {
            declare::note(reader, manifest, &known, &children, (name, opened.root.span));
            texts.all().iter().for_each(|bound| learn::text(reader, &bound.text));
            let (known, links) = (&*known, &*links);
            lint::check(&Subject { reader, manifest, known, links, texts: &texts, children: &children });
        }
        let flow = Workflow { manifest, known: &known, links: &links, texts: &texts, children: &children };
        let (id, wanted) = lower::workflow(&mut self.builder, &flow, name, entry);
        // Nobody reads what an entry leaves.
        let output = if entry { types::any() } else { known.tree(Root::Output) };
        let readable = known.readable(&output);
        Child { flow: id, readable, output, wanted, file: reader.file, members: known.members() }
    }

    /// The sub-workflow of a node.
    fn child(
        &mut self,
        reader: &Reader<'_>,
        document: usize,
        id: &str,
        call: &CallNode<'_>,
        depth: u32,
    ) -> Option<Child> {
        let reference = call.reference?;
        let at = references::find(reader, self.project, document, reference)?;
        if let Some(from) = self.stack.iter().position(|d| *d == at) {
            let ring = self.stack.iter().skip(from).chain([&at]).filter_map(|d| self.project.documents.get(*d));
            let ring: Vec<String> = ring.map(|d| format!("`{}`", d.path)).collect();
            let message = format!("workflows call each other in a circle: {}", ring.join(" -> "));
            let d = Diagnostic::error("reference-cycle", reader.at(reference.span), message);
            reader.report(d.help("a workflow cannot contain itself"));
            return None;
        }
        let deepest = call.max_depth.min(DEEPEST);
        if depth >= deepest {
            let message = format!("node `{id}` nests workflows deeper than its `max_depth` of {deepest}");
            reader.error("out-of-range", reference.span, message);
            return None;
        }
        let mut given: Vec<Arc<str>> = call.inputs.iter().map(|e| e.key.value.clone()).collect();
        given.sort_unstable();
        self.workflow(at, given, depth + 1)
    }
}
