//! Where a text is in a workflow: the node or edge that reads it, and the part of the node. Both decide which names the text
//! can use.

/// What reads a text, and so the point of a run at which the text is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReadingPoint {
    /// A node, when it starts.
    Node(usize),
    /// The condition of an edge, after its source node has ended.
    EdgeFrom(usize),
    /// An agent that no node uses. It is not known which nodes will have run.
    Nobody,
}

/// The part of a node that contains a text, as far as it affects the available names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodePart {
    /// Any part that has no names of its own.
    Plain,
    /// A key whose value decides which steps run (`for_each`, `swarm_size`). It cannot read the environment: the steps of a
    /// run must not depend on it.
    Decides(&'static str),
    /// The `inputs` of a factory, which are rendered before they can be read.
    Inputs,
    /// The prompts of a factory's instance, which can read its loop variables and rendered inputs.
    Instance,
    /// The synthesis of a swarm, which can read the answers of its agents.
    Synthesis {
        /// Whether it is a factory's swarm rather than a node's.
        instance: bool,
    },
}
