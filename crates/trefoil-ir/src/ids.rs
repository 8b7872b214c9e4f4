//! Typed indices. An id is created by the arena that owns it and is valid only there.

use crate::index_vec::TypedIndex;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The index in its arena.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl TypedIndex for $name {
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A flow of a program.
    FlowId;
    /// A step of a program.
    StepId;
    /// A slot of one flow.
    SlotId;
    /// A schema of a program.
    SchemaId;
    /// A node of one graph.
    NodeId;
    /// A state of one state machine.
    StateId;
}
