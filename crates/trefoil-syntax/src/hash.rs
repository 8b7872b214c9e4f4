//! The maps and sets used for loading and checking.
//!
//! A check creates tens of maps with small keys for every step. With the standard library's hash function, hashing
//! would cost more than the rest of the look-up. The hasher is seeded randomly in every process, so nothing may depend
//! on the order of these maps.

/// The hash function.
pub type MapHasher = foldhash::fast::RandomState;
/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, MapHasher>;
/// A set.
pub type HashSet<T> = std::collections::HashSet<T, MapHasher>;
