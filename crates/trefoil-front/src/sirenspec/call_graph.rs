//! Which files call which: each file is read once, and all references between them are followed before any is bound.
//! Uses a work list instead of recursion.

use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use super::manifest::{self, CallNode, NodeKind, SirenManifest};
use super::references::{LostCall, NoFile, SirenReferences};
use crate::call_depths::CallDepths;
use crate::{CompileFindings, ManifestReader, Project};

/// The maximum nesting, whatever `max_depth` says, because nesting takes stack space.
const DEEPEST: u32 = 64;

/// The files that can be reached from entries.
pub struct SirenCallGraph<'p> {
    /// The files by document.
    pub files: HashMap<usize, SirenFile<'p>>,
    /// Documents in an order in which callees come before their callers.
    pub callees_first: Vec<usize>,
    /// References that do not resolve to a single file that can be called, in the order in which they were found.
    pub lost: Vec<LostCall<'p>>,
    /// Findings of reading.
    pub found: CompileFindings,
}

/// A file that was read.
pub struct SirenFile<'p> {
    /// Its number, in the order in which files were found.
    pub number: usize,
    /// Its manifest; `None`: it is not a mapping (reported).
    pub manifest: Option<Arc<SirenManifest<'p>>>,
    /// The call of each node; `None`: the node makes no call, or one that cannot be made (reported).
    pub calls: Vec<Option<FileCall>>,
    depths: CallDepths,
    open: bool,
}

/// The call of a node.
pub struct FileCall {
    /// The called document.
    pub document: usize,
    /// The names of the passed inputs, sorted.
    pub given: Vec<Arc<str>>,
}

enum ReadTask {
    File(usize),
    /// Everything that the innermost open file calls is finished.
    Done,
}

impl<'p> SirenCallGraph<'p> {
    /// Reads the files that can be reached from entries.
    pub fn gather_calls(
        project: &'p Project,
        references: &SirenReferences<'p>,
        entries: &[usize],
        found: CompileFindings,
    ) -> Self {
        let mut calls = Self { files: HashMap::default(), callees_first: Vec::new(), lost: Vec::new(), found };
        let mut open: Vec<usize> = Vec::new();
        let mut next: Vec<ReadTask> = entries.iter().rev().map(|entry| ReadTask::File(*entry)).collect();
        while let Some(at) = next.pop() {
            match at {
                ReadTask::File(document) if !calls.files.contains_key(&document) => {
                    open.push(document);
                    next.push(ReadTask::Done);
                    calls.read(project, references, document, &open);
                    if let Some(file) = calls.files.get(&document) {
                        for call in file.calls.iter().rev().flatten() {
                            next.push(ReadTask::File(call.document));
                        }
                    }
                }
                ReadTask::File(_) => {}
                ReadTask::Done => calls.done(open.pop()),
            }
        }
        calls.measure(project, entries);
        calls
    }

    fn done(&mut self, document: Option<usize>) {
        let Some(document) = document else { return };
        self.callees_first.push(document);
        if let Some(file) = self.files.get_mut(&document) {
            file.open = false;
        }
    }

    /// Reads a file and finds the calls of its nodes. A call of a file in `open` closes a cycle.
    fn read(&mut self, project: &'p Project, references: &SirenReferences<'p>, document: usize, open: &[usize]) {
        let Some(found) = project.documents.get(document) else { return };
        let reader = ManifestReader::for_document(project, found, self.found.empty_copy());
        let manifest = manifest::read_manifest(&reader, &found.root).map(Arc::new);
        let file = SirenFile {
            number: self.files.len(),
            manifest: manifest.clone(),
            calls: Vec::new(),
            depths: CallDepths::default(),
            open: true,
        };
        self.files.insert(document, file);
        let mut calls = Vec::new();
        if let Some(manifest) = &manifest {
            for node in &manifest.nodes {
                calls.push(match &node.kind {
                    NodeKind::Call(call) => self.call(references, (document, call), open),
                    _ => None,
                });
            }
        }
        if let Some(file) = self.files.get_mut(&document) {
            file.calls = calls;
        }
        self.found.add_findings(reader.into_findings());
    }

    fn call(
        &mut self,
        references: &SirenReferences<'_>,
        (document, call): (usize, &CallNode<'p>),
        open: &[usize],
    ) -> Option<FileCall> {
        let reference = call.reference?;
        let at = match references.resolve_reference(document, &reference.value) {
            Ok(at) => at,
            Err(why) => {
                self.lost.push(LostCall { from: document, reference, why });
                return None;
            }
        };
        if matches!(self.files.get(&at), Some(file) if file.open) {
            let start = open.iter().position(|document| *document == at).unwrap_or(open.len());
            let mut ring = open.get(start..).unwrap_or_default().to_vec();
            ring.push(at);
            self.lost.push(LostCall { from: document, reference, why: NoFile::Ring(ring) });
            return None;
        }
        let mut given: Vec<Arc<str>> = call.inputs.iter().map(|e| e.key.value.clone()).collect();
        given.sort_unstable();
        Some(FileCall { document: at, given })
    }

    /// Computes how deeply each file is called. Visits callers first, so that every path to a file is known. Calls that
    /// are too deep are removed, which also keeps the types of results small.
    fn measure(&mut self, project: &Project, entries: &[usize]) {
        for entry in entries {
            if let Some(file) = self.files.get_mut(entry) {
                file.depths = CallDepths::ENTRY;
            }
        }
        for document in self.callees_first.iter().rev() {
            let (Some(file), Some(found)) = (self.files.get_mut(document), project.documents.get(*document)) else {
                continue;
            };
            let Some(manifest) = &file.manifest else { continue };
            let depths = file.depths;
            let mut deeper = Vec::new();
            let reader = ManifestReader::for_document(project, found, self.found.empty_copy());
            for (node, called) in manifest.nodes.iter().zip(&mut file.calls) {
                let (NodeKind::Call(call), Some(to)) = (&node.kind, called.as_ref()) else { continue };
                let deepest = call.max_depth.min(DEEPEST);
                deeper.push((to.document, depths.limited_to(deepest as usize).deepened_by(1)));
                if depths.max_depth() < deepest as usize {
                    continue;
                }
                let message =
                    format!("node `{}` nests workflows deeper than its `max_depth` of {deepest}", node.id.value);
                let place = match call.reference {
                    Some(reference) => reference.span,
                    None => node.id.span,
                };
                reader.report_error("out-of-range", place, message);
                *called = None;
            }
            self.found.add_findings(reader.into_findings());
            for (callee, depths) in deeper {
                if let Some(file) = self.files.get_mut(&callee) {
                    file.depths = file.depths.union_with(depths);
                }
            }
        }
    }
}
