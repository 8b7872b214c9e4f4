//! Human nodes: questions to a person.

use trefoil_ir::OnTimeout;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, Span};

use super::scalar;
use super::write::{self, NodeWrite};
use crate::MappingReader;

/// A question to a person.
#[derive(Debug, Clone)]
pub struct HumanNode<'n> {
    /// The question, a template; `None`: the node's id is used.
    pub prompt: Option<&'n YamlText>,
    /// The path for the answer.
    pub writes: Option<NodeWrite<'n>>,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Where that is written.
    pub timeout_at: Option<Span>,
    /// What happens on timeout.
    pub on_timeout: OnTimeout,
}

/// The keys of a human node.
pub fn read_human_node<'n>(fields: &mut MappingReader<'n, '_>) -> HumanNode<'n> {
    #[derive(Clone, Copy, PartialEq)]
    enum TimeoutChoice {
        Abort,
        Skip,
        UseDefault,
    }
    let prompt = fields.read_text("prompt");
    let writes = write::require_write(fields);
    let timeout_ms = scalar::read_seconds(fields, "timeout", false);
    let timeout_at = fields.peek_entry("timeout").map(|e| e.value.span);
    if timeout_ms.is_none()
        && let (None, Some(entry)) = (fields.take("timeout"), fields.take("on_timeout"))
    {
        let message = "`on_timeout` has no effect: without `timeout` the step waits forever";
        fields.reader.report_warning("no-effect", entry.key.span, message);
    }
    let read = fields.read_word(
        "on_timeout",
        &[("abort", TimeoutChoice::Abort), ("skip", TimeoutChoice::Skip), ("use_default", TimeoutChoice::UseDefault)],
    );
    // A misspelt choice is reported; a default shows which one was meant.
    let meant = read.is_none() && fields.take("on_timeout").is_some() && fields.take("default_output").is_some();
    let choice = read.unwrap_or(if meant { TimeoutChoice::UseDefault } else { TimeoutChoice::Abort });
    let on_timeout = match choice {
        TimeoutChoice::Abort => OnTimeout::Fail,
        TimeoutChoice::Skip => OnTimeout::Answer("".into()),
        TimeoutChoice::UseDefault => {
            let reader = fields.reader;
            if fields.take("default_output").is_none() {
                let at = match (fields.take("on_timeout"), fields.take_nullable("default_output")) {
                    (_, Some(default_output)) => default_output.key.span,
                    (Some(on_timeout), None) => on_timeout.value.span,
                    (None, None) => fields.head_span(),
                };
                reader.report_finding(Diagnostic::new_error(
                    "missing-key",
                    reader.location_of(at),
                    "`on_timeout: use_default` needs `default_output`",
                ));
            }
            OnTimeout::Answer(match scalar::read_plain_text(fields, "default_output") {
                Some(text) => text.value.clone(),
                None => "".into(),
            })
        }
    };
    if choice != TimeoutChoice::UseDefault {
        fields.no_effect(&["default_output"], "`on_timeout` is not `use_default`");
    }
    HumanNode { prompt, writes, timeout_ms, timeout_at, on_timeout }
}
