//! Compares `docs/models.md` with the code.

use trefoil_models::Scripted;
use trefoil_models::limits::{DEFAULT_CALL_MS, DEFAULT_FIRST_MS, DEFAULT_IDLE_MS};
use trefoil_models::vendors::VENDORS;

const PAGE: &str = include_str!("../../../../docs/models.md");

#[test]
fn every_provider_is_in_the_table() {
    for vendor in VENDORS {
        let row = PAGE.lines().find(|l| l.starts_with('|') && l.contains(&format!("`{}`", vendor.name)));
        let row = row.unwrap_or_else(|| panic!("`{}` is not in docs/models.md", vendor.name));
        assert!(row.contains(vendor.key_variable) && row.contains(vendor.base_url_variable), "{row}");
    }
}

#[test]
fn the_script_of_the_page_is_one() {
    let script = PAGE.split("```yaml\n").nth(1).and_then(|s| s.split("```").next()).unwrap();
    Scripted::parse("docs/models.md", script).unwrap();
}

#[test]
fn figures_are_right() {
    assert!(
        PAGE.contains("ten minutes")
            && DEFAULT_CALL_MS == 600_000
            && PAGE.contains("120 seconds")
            && DEFAULT_FIRST_MS == 120_000
            && PAGE.contains("60 seconds")
            && DEFAULT_IDLE_MS == 60_000
    );
}
