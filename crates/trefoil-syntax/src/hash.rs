//! The maps and sets of loading and checking.
//!
//! A check makes tens of maps for every step it looks at, with keys of a few bytes; the standard library's hash costs more there
//! than the rest of the look-up. This one is seeded anew in every process. Nothing may depend on the order of its maps.

/// How they hash.
pub type Hasher = foldhash::fast::RandomState;
/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, Hasher>;
/// A set.
pub type HashSet<T> = std::collections::HashSet<T, Hasher>;
