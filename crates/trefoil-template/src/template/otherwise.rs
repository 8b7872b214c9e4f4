//! A text for a value that is missing, as other languages write it: `{{ x || 'none' }}`, `{{ x ?? 'none' }}`,
//! `{{ x or 'none' }}`, `{{ x | default: 'none' }}`. It says what to write here, and reads nothing.

use std::ops::Range;

use super::build::TemplateBuilder;
use crate::path::in_segment;
use crate::policy::Blocks;

/// Signs and words before the text. A filter with a colon or a space comes from languages that have no parentheses there.
const SIGNS: &[&str] = &["||", "??", "?:", "or ", "| default:", "| default ", "|default:", "|default "];

/// Reports a placeholder of this form; whether it was one.
pub fn report(b: &mut TemplateBuilder<'_>, inner: Range<usize>) -> bool {
    let text = b.slice(inner.clone());
    let Some((path, sign, otherwise)) = cut(text) else { return false };
    let start = inner.start + path.len();
    let path = path.trim_end();
    let sign = sign.trim();
    let filters = b.policy.filters;
    // Whatever is around the text in the file, one of the quotes can be written there.
    let plain = !otherwise.contains(['\'', '"', '\\']);
    let (code, span, meant, message) = if filters {
        let message = if sign.contains("default") {
            "`default` needs its text in parentheses".to_owned()
        } else {
            format!("`{sign}` is not supported in a placeholder")
        };
        let gap = text.len() - text.get(path.len()..).unwrap_or_default().trim_start().len();
        let filter = format!("| default('{otherwise}')");
        ("template-bad-filter", inner.start + gap..inner.end, Some(filter), message)
    } else if b.policy.blocks == Blocks::If {
        ("template-bad-path", start..inner.end, None, format!("`{sign}` is not supported in a placeholder"))
    } else {
        let meant = format!("default {path} '{otherwise}'");
        ("template-syntax", inner, Some(meant), format!("`{sign}` is not supported in a placeholder"))
    };
    let noted = b.mistakes.add(code, span, message);
    match meant {
        Some(meant) => {
            let help = if filters { format!("write `{{{{ {path} {meant} }}}}`") } else { format!("write `{{{{{meant}}}}}`") };
            if plain {
                noted.surely(meant);
            }
            noted.help(help);
        }
        None => noted.help(format!(
            "set a `default` for the property in its schema, or write `{{{{#if {path}}}}}{{{{{path}}}}}{{{{/if}}}}` and, for the \
             other case, `{{{{#if {path} == null}}}}{otherwise}{{{{/if}}}}`"
        )),
    }
    true
}

/// The path with the spaces after it, the sign, and the text without its quotes.
fn cut(text: &str) -> Option<(&str, &str, &str)> {
    let path = text.split(|c: char| c.is_whitespace() || !(in_segment(c) || c == '.') || c == '?').next()?;
    let rest = text.get(path.len()..)?;
    let spaced = rest.trim_start();
    let sign = SIGNS
        .iter()
        .find(|sign| spaced.starts_with(**sign) && (sign.starts_with(['|', '?']) || spaced.len() < rest.len()))?;
    let quoted = spaced.get(sign.len()..)?.trim();
    let quote = quoted.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let otherwise = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    let path = text.get(..text.len() - spaced.len()).filter(|path| !path.trim().is_empty())?;
    (!otherwise.contains(quote)).then_some((path, *sign, otherwise))
}
