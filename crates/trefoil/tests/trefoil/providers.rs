//! The providers known to checks are those that can be called.

use std::collections::BTreeSet;

use trefoil_front::providers::PROVIDERS;
use trefoil_models::vendors::VENDORS;

#[test]
fn the_providers_of_manifests_are_those_that_this_version_knows() {
    let known: BTreeSet<&str> = VENDORS.iter().map(|v| v.name).collect();
    assert_eq!(known, BTreeSet::from(PROVIDERS));
}
