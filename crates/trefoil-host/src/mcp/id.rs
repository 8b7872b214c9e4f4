//! Finds the id of a message that cannot be read as JSON, or that is too long to be kept.

use serde_json::Value;
use trefoil_template::read_json_bytes;

/// Maximum length of an id in bytes, with its quotes.
const LONGEST: usize = 256;

/// A search for the `id` of the outermost object, part by part. It only needs to know where texts and lists end.
#[derive(Default)]
pub struct IdSearch {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The text or word that is being read in the outermost object.
    token: Vec<u8>,
    /// Whether the next value is the id.
    is_next: bool,
    found: Option<Value>,
}

impl IdSearch {
    /// Reads the next part.
    pub fn feed_part(&mut self, part: &[u8]) {
        part.iter().for_each(|byte| self.step(*byte));
    }

    /// The id, if there is one.
    pub fn id(mut self) -> Option<Value> {
        self.end_value();
        self.found
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.token.clear();
                self.is_next = false;
                self.depth += 1;
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' => {
                self.is_next = self.depth == 1 && self.token == b"\"id\"";
                self.token.clear();
            }
            b',' => self.end_value(),
            byte if byte.is_ascii_whitespace() => {}
            byte => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < LONGEST {
            self.token.push(byte);
        }
    }

    /// A value ends here.
    fn end_value(&mut self) {
        if self.is_next && self.depth == 1 {
            let value = read_json_bytes::<Value>(&self.token).ok();
            self.found = value.filter(|value| value.is_i64() || value.is_string()).or(self.found.take());
        }
        self.is_next = false;
        self.token.clear();
    }
}
