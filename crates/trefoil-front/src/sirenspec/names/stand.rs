//! Who reads a text, and in which part of it.

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// A node, when it starts.
    Node(usize),
    /// An edge, when the node it leaves has ended: its condition.
    EdgeFrom(usize),
    /// An agent that no node uses.
    Nobody,
}

/// The part of a node that a text belongs to, as far as that matters to what it can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stand {
    /// Anywhere.
    Plain,
    /// In a key whose value decides what is done (`for_each`, `swarm_size`): the environment is out of reach.
    Decides(&'static str),
    /// In the `inputs` of a factory, which are rendered before anybody can read them.
    Inputs,
    /// In what a factory's instance does.
    Instance,
    /// In the synthesis of a swarm, which reads its agents; that of a factory's swarm, or of a node's.
    Synthesis {
        /// A factory's.
        instance: bool,
    },
}
