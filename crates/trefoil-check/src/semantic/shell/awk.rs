//! The commands that an `awk` program runs. It is not parsed; only its strings are distinguished from the rest.

/// Whether it runs commands that are not literals in it.
pub(super) fn runs_computed_commands(program: &str) -> bool {
    statements(program).iter().any(|statement| {
        let called = statement.split_once("system").map(|(_, behind)| behind.trim_start());
        if called.is_some_and(|behind| behind.starts_with('(') && is_computed(behind)) {
            return true;
        }
        statement.match_indices('|').any(|(at, _)| {
            let (before, behind) = statement.split_at(at);
            let behind = behind.trim_start_matches(['|', '&']).trim_start();
            let or = before.ends_with('|') || statement.get(at + 1..).is_some_and(|r| r.starts_with('|'));
            // `COMMAND | getline`, and `print TEXT | COMMAND`.
            let prints = before.trim_start().starts_with("print");
            !or && if behind.starts_with("getline") { is_computed(before) } else { prints && is_computed(behind) }
        })
    })
}

/// The literal commands into which it prints.
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
pub(super) fn reads_variable(program: &str, name: &str) -> bool {
    program.contains(&format!("ENVIRON[\"{name}\"]"))
}

/// The statements, with the contents of strings removed.
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

/// Whether it contains more than strings.
fn is_computed(expression: &str) -> bool {
    expression.contains(|c: char| c.is_ascii_alphabetic() || matches!(c, '$' | '_'))
}
