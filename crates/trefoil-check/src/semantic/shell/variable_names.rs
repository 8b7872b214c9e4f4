//! Shell commands that take names of variables. Bash evaluates the subscript of a name as arithmetic, and an untrusted
//! name can set any variable.

use super::words::WordValues;

/// Which arguments of a command are names.
struct NameArguments {
    /// Options followed by a name.
    names: &'static str,
    /// Options followed by another value.
    takes: &'static str,
    /// The first operand that is a name; `None`: no operand is one.
    operands: Option<usize>,
}

fn naming(program: &str) -> Option<NameArguments> {
    let row = |names, takes, operands| Some(NameArguments { names, takes, operands });
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

/// The arguments of a command that are names, with or without `=` and a value.
pub(super) fn name_arguments<'w>(program: &str, operands: &'w [WordValues]) -> Vec<&'w WordValues> {
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
