//! Mutates YAML by lines and indentation, without parsing it, so that it mostly stays valid.

use std::ops::Range;

use crate::mutate::Random;

/// The prefix of a file's name and of the choices.
const MARK: &str = "=== ";

/// Applies one to six changes to a text, mostly few; `other` supplies parts.
pub(crate) fn change(text: &str, other: &str, keys: &[&str], words: &[&str], random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<String> = other.lines().map(str::to_owned).collect();
    let times = if random.one_in(3) { random.below(6) } else { random.below(2) };
    for _ in 0..=times {
        one(&mut lines, &others, keys, words, random);
    }
    for line in lines.iter_mut().filter(|l| l.starts_with("=== choices")) {
        *line = format!("=== choices {}", random.below(1 << 20));
    }
    lines.join("\n") + "\n"
}

fn one(lines: &mut Vec<String>, others: &[String], keys: &[&str], words: &[&str], random: &mut Random) {
    let at = random.below(lines.len());
    let Some(line) = lines.get(at).cloned() else { return };
    if line.starts_with(MARK) {
        return;
    }
    let own = subtree(lines, at);
    match random.below(16) {
        0 => {
            lines.drain(own);
        }
        1 => {
            let copy = lines.get(own.clone()).unwrap_or_default().to_vec();
            lines.splice(own.end..own.end, copy);
        }
        2 => swap(lines, at, random),
        3 => graft(lines, at, None, random),
        4 => graft(lines, at, Some(others), random),
        5 | 6 => set(lines, at, random.pick(words)),
        7 => rename(lines, at, random.pick(keys)),
        8 => {
            let deeper = if random.one_in(3) { "  " } else { "" };
            let new = format!("{}{deeper}{}: {}", margin(&line), random.pick(keys), random.pick(words));
            lines.insert(at + 1, new);
        }
        9 | 10 => other_word(lines, at, random),
        11 => {
            // A position inside the value, where a template may be.
            let from = line.find(": ").map_or(0, |at| at + 2);
            let place = from + random.below(line.len() - from + 1);
            let word = random.pick(words).trim_matches('"');
            if let Some(line) = lines.get_mut(at).filter(|l| l.is_char_boundary(place)) {
                line.insert_str(place, word);
            }
        }
        12 => {
            if let Some((key, value)) = line.split_once(": ") {
                let wrapped = match random.below(3) {
                    0 => format!("{key}: [{value}]"),
                    1 => format!("{key}: {{ {}: {value} }}", random.pick(keys)),
                    _ => format!("{key}: [{value}, {}, {value}]", random.pick(words)),
                };
                replace(lines, at, wrapped);
            }
        }
        13 => {
            // Uses the value of another line.
            let from = random.below(lines.len());
            if let Some((_, value)) = lines.get(from).and_then(|l| l.split_once(": ")) {
                let value = value.to_owned();
                set(lines, at, &value);
            }
        }
        14 => set(lines, at, &deep(random)),
        _ => {
            lines.remove(at);
        }
    }
}

/// A line and the lines indented below it.
fn subtree(lines: &[String], at: usize) -> Range<usize> {
    let depth = |line: &String| line.len() - line.trim_start().len();
    let own = lines.get(at).map_or(0, depth);
    let rest = lines.get(at + 1..).unwrap_or_default();
    let within = |l: &&String| !l.starts_with(MARK) && (l.trim().is_empty() || depth(l) > own);
    at..at + 1 + rest.iter().take_while(within).count()
}

fn margin(line: &str) -> String {
    line.chars().take_while(|c| *c == ' ').collect()
}

/// Swaps a part with the next one of the same depth.
fn swap(lines: &mut Vec<String>, at: usize, random: &mut Random) {
    let first = subtree(lines, at);
    let mut second = subtree(lines, first.end);
    if random.one_in(2) {
        second = subtree(lines, second.end);
    }
    let (Some(a), Some(b)) = (lines.get(first.clone()), lines.get(second.clone())) else { return };
    let (a, b) = (a.to_vec(), b.to_vec());
    if b.iter().any(|l| l.starts_with(MARK)) {
        return;
    }
    lines.splice(second, a);
    lines.splice(first, b);
}

/// Inserts a part of this text or another one after a line.
fn graft(lines: &mut Vec<String>, at: usize, others: Option<&[String]>, random: &mut Random) {
    let source = others.unwrap_or(lines);
    let from = random.below(source.len());
    let part = source.get(subtree(source, from)).unwrap_or_default().to_vec();
    let Some(line) = lines.get(at) else { return };
    let deeper = if random.one_in(3) { 2 } else { 0 };
    let target = margin(line).len() + deeper;
    let had = part.first().map_or(0, |l| margin(l).len());
    let moved: Vec<String> = part
        .iter()
        .filter(|l| !l.starts_with(MARK))
        .map(|l| format!("{}{}", " ".repeat((margin(l).len() + target).saturating_sub(had)), l.trim_start()))
        .collect();
    let own = subtree(lines, at);
    let place = if deeper > 0 { at + 1 } else { own.end };
    lines.splice(place..place, moved);
}

/// Replaces the value of a line's key, and removes the lines below it.
fn set(lines: &mut Vec<String>, at: usize, value: &str) {
    let Some(line) = lines.get(at) else { return };
    let new = match line.split_once(':') {
        Some((key, _)) => format!("{key}: {value}"),
        None => format!("{}- {value}", margin(line)),
    };
    let own = subtree(lines, at);
    lines.splice(own, [new]);
}

/// A deeply nested value.
fn deep(random: &mut Random) -> String {
    let depth = 1 + random.below(130);
    let within = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
    match random.below(8) {
        0 => within("[", "", "]"),
        1 => within("{a: ", "1", "}"),
        2 => within("{type: array, items: ", "{}", "}"),
        3 => within("{not: ", "{}", "}"),
        4 => format!("\"{}\"", within("{{#if x}}", "y", "{{/if}}")),
        5 => format!("\"{}\"", within("{{#each x}}", "{{this}}", "{{/each}}")),
        6 => format!("\"{{{{json {} }}}}\"", within("(json ", "x", ")")),
        _ => format!("\"{}\"", within("(", "working.x", ")")),
    }
}

fn rename(lines: &mut [String], at: usize, key: &str) {
    if let Some((before, value)) = lines.get(at).and_then(|l| l.split_once(':')) {
        let start = before.len() - before.trim_start_matches([' ', '-']).len();
        let new = format!("{}{key}:{value}", before.get(..start).unwrap_or_default());
        replace(lines, at, new);
    }
}

/// Replaces a word by another one of the text.
fn other_word(lines: &mut [String], at: usize, random: &mut Random) {
    let from = random.below(lines.len());
    let new = word(lines.get(from).map_or("", String::as_str), random);
    let Some(line) = lines.get(at) else { return };
    let old = word(line, random);
    let new = new.map(|range| lines.get(from).and_then(|l| l.get(range)).unwrap_or_default().to_owned());
    if let (Some(new), Some(old), Some(line)) = (new, old, lines.get_mut(at)) {
        line.replace_range(old, &new);
    }
}

fn word(line: &str, random: &mut Random) -> Option<Range<usize>> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (part(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    let at = random.below(words.len());
    words.get(at).cloned()
}

fn replace(lines: &mut [String], at: usize, new: String) {
    if let Some(line) = lines.get_mut(at) {
        *line = new;
    }
}
