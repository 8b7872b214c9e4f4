//! Walking a program: every step reachable from a flow, every expression of a step, every source of an expression.
