//! Values that the folder's files already use: models, environment variables, texts that a path is compared with.

use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{FileId, Location, Span};

use super::{CompletionItem, CompletionKind};
use crate::analysis::FolderAnalysis;
use crate::cursor::{PathStep, TreePosition, walk_nodes};
use crate::highlight::path_to;

/// Common models by provider, for the first agent of a folder. Any other model works as well.
const USUAL: &[(&str, &[&str])] = &[
    ("openai", &["gpt-5.4", "gpt-5.4-mini", "gpt-4o", "gpt-4o-mini"]),
    ("anthropic", &["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"]),
    ("mistral", &["mistral-large-latest", "mistral-small-latest"]),
    ("google", &["gemini-2.5-pro", "gemini-2.5-flash"]),
    ("deepseek", &["deepseek-chat", "deepseek-reasoner"]),
    ("ollama", &["llama3.3", "qwen3"]),
];

/// The models of a folder, as provider and name, in the order of the files.
pub fn list_models(analysis: &FolderAnalysis) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut files: Vec<FileId> = analysis.list_files().map(|(_, file)| file).collect();
    files.sort();
    for root in files.into_iter().filter_map(|file| analysis.yaml_tree(file)) {
        for mapping in walk_nodes(root).filter_map(YamlNode::as_mapping) {
            let model = mapping.get("model").and_then(|e| parse_model_name(&e.value));
            out.extend(model.filter(|m| !out.contains(m)));
        }
    }
    out
}

/// Reads a model: `openai:gpt-5.4`, or separate keys for provider and name.
pub fn parse_model_name(node: &YamlNode) -> Option<(String, String)> {
    if let Some(text) = node.as_string() {
        let (provider, name) = text.value.split_once(':')?;
        return Some((provider.to_owned(), name.to_owned()));
    }
    let of = |key: &str| node.as_mapping()?.get(key)?.value.as_string().map(|t| t.value.to_string());
    Some((of("provider")?, of("name")?))
}

/// Names of models, if the cursor is in one.
pub fn model_names(analysis: &FolderAnalysis, dialect: &str, spot: &TreePosition<'_>) -> Vec<CompletionItem> {
    let keys: Vec<&str> = spot.path.iter().rev().take(2).filter_map(key).collect();
    // The model that is being written is skipped.
    let known =
        list_models(analysis).into_iter().filter(|(_, name)| !name.is_empty() && !name.contains(super::STAND_IN));
    let known = known.map(|(provider, name)| (provider, name, "in this folder"));
    let usual = USUAL.iter().flat_map(|(provider, names)| names.iter().map(move |n| (*provider, *n)));
    let all = known.chain(usual.map(|(provider, name)| (provider.to_owned(), name.to_owned(), "usual")));
    let mut items: Vec<CompletionItem> = Vec::new();
    let mut put = |label: String, note: &str| {
        if !items.iter().any(|i| i.label == label) {
            items.push(CompletionItem::new(label, CompletionKind::Value).detail(note));
        }
    };
    match keys.as_slice() {
        ["name", "model"] => {
            let provider = spot.within.as_mapping().and_then(|m| m.get("provider")?.value.as_string());
            let of = |p: &str| provider.is_none_or(|own| *own.value == *p);
            all.filter(|(p, ..)| of(p)).for_each(|(_, name, note)| put(name, note));
        }
        ["model", ..] if dialect != "agntz" => {
            all.for_each(|(provider, name, note)| put(format!("{provider}:{name}"), note));
        }
        _ => {}
    }
    items
}

fn key(step: &PathStep) -> Option<&str> {
    match step {
        PathStep::Key(key) => Some(key),
        PathStep::Item(_) => None,
    }
}

/// The environment variables in the folder's texts, except the one at an offset.
pub fn variable_items(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<CompletionItem> {
    let here = |at: Location| at.file == file && crate::analysis::touches_offset(at.span, offset);
    let names = variable_names(analysis, here).into_iter();
    names.map(|name| CompletionItem::new(name, CompletionKind::Property).detail("read elsewhere")).collect()
}

/// The environment variables in the folder's texts, by name, except those at some places.
pub fn variable_names(analysis: &FolderAnalysis, except: impl Fn(Location) -> bool) -> Vec<&str> {
    let facts = analysis.facts();
    let mut names: Vec<&str> = Vec::new();
    for m in facts.mentions.iter().filter(|m| m.template && m.to.is_none()) {
        let path = path_to(analysis.file_text(m.at.file), m.at.span);
        let Some(name) = path.strip_prefix("env.").filter(|name| !name.is_empty() && !name.contains('.')) else {
            continue;
        };
        if !except(m.at) {
            names.push(name);
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The texts with which the folder's conditions compare a path, except the one at an offset.
pub fn compared_with(analysis: &FolderAnalysis, path: &str, file: FileId, offset: u32) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for scope in analysis.facts().scopes.iter().filter(|s| s.condition) {
        let text = analysis.text_at(scope.at);
        for (at, _) in text.match_indices("==").chain(text.match_indices("!=")) {
            let left = text.get(..at).unwrap_or_default().trim_end().trim_end_matches('}').trim_end();
            if path_to(left, Span::new(0, left.len() as u32)) != path {
                continue;
            }
            let right = text.get(at + 2..).unwrap_or_default();
            let blanks = right.len() - right.trim_start().len();
            let right = right.trim_start();
            let begin = scope.at.span.start + (at + 2 + blanks) as u32;
            let found = match right.chars().next() {
                Some(quote @ ('"' | '\'')) => right.get(1..).and_then(|t| t.split_once(quote)).map(|(word, _)| word),
                _ => right.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).next(),
            };
            let Some(word) = found.filter(|w| !w.is_empty() && !w.contains(super::STAND_IN)) else { continue };
            let here = scope.at.file == file && (begin..=begin + word.len() as u32 + 2).contains(&offset);
            if !here && word.parse::<f64>().is_err() && !out.iter().any(|w| w == word) {
                out.push(word.to_owned());
            }
        }
    }
    out
}
