//! The one binary for libFuzzer: `TREFOIL_FUZZ_TARGET` names the function of `fuzz-targets` that it calls.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&fuzz_targets::Target> = LazyLock::new(|| {
    let name = std::env::var("TREFOIL_FUZZ_TARGET").unwrap_or_default();
    fuzz_targets::target(&name).unwrap_or_else(|| {
        let names: Vec<&str> = fuzz_targets::TARGETS.iter().map(|t| t.name).collect();
        eprintln!("set TREFOIL_FUZZ_TARGET to one of: {}", names.join(", "));
        std::process::exit(2)
    })
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));
