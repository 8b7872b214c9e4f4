//! Mistakes in the text of a template or condition.

use std::ops::Range;

/// The finding for a template that reads a node as a key of `working`. Used both if the state is known, as in `render`,
/// and if only the names are known.
#[derive(Debug, Clone)]
pub struct NodeThroughWorking {
    /// The rule name.
    pub rule: &'static str,
    /// The message.
    pub message: String,
    /// The advice.
    pub help: String,
}

impl NodeThroughWorking {
    /// `path` is the path as written, `id` the node's id, `meant` the correct path.
    pub fn new(path: &str, id: &str, meant: &str) -> Self {
        Self {
            rule: "working-dot-node-id",
            message: format!("working_dot_node_id: `{path}` reads node `{id}` through `working`"),
            help: format!(
                "use `{{{{ {meant} }}}}`; in templates `working.*` is for paths that you write or seed yourself"
            ),
        }
    }
}

/// A mistake in the text of a template or condition, found when the file is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The name of the rule.
    pub code: &'static str,
    /// Lower case, no full stop, user text in backticks.
    pub message: String,
    /// The bytes in the text.
    pub span: Range<u32>,
    /// What to write instead.
    pub help: Option<String>,
    /// The replacement for the bytes of `span`, if they are one wrong word or sign.
    pub meant: Option<String>,
    /// Whether the replacement is certainly right, whatever the rest of the text says.
    pub sure: bool,
}

impl SyntaxError {
    /// Whether a tag or a comment is not closed. The replacement then extends to the end of the line.
    pub fn is_unclosed(&self) -> bool {
        self.code == "template-unclosed"
    }
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for SyntaxError {}

/// The sign in advice of the form ``write `==` ``.
pub(crate) fn sign_of(advice: &str) -> Option<&str> {
    let sign = advice.strip_prefix("write `")?.strip_suffix('`')?;
    (!sign.contains(['`', ' '])).then_some(sign)
}

/// The mistakes of one text, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct SyntaxMistakes {
    list: Vec<SyntaxError>,
    full: bool,
}

impl SyntaxMistakes {
    /// Adds a mistake. Beyond the limit, mistakes are dropped.
    pub fn add_mistake(
        &mut self,
        code: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut SyntaxMistakes {
        self.full = self.list.len() >= crate::limits::MISTAKES;
        if !self.full {
            let span = span.start as u32..span.end as u32;
            self.list.push(SyntaxError { code, message: message.into(), span, help: None, meant: None, sure: false });
        }
        self
    }

    /// Sets the advice of the last mistake.
    pub fn set_help(&mut self, help: impl Into<String>) {
        if let (false, Some(last)) = (self.full, self.list.last_mut()) {
            last.help.get_or_insert_with(|| help.into());
        }
    }

    /// Sets the likely replacement for the span of the last mistake.
    pub fn set_replacement(&mut self, meant: impl Into<String>) -> &mut SyntaxMistakes {
        if let (false, Some(last)) = (self.full, self.list.last_mut()) {
            last.meant.get_or_insert_with(|| meant.into());
        }
        self
    }

    /// Sets the certain replacement for the span of the last mistake.
    pub fn set_certain_replacement(&mut self, meant: impl Into<String>) {
        self.set_replacement(meant);
        if let (false, Some(last)) = (self.full, self.list.last_mut()) {
            last.sure = true;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The mistakes in the order of the text.
    pub fn into_errors(mut self) -> Vec<SyntaxError> {
        self.list.sort_by_key(|e| (e.span.start, e.span.end));
        self.list
    }
}
