//! trefoil-ir
