//! Messages as watchers see them: masked, with the origin of each part.

use std::sync::Arc;

use trefoil_template::{Hole, Masked, MaskedPiece, Value};

use super::run_context::RunContext;
use trefoil_machine::blocks;
use trefoil_machine::event::DisplayedMessage;
use trefoil_machine::provenance::{TextPart, realign_parts, text_spans};
use trefoil_machine::request::{ModelMessage, ModelToolCall};

/// The message as it may be shown.
pub fn displayed_message(context: &RunContext, message: &ModelMessage) -> DisplayedMessage {
    let ModelMessage { role, calls, answers, .. } = message;
    let shown = |content: Arc<str>, spans| {
        // Sealed data is only for its provider.
        let calls = calls.iter().map(|call| ModelToolCall { sealed: None, ..call.clone() }).collect();
        let (role, answers) = (*role, answers.clone());
        DisplayedMessage { role, content, spans, calls, answers }
    };
    if let Some(text) = blocks::render_content(&message.content) {
        let text = context.displayed_value(&Value::from(text)).to_text();
        let whole = message.parts.first().map(|part| TextPart { len: text.len() as u32, origin: part.origin.clone() });
        let spans = text_spans(whole.as_slice(), &text);
        return shown(text, spans);
    }
    let content = context.displayed_value(&message.content).to_text();
    if message.parts.is_empty() {
        return shown(content, Vec::new());
    }
    let (parts, text) = replace_holes(&message.parts, &message.content, |hole| {
        context.displayed_value(&Masked::from_hole(hole.clone()).into_value()).as_str().unwrap_or_default().to_owned()
    });
    let parts = realign_parts(parts, &text, &content);
    let spans = text_spans(&parts, &content);
    shown(content, spans)
}

/// The length of a hole in the machine's text.
const HOLE: usize = "***".len();

/// Replaces each hole by the result of `shown`. Returns the parts with their new lengths, and the text.
fn replace_holes(parts: &[TextPart], content: &Value, shown: impl Fn(&Hole) -> String) -> (Vec<TextPart>, String) {
    let Value::Masked(masked) = content else { return (parts.to_vec(), content.to_text().to_string()) };
    let mut text = String::new();
    // Where each hole ends in the machine's text, and by how much it is longer in the shown text.
    let mut holes: Vec<(usize, i64)> = Vec::new();
    let mut at = 0;
    for piece in &masked.pieces {
        match piece {
            MaskedPiece::Text(known) => {
                text.push_str(known);
                at += known.len();
            }
            MaskedPiece::Hole(hole) => {
                let filled = shown(hole);
                text.push_str(&filled);
                at += HOLE;
                holes.push((at, filled.len() as i64 - HOLE as i64));
            }
        }
    }
    let mut holes = holes.into_iter().peekable();
    let mut end = 0;
    let mut moved = Vec::with_capacity(parts.len());
    for part in parts {
        end += part.len as usize;
        let mut len = i64::from(part.len);
        while let Some((_, more)) = holes.next_if(|(hole, _)| *hole <= end) {
            len += more;
        }
        if let Ok(len @ 1..) = u32::try_from(len) {
            moved.push(TextPart { len, origin: part.origin.clone() });
        }
    }
    (moved, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_machine::provenance::{Origin, OriginKind};
    use trefoil_template::HoleKind;

    #[test]
    fn a_hole_is_as_long_as_what_is_shown_for_it() {
        let hole = |name: &str| MaskedPiece::Hole(Hole::new(HoleKind::Env, name));
        let pieces = vec![MaskedPiece::Text("a ".into()), hole("LONG"), hole("NONE"), MaskedPiece::Text(" z".into())];
        let content = Masked { pieces }.into_value();
        let part = |len: u32, name: &str| TextPart { len, origin: Origin::from_kind(OriginKind::Env(name.into())) };
        let parts = [part(2, "1"), part(3, "2"), part(3, "3"), part(2, "4")];
        let (moved, text) =
            replace_holes(&parts, &content, |h| if &*h.name == "LONG" { "default".into() } else { "".into() });
        assert_eq!(text, "a default z");
        assert_eq!(moved, [part(2, "1"), part(7, "2"), part(2, "4")]);
    }
}
