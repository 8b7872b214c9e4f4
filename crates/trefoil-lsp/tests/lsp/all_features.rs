//! Calls every feature at many places of every example, with the complete text and with texts cut as if they were being
//! typed.

use std::path::{Path, PathBuf};

use trefoil_lsp::completion::CompletionKind;
use trefoil_lsp::{
    EditorWorkspace, FolderAnalysis, code_action, completion, creation, definition, diagnostics, highlight, hover,
    inlay_hints, lens, links, references, rename, semantic_tokens, signature, symbols, workspace_symbols,
};
use trefoil_syntax::{FileId, Span};

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap();
    let out = manifests(root);
    assert!(out.len() > 20, "{out:?}");
    out
}

fn manifests(root: PathBuf) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut stack = vec![root];
    while let Some(dir) = stack.pop() {
        for path in std::fs::read_dir(dir).unwrap().flatten().map(|e| e.path()) {
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn analysis(path: &Path, text: &str) -> (std::sync::Arc<FolderAnalysis>, FileId) {
    let mut workspace = EditorWorkspace::default();
    workspace.set_buffer(path.to_owned(), text, 1);
    workspace.analysis_for(path).unwrap()
}

/// Calls all features for a place. All results must be within the text.
fn ask(analysis: &FolderAnalysis, file: FileId, offset: u32) {
    let text = analysis.file_text(file);
    let inside =
        |span: Span| assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} of {text:?}");
    if let Some(hover) = hover::describe_at(analysis, file, offset) {
        inside(hover.span);
        assert!(!hover.text.is_empty());
    }
    inside(completion::complete_at(analysis, file, offset, &mut |_| None).replace);
    for at in definition::find_definitions(analysis, file, offset) {
        assert!(analysis.source_file(at.file).is_some());
    }
    references::find_references(analysis, file, offset, true);
    if let Some((span, name)) = rename::prepare_rename(analysis, file, offset) {
        inside(span);
        assert!(!name.is_empty());
        let _ = rename::plan_rename(analysis, file, offset, "another");
    }
    code_action::list_actions(analysis, file, Span::new(offset, offset));
    for made in creation::list_creations(analysis, file, Span::new(offset, offset)) {
        assert!(!made.edits.is_empty() || !made.files.is_empty());
        made.edits.iter().for_each(|e| inside(e.location.span));
    }
    for (span, _) in highlight::find_highlights(analysis, file, offset) {
        inside(span);
    }
    if let Some(help) = signature::find_signature(analysis, file, offset) {
        let argument = help.arguments[help.active].clone();
        assert!(help.label.get(argument.start as usize..argument.end as usize).is_some());
    }
}

fn whole(analysis: &FolderAnalysis, file: FileId) {
    let text = analysis.file_text(file);
    let mut end = 0;
    for token in semantic_tokens::list_tokens(analysis, file) {
        assert!(token.span.start >= end && text.get(token.span.start as usize..token.span.end as usize).is_some());
        end = token.span.end;
    }
    symbols::list_symbols(analysis, file);
    workspace_symbols::find_symbols(analysis, "e");
    lens::program_name_span(analysis, file);
    links::find_links(analysis, file);
    inlay_hints::list_hints(analysis, file, Span::new(0, text.len() as u32));
}

/// Every segment of a template that names something known is offered by completion at its place.
#[test]
fn what_is_written_would_have_been_offered() {
    let mut asked = 0;
    let mut missing = Vec::new();
    for path in examples() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (analysis, file) = analysis(&path, &text);
        for mention in analysis.mentions_in(file).filter(|m| m.to.is_some_and(|to| to != m.at)) {
            let name = analysis.text_at(mention.at).to_owned();
            let found = completion::complete_at(&analysis, file, mention.at.span.start, &mut |_| None);
            asked += 1;
            // `rateMessage` for `rate-message`.
            let same = |label: &str| label.to_lowercase() == name.replace('-', "").to_lowercase() || label == name;
            let first = |label: &str| same(label) || label.split('.').next() == Some(&name);
            let line = analysis.source_file(file).unwrap().line_column(mention.at.span.start).line;
            // A list does not offer its existing items.
            let written = text.lines().nth(line as usize - 1).unwrap();
            if written.contains("required:") {
                continue;
            }
            // A written path is offered as a whole.
            let last = |label: &str| first(label) || written.contains("writes:") && label.contains(&name);
            if !found
                .items
                .iter()
                .any(|i| matches!(i.sort, CompletionKind::Name | CompletionKind::Property) && last(&i.label))
            {
                missing.push(format!("{}:{line} {name}", path.file_name().unwrap().to_string_lossy()));
            }
        }
    }
    assert!(asked > 200, "{asked}");
    // The only exception is a key that a state itself adds to the context and reads with `default`.
    assert!(missing.len() <= 1, "{} of {asked}: {missing:#?}", missing.len());
}

#[test]
fn the_examples_have_no_errors() {
    for path in examples() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (analysis, file) = analysis(&path, &text);
        let errors = diagnostics::file_diagnostics(&analysis, file)
            .filter(|d| d.severity == trefoil_syntax::FindingSeverity::Error)
            .map(|d| d.message.clone());
        assert_eq!(errors.collect::<Vec<_>>(), [""; 0], "{}", path.display());
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn nothing_breaks_at_any_place_of_an_example() {
        for path in examples() {
            let text = std::fs::read_to_string(&path).unwrap();
            let (analysis, file) = analysis(&path, &text);
            whole(&analysis, file);
            for (offset, _) in text.char_indices().step_by(23).chain([(text.len(), ' ')]) {
                ask(&analysis, file, offset as u32);
            }
        }
    }

    #[test]
    fn nothing_breaks_while_an_example_is_written() {
        for path in examples().iter().step_by(7) {
            let text = std::fs::read_to_string(path).unwrap();
            for (offset, _) in text.char_indices().skip(20).step_by(text.len() / 12 + 1) {
                let (analysis, file) = analysis(path, &text[..offset]);
                whole(&analysis, file);
                ask(&analysis, file, offset as u32);
                ask(&analysis, file, offset as u32 / 2);
            }
        }
    }

    /// Third-party manifests, many with mistakes.
    #[test]
    fn nothing_breaks_in_the_corpus() {
        let Some(corpus) = untested::shared_folder("corpus") else { return };
        let root = corpus.canonicalize().unwrap();
        let mut workspace = EditorWorkspace::default();
        workspace.set_folders([root.clone()]);
        let mut texts = Vec::new();
        for path in manifests(root) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let path = path.canonicalize().unwrap();
            workspace.set_buffer(path.clone(), text.clone(), 1);
            texts.push((path, text));
        }
        for (path, text) in texts {
            let Some((analysis, file)) = workspace.analysis_for(&path) else { continue };
            whole(&analysis, file);
            for (offset, _) in text.char_indices().step_by(text.len() / 6 + 1) {
                ask(&analysis, file, offset as u32);
            }
        }
    }

    /// Everything that can be renamed in an example still loads after the rename, with the same references.
    #[test]
    fn every_name_of_an_example_can_be_changed() {
        let (mut changed, mut refused) = (0, Vec::new());
        for path in examples() {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut workspace = EditorWorkspace::default();
            workspace.set_buffer(path.clone(), text, 1);
            let (before, file) = workspace.analysis_for(&path).unwrap();
            let own = before.facts().declarations.iter().filter(|d| d.at.file == file);
            for at in own.map(|d| d.at).step_by(5) {
                if rename::prepare_rename(&before, file, at.span.start).is_none() {
                    continue;
                }
                let found = match rename::plan_rename(&before, file, at.span.start, "renamed") {
                    Ok(found) => found,
                    Err(why) => {
                        refused.push(format!("{} {}: {why}", path.display(), before.text_at(at)));
                        continue;
                    }
                };
                let name = |f: FileId| PathBuf::from(before.source_file(f).unwrap().name());
                let mut files: Vec<FileId> = found.edits.iter().map(|e| e.location.file).collect();
                files.dedup();
                let texts: Vec<_> = files
                    .iter()
                    .map(|f| {
                        (
                            name(*f),
                            rename::apply_edits(
                                before.file_text(*f),
                                found.edits.iter().filter(|e| e.location.file == *f),
                            ),
                        )
                    })
                    .collect();
                let after = workspace.analysis_after(&path, texts).unwrap();
                match found.check_outcome(&before, &after, |f| after.find_file(&name(f))) {
                    Ok(()) => changed += 1,
                    Err(why) => refused.push(format!("{} {}: {why}", path.display(), before.text_at(at))),
                }
            }
        }
        assert!(changed > 20, "{changed}");
        assert!(refused.is_empty(), "{changed} changed, refused: {refused:#?}");
    }
}
