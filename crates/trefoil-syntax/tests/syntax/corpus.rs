//! Real manifests, if they are available.

use std::path::{Path, PathBuf};

use trefoil_syntax::yaml::{YamlLimits, YamlNode, YamlNodeKind, YamlText, parse};
use trefoil_syntax::{FileId, SourceFile};

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            found.push(path);
        }
    }
}

/// Calls `f` with every text of a tree, keys included.
fn texts(node: &YamlNode, f: &mut impl FnMut(&YamlText)) {
    match &*node.kind {
        YamlNodeKind::Scalar(_, text) => f(text),
        YamlNodeKind::Sequence(items) => items.iter().for_each(|n| texts(n, f)),
        YamlNodeKind::Mapping(mapping) => mapping.entries.iter().for_each(|e| {
            f(&e.key);
            texts(&e.value, f);
        }),
    }
}

#[test]
fn every_file_is_read_and_every_character_found_again() {
    let Some(corpus) = untested::shared_folder("corpus") else { return };
    let mut files = Vec::new();
    yaml_files(&corpus, &mut files);
    assert!(files.len() > 50, "{}", files.len());
    let mut characters = 0;
    for path in files {
        let file = SourceFile::from_bytes(path.to_string_lossy(), std::fs::read(&path).unwrap());
        let parsed = parse(FileId(0), &file, &YamlLimits::default());
        for d in &parsed.diagnostics {
            println!("{}: {} {:?}", file.name(), d.message, d.span.map(|s| file.line_column(s.start)));
        }
        let Some(root) = parsed.root else { continue };
        texts(&root, &mut |text| {
            for (i, c) in text.value.char_indices().filter(|(_, c)| !c.is_whitespace()) {
                let found = text.source_span(i as u32..(i + c.len_utf8()) as u32);
                let raw = &file.text()[found.start as usize..found.end as usize];
                assert!(raw == c.to_string() || raw.starts_with('\\') || raw == "''", "{} {raw:?} {c:?}", file.name());
                characters += 1;
            }
        });
    }
    assert!(characters > 10_000);
}
