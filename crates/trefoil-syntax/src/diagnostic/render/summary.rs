//! The last line of a report.

use crate::diagnostic::{Diagnostic, FindingSeverity};

/// `2 errors, 1 warning in 3 files`. Info findings are not counted, and zero counts are omitted.
pub fn render_summary(diagnostics: &[Diagnostic], files: usize) -> String {
    let mut found = Vec::new();
    for (severity, word) in [(FindingSeverity::Error, "error"), (FindingSeverity::Warning, "warning")] {
        let count = diagnostics.iter().filter(|d| d.severity == severity).count();
        if count > 0 {
            found.push(plural(count, word));
        }
    }
    let found = if found.is_empty() { "no errors".to_owned() } else { found.join(", ") };
    format!("{found} in {}", plural(files, "file"))
}

fn plural(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_there_is() {
        let of = |severities: &[FindingSeverity]| -> Vec<Diagnostic> {
            severities.iter().map(|s| Diagnostic::without_location("r", *s, None, "m")).collect()
        };
        use FindingSeverity::{Error, Info, Warning};
        assert_eq!(render_summary(&of(&[Error, Warning, Error, Info]), 3), "2 errors, 1 warning in 3 files");
        assert_eq!(render_summary(&of(&[Warning, Warning]), 1), "2 warnings in 1 file");
        assert_eq!(render_summary(&of(&[Info]), 0), "no errors in 0 files");
    }
}
