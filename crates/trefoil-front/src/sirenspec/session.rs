//! Compiles documents, and all files that they call, to one program. Each file is read once; it is bound and lowered
//! once for each set of inputs that callers pass, and once more if a run can start it.

use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_ir::types::ValueType;
use trefoil_syntax::hash::HashMap;

use super::call_graph::{FileCall, SirenCallGraph};
use super::lowering::{self, WorkflowLowering};
use super::manifest::{SirenManifest, StateTree};
use super::names::binding::SirenTexts;
use super::names::callee::SirenCallee;
use super::names::declarations;
use super::names::inputs::SirenInputs;
use super::names::links::NodeLinks;
use super::names::texts;
use super::names::workflow_names::SirenNames;
use super::references::{LostCall, SirenReferences, path_stem};
use crate::bound_text::BoundText;
use crate::name_facts;
use crate::project::resolve_path;
use crate::{
    CompileFindings, CompiledUnits, DialectCompilation, ManifestDocument, ManifestReader, ProgramBuilder, Project,
};

/// The workflows that can be reached from entries.
pub struct SirenUnits<'p> {
    /// The project.
    pub project: &'p Project,
    /// The files in each of their roles, callees before callers.
    pub all: Vec<SirenUnit<'p>>,
    /// References that do not resolve to a single file that can be called.
    pub lost: Vec<LostCall<'p>>,
    /// The index for references.
    pub references: SirenReferences<'p>,
}

impl SirenUnits<'_> {
    /// Every text of every file, for each way in which it is called.
    pub fn bound_texts(&self) -> Vec<&BoundText> {
        let mut texts = Vec::new();
        for unit in &self.all {
            texts.extend(unit.texts.all_texts().iter().map(|bound| &bound.text));
        }
        texts
    }
}

/// A file in one role.
pub struct SirenUnit<'p> {
    /// The document.
    pub document: usize,
    /// Its manifest.
    pub manifest: Arc<SirenManifest<'p>>,
    /// The names available in it.
    pub known: Arc<SirenNames>,
    /// The links between its nodes.
    pub links: Arc<NodeLinks>,
    /// Its texts.
    pub texts: SirenTexts,
    /// The workflows that its nodes call, by node.
    pub children: Vec<Option<SirenCallee>>,
}

/// How a file is called: with these inputs; `None`: a run starts it.
pub type CallRole = Option<Vec<Arc<str>>>;

/// Compiles documents as the entries of a program.
pub fn compile_documents<'p>(
    project: &'p Project,
    entries: &[usize],
    found: CompileFindings,
) -> DialectCompilation<'p> {
    let references = SirenReferences::for_project(project);
    let calls = SirenCallGraph::gather_calls(project, &references, entries, found);
    let roles = roles(&calls, entries);
    let SirenCallGraph { callees_first, files, lost, found } = calls;
    let (builder, done) = (ProgramBuilder::default(), HashMap::default());
    let mut session = FileSession { references, found, builder, done, units: Vec::new() };
    for at in callees_first {
        let (Some(document), Some(file)) = (project.documents.get(at), files.get(&at)) else { continue };
        let Some(manifest) = &file.manifest else { continue };
        for role in roles.get(&at).into_iter().flatten() {
            let reader = ManifestReader::for_document(project, document, session.found.empty_copy());
            session.unit(&reader, document, (at, role), manifest, &file.calls);
            session.found.add_findings(reader.into_findings());
        }
    }
    let FileSession { references, found, builder, units, done } = session;
    let mut entry_flows = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(callee) = done.get(&(*entry, None)) {
            entry_flows.push((*entry, callee.flow));
        }
    }
    let mut opened: Vec<(usize, usize)> = files.iter().map(|(at, file)| (file.number, *at)).collect();
    opened.sort_unstable();
    let mut sources = Vec::with_capacity(opened.len());
    let mut env_files: Vec<String> = Vec::new();
    for (_, at) in opened {
        let (Some(document), Some(file)) = (project.documents.get(at), files.get(&at)) else { continue };
        if let Some(source) = project.files.get(document.file) {
            sources.push(&**source.text());
        }
        if let Some(manifest) = &file.manifest
            && let Some(env_file) = manifest.env_file
        {
            let path = resolve_path(&document.path, &env_file.value);
            if !env_files.contains(&path) {
                env_files.push(path);
            }
        }
    }
    let program = match entry_flows.first() {
        Some((_, first)) => builder.finish_program(*first, sources),
        None => None,
    };
    let units = CompiledUnits::Sirenspec(SirenUnits { project, all: units, lost, references });
    DialectCompilation { units, program, entries: entry_flows, env_files, found, aside: BTreeSet::new() }
}

/// The roles of each file. Visits callers first, so that all calls of a file are known before it.
fn roles(calls: &SirenCallGraph<'_>, entries: &[usize]) -> HashMap<usize, BTreeSet<CallRole>> {
    let mut roles: HashMap<usize, BTreeSet<CallRole>> = HashMap::default();
    for entry in entries {
        roles.entry(*entry).or_default().insert(None);
    }
    for at in calls.callees_first.iter().rev() {
        let Some(file) = calls.files.get(at) else { continue };
        for called in file.calls.iter().flatten() {
            roles.entry(called.document).or_default().insert(Some(called.given.clone()));
        }
    }
    roles
}

struct FileSession<'p> {
    references: SirenReferences<'p>,
    found: CompileFindings,
    builder: ProgramBuilder,
    done: HashMap<(usize, CallRole), SirenCallee>,
    units: Vec<SirenUnit<'p>>,
}

impl<'p> FileSession<'p> {
    fn unit(
        &mut self,
        reader: &ManifestReader<'_>,
        opened: &ManifestDocument,
        (document, role): (usize, &CallRole),
        manifest: &Arc<SirenManifest<'p>>,
        calls: &[Option<FileCall>],
    ) {
        let mut children: Vec<Option<SirenCallee>> = Vec::with_capacity(calls.len());
        for call in calls {
            children.push(match call {
                Some(called) => self.done.get(&(called.document, Some(called.given.clone()))).cloned(),
                None => None,
            });
        }
        let entry = role.is_none();
        let (given, offered) = match role {
            Some(given) => (given.as_slice(), [].as_slice()),
            None => ([].as_slice(), self.references.offered_inputs(document)),
        };
        let inputs = |slot| SirenInputs::new(manifest, |span| reader.location_of(span), slot, given, offered);
        let known = Arc::new(SirenNames::new(reader.file, manifest, &children, inputs));
        let nodes = texts::parse_templates(reader.file, manifest);
        let links = Arc::new(NodeLinks::new(manifest, &known, &nodes));
        let texts = SirenTexts::new(manifest, &known, &links, nodes);
        let name = path_stem(&opened.path);
        declarations::record_declarations(reader, manifest, &known, &children, (name, opened.root.span));
        for bound in texts.all_texts() {
            name_facts::record_text(reader, &bound.text);
        }
        let flow = WorkflowLowering { manifest, known: &known, links: &links, texts: &texts, children: &children };
        let (id, wanted) = lowering::lower_workflow(&mut self.builder, &flow, name, entry);
        // No caller reads the output of an entry.
        let output = if entry { ValueType::Any } else { known.tree_type(StateTree::Output) };
        let readable = known.readable_type(&output);
        let child =
            SirenCallee { flow: id, readable, output, wanted, file: reader.file, members: known.output_members() };
        self.done.insert((document, role.clone()), child);
        self.units.push(SirenUnit { document, manifest: manifest.clone(), known, links, texts, children });
    }
}
