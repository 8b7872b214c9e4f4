//! Files that a manifest names and that are none of its business.
