//! Finds functions that are too long.

/// Longer functions need a `reason:` in the comment above them.
pub const LONG: usize = 80;

/// The functions of a file that are too long: first line, name, number of lines.
pub fn long(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.split("#[cfg(test)]").next().unwrap_or_default().lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let end = format!("{:indent$}}}", "");
        let rest = lines.iter().skip(at);
        let Some(length) = rest.clone().position(|l| *l == end).map(|last| last + 1) else { continue };
        // A declaration without a body, before another function.
        let bare =
            rest.take(length).skip(1).any(|l| self::name(l).is_some() && l.len() - l.trim_start().len() <= indent);
        let above = lines.iter().take(at).rev().take_while(|l| l.trim_start().starts_with(['/', '#']));
        if length > LONG && !bare && !above.clone().any(|l| l.contains("reason:")) {
            found.push((at + 1, name.to_owned(), length));
        }
    }
    found
}

/// The name of the function that starts on this line.
fn name(line: &str) -> Option<&str> {
    let mut words = line.trim_start();
    while let Some((word, rest)) = words.split_once(' ') {
        match word {
            "fn" => return rest.split(['(', '<']).next(),
            "pub" | "const" | "async" | "unsafe" => words = rest,
            _ if word.starts_with("pub(") => words = rest,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_function_needs_a_reason() {
        let body = "    x();\n".repeat(LONG);
        let text = format!("pub(crate) fn one<T>(a: T) {{\n{body}}}\n\nfn two() {{\n    x();\n}}\n");
        assert_eq!(long(&text), [(1, "one".to_owned(), LONG + 2)]);
        assert_eq!(long(&format!("/// A table.\n// reason: data\n{text}")), []);
    }
}
