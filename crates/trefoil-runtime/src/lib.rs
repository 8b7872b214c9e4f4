//! trefoil-runtime
