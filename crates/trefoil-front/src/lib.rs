//! trefoil-front
