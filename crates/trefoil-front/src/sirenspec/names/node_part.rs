//! The reader of a text, and the part of it that contains the text.

/// The reader of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReadingPoint {
    /// A node, when it starts.
    Node(usize),
    /// The condition of an edge, after its source node has ended.
    EdgeFrom(usize),
    /// An agent that no node uses.
    Nobody,
}

/// The part of a node that contains a text, as far as it affects the available names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodePart {
    /// Any other part.
    Plain,
    /// A key whose value decides what is done (`for_each`, `swarm_size`), so it cannot read the environment.
    Decides(&'static str),
    /// The `inputs` of a factory, which are rendered before they can be read.
    Inputs,
    /// The work of a factory's instance.
    Instance,
    /// The synthesis of a swarm, which reads its agents.
    Synthesis {
        /// Whether it is a factory's swarm rather than a node's.
        instance: bool,
    },
}
