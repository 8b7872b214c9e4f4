//! The text form that `trefoil ir` prints and snapshots use.
