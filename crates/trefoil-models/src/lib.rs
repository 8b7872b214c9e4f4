//! trefoil-models
