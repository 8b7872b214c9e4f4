//! Values that the folder's files already use: models, environment variables, texts that a path is compared with.

use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{FileId, Location, Span};

use super::{CompletionItem, CompletionKind, offer};
use crate::analysis::{FolderAnalysis, location_touches};
use crate::cursor::{PathStep, TreePosition, walk_nodes};
use crate::highlight::path_to;

/// Common models by provider, because the first agent of a folder finds no models in other files. Any other model works as well.
const COMMON_MODELS: &[(&str, &[&str])] = &[
    ("openai", &["gpt-5.4", "gpt-5.4-mini", "gpt-4o", "gpt-4o-mini"]),
    ("anthropic", &["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"]),
    ("mistral", &["mistral-large-latest", "mistral-small-latest"]),
    ("google", &["gemini-2.5-pro", "gemini-2.5-flash"]),
    ("deepseek", &["deepseek-chat", "deepseek-reasoner"]),
    ("ollama", &["llama3.3", "qwen3"]),
];

/// The models of a folder, as provider and name, in the order of the files.
pub fn list_models(analysis: &FolderAnalysis) -> Vec<(String, String)> {
    let mut models: Vec<(String, String)> = Vec::new();
    let mut files: Vec<FileId> = analysis.list_files().map(|(_, file)| file).collect();
    files.sort();
    for file in files {
        let Some(root) = analysis.yaml_tree(file) else { continue };
        for node in walk_nodes(root) {
            if let Some(mapping) = node.as_mapping()
                && let Some(entry) = mapping.get("model")
                && let Some(model) = parse_model_name(&entry.value)
                && !models.contains(&model)
            {
                models.push(model);
            }
        }
    }
    models
}

/// Reads a model: `openai:gpt-5.4`, or separate keys for provider and name.
pub fn parse_model_name(node: &YamlNode) -> Option<(String, String)> {
    if let Some(text) = node.as_string() {
        let (provider, name) = text.value.split_once(':')?;
        return Some((provider.to_owned(), name.to_owned()));
    }
    let mapping = node.as_mapping()?;
    let provider = mapping.get("provider")?.value.as_string()?;
    let name = mapping.get("name")?.value.as_string()?;
    Some((provider.value.to_string(), name.value.to_string()))
}

/// The names of models, if the cursor is at the name of one.
pub fn model_names(analysis: &FolderAnalysis, dialect: &str, position: &TreePosition<'_>) -> Vec<CompletionItem> {
    let mut items: Vec<CompletionItem> = Vec::new();
    // The innermost key, and the one above it.
    let mut keys: Vec<&str> = Vec::new();
    for step in position.path.iter().rev().take(2) {
        if let PathStep::Key(key) = step {
            keys.push(key);
        }
    }
    match keys.as_slice() {
        ["name", "model"] => {
            let chosen_provider = sibling_provider(position.container);
            for (provider, name, note) in known_models(analysis) {
                if chosen_provider.is_none() || chosen_provider == Some(&*provider) {
                    offer(&mut items, CompletionItem::new(name, CompletionKind::Value).detail(note));
                }
            }
        }
        ["model", ..] if dialect != "agntz" => {
            for (provider, name, note) in known_models(analysis) {
                let label = format!("{provider}:{name}");
                offer(&mut items, CompletionItem::new(label, CompletionKind::Value).detail(note));
            }
        }
        _ => {}
    }
    items
}

/// The models of the folder and the common ones: provider, name, and where it is known from.
fn known_models(analysis: &FolderAnalysis) -> Vec<(String, String, &'static str)> {
    let mut models = Vec::new();
    for (provider, name) in list_models(analysis) {
        // Skips the model at the cursor, which is being written.
        if !name.is_empty() && !name.contains(super::STAND_IN) {
            models.push((provider, name, "in this folder"));
        }
    }
    for (provider, names) in COMMON_MODELS {
        for name in *names {
            models.push(((*provider).to_owned(), (*name).to_owned(), "usual"));
        }
    }
    models
}

/// The provider that the mapping with the name of a model has.
fn sibling_provider(mapping: &YamlNode) -> Option<&str> {
    Some(&mapping.as_mapping()?.get("provider")?.value.as_string()?.value)
}

/// The environment variables in the folder's texts, except the one at an offset.
pub fn variable_items(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<CompletionItem> {
    let mut items = Vec::new();
    for name in variable_names(analysis, |at| location_touches(at, file, offset)) {
        items.push(CompletionItem::new(name, CompletionKind::Property).detail("read elsewhere"));
    }
    items
}

/// The environment variables in the folder's texts, by name, except at the places that `is_excluded`.
pub fn variable_names(analysis: &FolderAnalysis, is_excluded: impl Fn(Location) -> bool) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for mention in &analysis.facts().mentions {
        if !mention.template || mention.to.is_some() {
            continue;
        }
        let path = path_to(analysis.file_text(mention.at.file), mention.at.span);
        if let Some(name) = path.strip_prefix("env.")
            && !name.is_empty()
            && !name.contains('.')
            && !is_excluded(mention.at)
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The texts with which the folder's conditions compare a path, except the one at an offset. Numbers are no texts.
pub fn compared_texts(analysis: &FolderAnalysis, path: &str, file: FileId, offset: u32) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for scope in &analysis.facts().scopes {
        if !scope.condition {
            continue;
        }
        for (start, word) in compared_words(analysis.text_at(scope.at), path) {
            let start = scope.at.span.start + start as u32;
            // The word may be in quotes.
            let end = start + word.len() as u32 + 2;
            let is_at_offset = scope.at.file == file && (start..=end).contains(&offset);
            let is_number = word.parse::<f64>().is_ok();
            if !is_at_offset && !is_number && !texts.iter().any(|known| known == word) {
                texts.push(word.to_owned());
            }
        }
    }
    texts
}

/// The words with which a condition compares a path, each with the offset of the right side of its comparison.
fn compared_words<'t>(condition: &'t str, path: &str) -> Vec<(usize, &'t str)> {
    let mut words = Vec::new();
    for operator in ["==", "!="] {
        for (at, _) in condition.match_indices(operator) {
            let left = condition.get(..at).unwrap_or_default().trim_end().trim_end_matches('}').trim_end();
            if path_to(left, Span::new(0, left.len() as u32)) != path {
                continue;
            }
            let right = condition.get(at + 2..).unwrap_or_default().trim_start();
            if let Some(word) = first_word(right)
                && !word.is_empty()
                && !word.contains(super::STAND_IN)
            {
                words.push((condition.len() - right.len(), word));
            }
        }
    }
    words
}

/// The quoted text or the word at the start of a text; `None` if the quote is not closed.
fn first_word(text: &str) -> Option<&str> {
    if let Some(quote @ ('"' | '\'')) = text.chars().next() {
        let (word, _) = text.get(1..)?.split_once(quote)?;
        return Some(word);
    }
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).next()
}
