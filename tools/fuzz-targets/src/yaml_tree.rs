//! Parses bytes to a tree and diagnostics, and renders the diagnostics in all three formats.

use std::collections::HashSet;

use trefoil_syntax::diagnostic::render;
use trefoil_syntax::{FileId, Span};

use crate::tree::{LIMITS, SEEDS, WORDS, read, text, walk};
use crate::{Shape, Target, fixed};

pub(crate) const TARGET: Target = Target {
    name: "yaml-tree",
    about: "reading never panics, every span is in the file, limits hold, no file is silently nothing",
    seeds: || fixed(SEEDS),
    words: WORDS,
    shape: Shape::Bytes,
    weight: 1,
    run,
};

fn run(bytes: &[u8]) {
    let (files, parsed) = read(bytes);
    let text = text(&files);
    let inside = |span: Span| {
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} is not in the file");
    };
    let mut nodes = 0;
    if let Some(root) = &parsed.root {
        let mut on_node = |node: &trefoil_syntax::yaml::YamlNode, depth: usize| {
            nodes += 1;
            assert!(depth <= LIMITS.depth, "nested too deep");
            inside(node.span);
            if let Some(mapping) = node.as_mapping() {
                let keys: HashSet<&str> = mapping.entries.iter().map(|e| &*e.key.value).collect();
                assert_eq!(keys.len(), mapping.entries.len(), "a key twice");
            }
        };
        walk(root, 0, &mut on_node, &mut |text| inside(text.span));
    }
    // The node that exceeds the limit is in the tree, as are the collections that were open at that point.
    assert!(nodes <= LIMITS.nodes + LIMITS.depth + 2, "{nodes} nodes");
    assert!(parsed.root.is_some() || !parsed.diagnostics.is_empty(), "nothing read and nothing said");
    assert!(parsed.complete || !parsed.diagnostics.is_empty(), "incomplete, and nothing said");
    for d in &parsed.diagnostics {
        assert!(trefoil_check::find_rule(d.rule).is_some(), "{}", d.rule);
        assert!(!d.message.is_empty() && d.file == Some(FileId(0)));
        d.span.iter().copied().chain(d.labels.iter().map(|l| l.location.span)).for_each(inside);
    }
    let places: Vec<u32> = parsed.diagnostics.iter().filter_map(|d| d.span).map(|s| s.start).collect();
    assert!(places.is_sorted(), "findings in the order of the file");

    let few = parsed.diagnostics.get(..20).unwrap_or(&parsed.diagnostics);
    let shown = render::render_text(few, &files, render::TextOptions::default());
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "a control character on the terminal");
    let json = render::render_json(few, &files, 1);
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
    assert!(parsed.is_ok());
    assert_eq!(render::render_github(few, &files).lines().count(), few.len());
}
