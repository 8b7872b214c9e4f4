//! The number of values in a JSON text, without parsing it.

use crate::limits;

/// An upper bound for the number of values in a JSON text, computed without parsing it.
pub fn json_nodes(text: &[u8]) -> usize {
    let mut counter = NodeCounter::default();
    counter.push(text);
    counter.node_count()
}

/// Whether a JSON text has more than [`limits::ANSWER_NODES`] values.
pub fn has_too_many_nodes(text: &[u8]) -> bool {
    text.len() > limits::ANSWER_NODES && json_nodes(text) > limits::ANSWER_NODES
}

/// Counts the values in a JSON text that arrives in pieces, as [`json_nodes`] does.
#[derive(Debug, Clone, Default)]
pub struct NodeCounter {
    seen: usize,
    within: bool,
    escaped: bool,
}

impl NodeCounter {
    /// Counts a piece.
    pub fn push(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.within => self.escaped = true,
                b'"' => self.within = !self.within,
                b',' | b'[' | b'{' if !self.within => self.seen += 1,
                _ => {}
            }
        }
    }

    /// The number of values so far.
    pub fn node_count(&self) -> usize {
        self.seen + 1
    }
}
