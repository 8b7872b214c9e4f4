//! Parses shell commands with holes.

use trefoil_shell::{HOLE, ShellCommand, ShellWordPart, parse_script};

use crate::{Target, fixed};

pub(crate) const TARGET: Target = Target::of_text(
    "shell",
    "no script panics, each hole is in one place at most, and none is lost but in what says so",
    || fixed(SEEDS),
    WORDS,
    run,
);

const SEEDS: &[&str] = &[
    "echo @ '@' \"@\" $(cmd @) `cmd @` $((@ + 1)) ${a:-@} > @ # @",
    "if [ @ = a ]; then b @; fi | c <<EOF\n@ $x\nEOF\nd @",
    "a[@]=1 b=(@) f() { @; }; cat <(@) <<< @ 2>&1 & ((@ > 1)) && $[@]",
    "echo \"$(a \"$(b '@')\")\" ${!x@} ${y/@/@} ${z[@]} ${#w} \\@",
];

const WORDS: &[&str] = &[
    "@", "$(", ")", "`", "${", "}", "$((", "))", "((", "'", "\"", "\\", "<<E", "\nE\n", "<(", "#", ";", "|", "&", "\n",
    "$[", "]", "[", "!", ":", "-", "+", " ",
];

fn run(bytes: &[u8]) {
    let mut holes = Vec::new();
    let mut text = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        if c == '@' {
            holes.push(text.len());
        }
        text.push(if c == '@' { HOLE } else { c });
    }
    let script = parse_script(&text, &holes);
    let mut found = script.comments.clone();
    commands(&script.commands, &mut found);
    found.sort_unstable();
    let mut once = found.clone();
    once.dedup();
    assert_eq!(found, once, "a hole is in two places");
    // Holes in backticks are parsed separately; holes in here-documents or below the maximum nesting are only known to
    // exist.
    let last = script.unread.into_iter().chain(script.here_document).min().unwrap_or(holes.len());
    if !text.contains('`') {
        assert_eq!(found.iter().filter(|n| **n < last).count(), last, "a hole is lost in {text:?}");
    }
    assert_eq!(parse_script(&text, &[]).comments, Vec::<usize>::new(), "nothing is a hole by its character alone");
}

fn commands(all: &[ShellCommand], found: &mut Vec<usize>) {
    for command in all {
        let redirects = command.redirects.iter().map(|(_, word)| word);
        command.words.iter().chain(redirects).for_each(|word| parts(word, found));
    }
}

fn parts(word: &[ShellWordPart], found: &mut Vec<usize>) {
    for part in word {
        match part {
            ShellWordPart::Hole { number, .. } => found.push(*number),
            ShellWordPart::Commands(_, inner) => commands(inner, found),
            ShellWordPart::Expansion { parts: inner, .. }
            | ShellWordPart::Arithmetic(inner)
            | ShellWordPart::Subscript(_, inner) => {
                parts(inner, found);
            }
            ShellWordPart::Text(..)
            | ShellWordPart::Variable(..)
            | ShellWordPart::Indirect(_)
            | ShellWordPart::Evaluated(_) => {}
        }
    }
}
