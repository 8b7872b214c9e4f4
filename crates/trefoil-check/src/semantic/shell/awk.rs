//! What a program of `awk` runs. It is not parsed: its texts are told from the rest, that is all.

/// Whether it runs commands that it does not hold itself.
pub(super) fn runs(program: &str) -> bool {
    statements(program).iter().any(|statement| {
        let called = statement.split_once("system").map(|(_, behind)| behind.trim_start());
        if called.is_some_and(|behind| behind.starts_with('(') && computed(behind)) {
            return true;
        }
        statement.match_indices('|').any(|(at, _)| {
            let (before, behind) = statement.split_at(at);
            let behind = behind.trim_start_matches(['|', '&']).trim_start();
            let or = before.ends_with('|') || statement.get(at + 1..).is_some_and(|r| r.starts_with('|'));
            // `COMMAND | getline`, and `print TEXT | COMMAND`.
            let prints = before.trim_start().starts_with("print");
            !or && if behind.starts_with("getline") { computed(before) } else { prints && computed(behind) }
        })
    })
}

/// The commands, all of which is written, that it prints into.
pub(super) fn prints_to(program: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut quoted = false;
    let mut rest = program.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => {
                rest.next();
            }
            '|' if !quoted => {
                let behind = program.get(at + 1..).unwrap_or_default().trim_start_matches(['&', ' ', '\t']);
                let command = behind.strip_prefix('"').and_then(|b| b.split('"').next());
                found.extend(command.map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

/// Whether a program reads a variable of its environment.
pub(super) fn reads(program: &str, name: &str) -> bool {
    program.contains(&format!("ENVIRON[\"{name}\"]"))
}

/// Statements, with nothing left of texts but their quotes.
fn statements(program: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut rest = program.chars();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => {
                rest.next();
                continue;
            }
            _ if quoted => continue,
            ';' | '{' | '}' | '\n' => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all
}

/// Whether there is more in it than texts.
fn computed(expression: &str) -> bool {
    expression.contains(|c: char| c.is_ascii_alphabetic() || matches!(c, '$' | '_'))
}
