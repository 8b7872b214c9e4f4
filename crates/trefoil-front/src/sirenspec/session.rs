//! Compiles documents, and all files that they call, to one program. Each file is read once; it is bound and lowered
//! once for each set of inputs that callers pass, and once more if a run can start it.

use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_ir::types::Type;
use trefoil_syntax::hash::HashMap;

use super::calls::{Called, Calls};
use super::lower::{self, Workflow};
use super::manifest::{Manifest, Root};
use super::names::binding::Texts;
use super::names::child::Child;
use super::names::declare;
use super::names::inputs::Inputs;
use super::names::known::Known;
use super::names::links::Links;
use super::names::texts;
use super::references::{LostCall, References, stem};
use crate::bound::BoundText;
use crate::learn;
use crate::project::resolve_path;
use crate::{Builder, Compiled, CompiledUnits, Document, Findings, Project, Reader};

/// The workflows that can be reached from entries.
pub struct Units<'p> {
    /// The project.
    pub project: &'p Project,
    /// The files in each of their roles, callees before callers.
    pub all: Vec<Unit<'p>>,
    /// References that do not resolve to a single file that can be called.
    pub lost: Vec<LostCall<'p>>,
    /// The index for references.
    pub references: References<'p>,
}

impl Units<'_> {
    /// Every text of every file, for each way in which it is called.
    pub fn texts(&self) -> Vec<&BoundText> {
        self.all.iter().flat_map(|unit| unit.texts.all()).map(|bound| &bound.text).collect()
    }
}

/// A file in one role.
pub struct Unit<'p> {
    /// The document.
    pub document: usize,
    /// Its manifest.
    pub manifest: Arc<Manifest<'p>>,
    /// The names available in it.
    pub known: Arc<Known>,
    /// The links between its nodes.
    pub links: Arc<Links>,
    /// Its texts.
    pub texts: Texts,
    /// The workflows that its nodes call, by node.
    pub children: Vec<Option<Child>>,
}

/// How a file is called: with these inputs; `None`: a run starts it.
pub type Role = Option<Vec<Arc<str>>>;

/// Compiles documents as the entries of a program.
pub fn compile<'p>(project: &'p Project, entries: &[usize], found: Findings) -> Compiled<'p> {
    let references = References::of(project);
    let calls = Calls::gather(project, &references, entries, found);
    let roles = roles(&calls, entries);
    let Calls { callees_first, files, lost, found } = calls;
    let (builder, done) = (Builder::default(), HashMap::default());
    let mut session = FileSession { references, found, builder, done, units: Vec::new() };
    for at in callees_first {
        let (Some(document), Some(file)) = (project.documents.get(at), files.get(&at)) else { continue };
        let Some(manifest) = &file.manifest else { continue };
        for role in roles.get(&at).into_iter().flatten() {
            let reader = Reader::of(project, document, session.found.apart());
            session.unit(&reader, document, (at, role), manifest, &file.calls);
            session.found.absorb(reader.into_findings());
        }
    }
    let FileSession { references, found, builder, units, done } = session;
    let flow = |at: &usize| Some((*at, done.get(&(*at, None))?.flow));
    let entries: Vec<_> = entries.iter().filter_map(flow).collect();
    let mut opened: Vec<(usize, usize)> = files.iter().map(|(at, file)| (file.number, *at)).collect();
    opened.sort_unstable();
    let opened = || opened.iter().filter_map(|(_, at)| Some((project.documents.get(*at)?, files.get(at)?)));
    let texts = opened().filter_map(|(document, _)| project.files.get(document.file)).map(|file| &**file.text());
    let program = entries.first().and_then(|(_, first)| builder.finish(*first, texts));
    let mut env_files: Vec<String> = Vec::new();
    for (document, file) in opened() {
        let Some(env) = file.manifest.as_ref().and_then(|manifest| manifest.env_file) else { continue };
        let path = resolve_path(&document.path, &env.value);
        if !env_files.contains(&path) {
            env_files.push(path);
        }
    }
    let units = CompiledUnits::Sirenspec(Units { project, all: units, lost, references });
    Compiled { units, program, entries, env_files, found, aside: BTreeSet::new() }
}

/// The roles of each file. Visits callers first, so that all calls of a file are known before it.
fn roles(calls: &Calls<'_>, entries: &[usize]) -> HashMap<usize, BTreeSet<Role>> {
    let mut roles: HashMap<usize, BTreeSet<Role>> = HashMap::default();
    for entry in entries {
        roles.entry(*entry).or_default().insert(None);
    }
    for at in calls.callees_first.iter().rev() {
        for called in calls.files.get(at).into_iter().flat_map(|file| &file.calls).flatten() {
            roles.entry(called.document).or_default().insert(Some(called.given.clone()));
        }
    }
    roles
}

struct FileSession<'p> {
    references: References<'p>,
    found: Findings,
    builder: Builder,
    done: HashMap<(usize, Role), Child>,
    units: Vec<Unit<'p>>,
}

impl<'p> FileSession<'p> {
    fn unit(
        &mut self,
        reader: &Reader<'_>,
        opened: &Document,
        (document, role): (usize, &Role),
        manifest: &Arc<Manifest<'p>>,
        calls: &[Option<Called>],
    ) {
        let child = |called: &Called| self.done.get(&(called.document, Some(called.given.clone()))).cloned();
        let children: Vec<Option<Child>> = calls.iter().map(|called| called.as_ref().and_then(child)).collect();
        let entry = role.is_none();
        let (given, offered) = match role {
            Some(given) => (given.as_slice(), [].as_slice()),
            None => ([].as_slice(), self.references.offered(document)),
        };
        let inputs = |slot| Inputs::new(manifest, |span| reader.at(span), slot, given, offered);
        let known = Arc::new(Known::new(reader.file, manifest, &children, inputs));
        let nodes = texts::parse(reader.file, manifest);
        let links = Arc::new(Links::new(manifest, &known, &nodes));
        let texts = Texts::new(manifest, &known, &links, nodes);
        let name = stem(&opened.path);
        declare::note(reader, manifest, &known, &children, (name, opened.root.span));
        texts.all().iter().for_each(|bound| learn::text(reader, &bound.text));
        let flow = Workflow { manifest, known: &known, links: &links, texts: &texts, children: &children };
        let (id, wanted) = lower::workflow(&mut self.builder, &flow, name, entry);
        // No caller reads the output of an entry.
        let output = if entry { Type::Any } else { known.tree(Root::Output) };
        let readable = known.readable(&output);
        let child = Child { flow: id, readable, output, wanted, file: reader.file, members: known.members() };
        self.done.insert((document, role.clone()), child);
        self.units.push(Unit { document, manifest: manifest.clone(), known, links, texts, children });
    }
}
