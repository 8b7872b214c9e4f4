//! Our own examples, broken in many small ways: nothing panics, and a program is returned exactly if there is no error.

use super::examples::folder;
use super::support::load_as;

/// Numbers from a seed (xorshift), the same on every computer.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

const PIECES: [&str; 16] = [
    "{{",
    "}}",
    "{{#if x}}",
    "{{/if}}",
    "~",
    "[]",
    "{}",
    "5",
    "true",
    "\"",
    ": ",
    "- ",
    "ref: writer",
    "&& ",
    "null",
    "é",
];

fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(3) {
        let at = dice.below(lines.len());
        match dice.below(6) {
            0 => {
                lines.remove(at);
            }
            1 => {
                let other = dice.below(lines.len());
                lines.swap(at, other);
            }
            2 => {
                let again = lines[at].clone();
                lines.insert(at, again);
            }
            3 => {
                let value = PIECES[dice.below(PIECES.len())];
                if let Some((key, _)) = lines[at].split_once(": ") {
                    lines[at] = format!("{key}: {value}");
                }
            }
            4 => {
                let boundaries: Vec<usize> =
                    lines[at].char_indices().map(|(i, _)| i).chain([lines[at].len()]).collect();
                let place = boundaries[dice.below(boundaries.len())];
                lines[at].insert_str(place, PIECES[dice.below(PIECES.len())]);
            }
            _ => {
                let indent = "  ".repeat(dice.below(4));
                lines[at] = format!("{indent}{}", lines[at].trim_start());
            }
        }
        if lines.is_empty() {
            return String::new();
        }
    }
    lines.join("\n")
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn broken_examples_are_findings() {
        let files = folder();
        let mut dice = Dice(0x5eed_0000_0000_0001);
        let mut programs = 0;
        for round in 0..600 {
            let entry = round % files.len();
            let broken = mutate(&files[entry].1, &mut dice);
            let all: Vec<(&str, &str)> = files
                .iter()
                .enumerate()
                .map(|(i, (name, text))| (name.as_str(), if i == entry { broken.as_str() } else { text.as_str() }))
                .collect();
            let folder = load_as(&all, entry);
            let failed = folder.diagnostics.iter().any(trefoil_check::keeps_from_loading);
            let empty = folder.project.documents.len() < files.len();
            assert!(empty || folder.lowered.is_none() == failed, "in {}:\n{broken}", files[entry].0);
            programs += usize::from(folder.lowered.is_some());
        }
        assert!((60..540).contains(&programs), "{programs} of 600 still make programs");
    }
}
