//! Composes structural keys. Their grammar is documented at [`Key`].

use std::fmt::Write as _;

use super::Key;

/// Separators and marks, which are escaped in names.
const MARKS: &[char] = &['/', '@', '[', '#', '!', '~', '%'];

/// A label as a key segment: marks become `%XX`.
pub fn escape_label(label: &str) -> String {
    if !label.contains(MARKS) {
        return label.to_owned();
    }
    let mut out = String::with_capacity(label.len() + 6);
    for c in label.chars() {
        if MARKS.contains(&c) {
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Composes keys in one buffer, so that a key costs one allocation.
#[derive(Debug, Default)]
pub struct KeyBuilder {
    buffer: String,
}

impl KeyBuilder {
    /// `parent` with the parts appended by `write`. A name is separated by `/`; a mark follows directly.
    pub fn build_key(&mut self, parent: &Key, write: impl FnOnce(&mut KeyWriter<'_>)) -> Key {
        self.buffer.clear();
        self.buffer.push_str(&parent.0);
        write(&mut KeyWriter(&mut self.buffer));
        if self.buffer == *parent.0 { parent.clone() } else { Key(self.buffer.as_str().into()) }
    }
}

/// A key under construction.
pub struct KeyWriter<'b>(&'b mut String);

impl KeyWriter<'_> {
    /// Appends a segment (already escaped), which may be empty or start with the mark of a copy.
    pub fn push_name(&mut self, segment: &str) -> &mut Self {
        if !self.0.is_empty() && !segment.is_empty() && !segment.starts_with('~') {
            self.0.push('/');
        }
        self.0.push_str(segment);
        self
    }
    /// `@PASS`: a loop pass or a state's visit.
    pub fn push_pass(&mut self, pass: u32) -> &mut Self {
        let _ = write!(self.0, "@{pass}");
        self
    }
    /// `[ITEM]`: an instance of a fan-out.
    pub fn push_item(&mut self, item: u32) -> &mut Self {
        let _ = write!(self.0, "[{item}]");
        self
    }
    /// `#ATTEMPT`: an iteration.
    pub fn push_iteration(&mut self, iteration: u32) -> &mut Self {
        let _ = write!(self.0, "#{iteration}");
        self
    }
    /// `!TRY`: a retry.
    pub fn push_try(&mut self, attempt: u32) -> &mut Self {
        let _ = write!(self.0, "!{attempt}");
        self
    }
    /// `~NAME`: an activity of the machine itself for a step; `~NAME.N` if `above` enclosing steps share its key.
    pub fn push_own_name(&mut self, name: &str, above: u32) -> &mut Self {
        self.0.push('~');
        self.0.push_str(name);
        if above > 0 {
            let _ = write!(self.0, ".{above}");
        }
        self
    }
    /// Sixteen digits that distinguish the questions of one step.
    pub fn push_digits(&mut self, hash: u64) -> &mut Self {
        let _ = write!(self.0, ":{hash:016x}");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_as_their_documentation_says() {
        let mut builder = KeyBuilder::default();
        let root = Key("".into());
        let write = builder.build_key(&root, |k| {
            k.push_name("write");
        });
        assert_eq!(&*write.0, "write");
        let deep = builder.build_key(&write, |k| {
            k.push_pass(2).push_item(0).push_iteration(3).push_name("review").push_try(2).push_own_name("timeout", 1);
        });
        assert_eq!(&*deep.0, "write@2[0]#3/review!2~timeout.1");
    }

    #[test]
    fn marks_in_labels_cannot_be_mistaken_for_structure() {
        assert_eq!(escape_label("a/b@1"), "a%2Fb%401");
        assert_eq!(escape_label("plain-id_1 é"), "plain-id_1 é");
    }
}
