//! The maps and sets of loading and checking.
//!
//! A check makes tens of maps for every step it looks at, with keys of a few bytes; the standard library's hash costs more there
//! than the rest of the look-up. This one is seeded anew in every process. Nothing may depend on the order of its maps.

/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// A set.
pub type HashSet<T> = std::collections::HashSet<T, foldhash::fast::RandomState>;
