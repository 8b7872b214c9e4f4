//! Commands of the shell that take names of variables. A name may have a subscript, with which bash computes, and a name
//! from outside sets whichever variable it likes.

use super::words::Seen;

/// Which words of a command are names.
struct Naming {
    /// Options with a name behind them.
    names: &'static str,
    /// Options with something else behind them.
    takes: &'static str,
    /// The first operand that is a name; none: no operand is one.
    operands: Option<usize>,
}

fn naming(program: &str) -> Option<Naming> {
    let row = |names, takes, operands| Some(Naming { names, takes, operands });
    match program {
        "declare" | "typeset" | "local" | "export" | "readonly" | "unset" => row("", "", Some(0)),
        "read" => row("a", "dinNptu", Some(0)),
        "mapfile" | "readarray" => row("", "dnOsuCc", Some(0)),
        "getopts" => row("", "", Some(1)),
        "printf" => row("v", "", None),
        "wait" => row("p", "", None),
        _ => None,
    }
}

/// The words of a command that are names, with or without a value behind `=`.
pub(super) fn names<'w>(program: &str, operands: &'w [Seen]) -> Vec<&'w Seen> {
    let Some(naming) = naming(program) else { return Vec::new() };
    let mut found = Vec::new();
    let mut count = 0;
    let mut rest = operands.iter();
    while let Some(word) = rest.next() {
        if word.lead == "--" && word.whole.is_some() {
            continue;
        }
        let Some(letters) = word.lead.strip_prefix('-').filter(|l| !l.is_empty()) else {
            found.extend(naming.operands.filter(|first| count >= *first).map(|_| word));
            count += 1;
            if naming.operands.is_none() {
                break;
            }
            continue;
        };
        let takes = |c: char| naming.names.contains(c) || naming.takes.contains(c);
        if let Some((at, letter)) = letters.char_indices().find(|(_, c)| takes(*c)) {
            let attached = at + 1 < letters.len() || word.whole.is_none();
            let value = if attached { Some(word) } else { rest.next() };
            found.extend(value.filter(|_| naming.names.contains(letter)));
        }
    }
    found
}
