//! Letters: messages that stay in a run's inbox until the run has acted on them.
//!
//! A message comes with its [`Letters`]. They can only be passed on to an append, together with the entry that acts on the message.
//! So an act and the removal of its letter are one transaction, and a process that ends before or after it changes nothing about
//! that. Letters that are dropped stay in the inbox.

/// The number of a letter in its inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LetterId(pub u64);

/// The letters of one message. Cannot be copied, because one letter permits one act.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Letters(Vec<LetterId>);

impl Letters {
    /// The letters with these numbers.
    pub fn of(ids: impl IntoIterator<Item = LetterId>) -> Self {
        Self(ids.into_iter().collect())
    }

    /// Adds other letters.
    pub fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Their numbers.
    pub fn ids(&self) -> &[LetterId] {
        &self.0
    }
}

/// A message and its letters.
#[derive(Debug, PartialEq)]
pub struct Received<T> {
    /// The message.
    pub what: T,
    /// What acting on it takes out of the inbox.
    pub letters: Letters,
}

impl<T> Received<T> {
    /// A message that is in no inbox.
    pub fn here(what: T) -> Self {
        Self { what, letters: Letters::default() }
    }
}
