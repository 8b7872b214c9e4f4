//! Human nodes: questions to a person.

use std::sync::Arc;

use trefoil_ir::OnTimeout;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Span};

use super::scalar;
use super::write::{self, Write};
use crate::Fields;

/// A question to a person.
#[derive(Debug, Clone)]
pub struct HumanNode<'n> {
    /// The question, a template; `None`: the node's id is used.
    pub prompt: Option<&'n Text>,
    /// The path for the answer.
    pub writes: Option<Write<'n>>,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Where that is written.
    pub timeout_at: Option<Span>,
    /// What happens on timeout.
    pub on_timeout: OnTimeout,
}

/// The keys of a human node.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> HumanNode<'n> {
    #[derive(Clone, Copy, PartialEq)]
    enum Choice {
        Abort,
        Skip,
        UseDefault,
    }
    let prompt = fields.text("prompt");
    let writes = write::require(fields);
    let timeout_ms = scalar::seconds(fields, "timeout", false);
    let timeout_at = fields.entry("timeout").map(|e| e.value.span);
    if timeout_ms.is_none()
        && let (None, Some(entry)) = (fields.take("timeout"), fields.take("on_timeout"))
    {
        let message = "`on_timeout` has no effect: without `timeout` the step waits forever";
        fields.reader.warning("no-effect", entry.key.span, message);
    }
    let read = fields
        .word("on_timeout", &[("abort", Choice::Abort), ("skip", Choice::Skip), ("use_default", Choice::UseDefault)]);
    // A misspelt choice is reported; a default shows which one was meant.
    let meant = read.is_none() && fields.take("on_timeout").is_some() && fields.take("default_output").is_some();
    let choice = read.unwrap_or(if meant { Choice::UseDefault } else { Choice::Abort });
    let on_timeout = match choice {
        Choice::Abort => OnTimeout::Fail,
        Choice::Skip => OnTimeout::Answer("".into()),
        Choice::UseDefault => {
            let reader = fields.reader;
            if fields.take("default_output").is_none() {
                let on_timeout = fields.take("on_timeout").map_or(fields.head(), |e| e.value.span);
                let at = fields.take_nullable("default_output").map_or(on_timeout, |e| e.key.span);
                reader.report(Diagnostic::error(
                    "missing-key",
                    reader.at(at),
                    "`on_timeout: use_default` needs `default_output`",
                ));
            }
            let text: Option<Arc<str>> = scalar::plain(fields, "default_output").map(|t| t.value.clone());
            OnTimeout::Answer(text.unwrap_or_else(|| "".into()))
        }
    };
    if choice != Choice::UseDefault {
        fields.no_effect(&["default_output"], "`on_timeout` is not `use_default`");
    }
    HumanNode { prompt, writes, timeout_ms, timeout_at, on_timeout }
}
