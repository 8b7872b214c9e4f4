//! Puts mistakes into the examples and, if it exists, into a corpus, and measures how many the checker finds.

use std::path::{Path, PathBuf};

use mutations::{Limits, run};

use crate::Outcome;

/// Prints the table; with `--verbose` also every missed mistake. The corpus is a folder with one folder for each
/// dialect; default: `../shared/corpus`, or that of `TREFOIL_SHARED`.
pub fn run_all(root: &Path, args: &[&str]) -> Outcome {
    let verbose = args.contains(&"--verbose");
    let corpus = args.iter().find(|a| !a.starts_with("--")).map(PathBuf::from);
    let shared =
        || std::env::var_os("TREFOIL_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from).join("corpus");
    let corpus = corpus.unwrap_or_else(shared);
    if !corpus.is_dir() {
        println!("no corpus at {}: only the examples", corpus.display());
    }
    let dialects = ["agntz", "aegis", "sirenspec"];
    let folders: Vec<_> =
        [root.join("examples"), corpus].iter().flat_map(|f| dialects.map(|d| (d, f.join(d)))).collect();
    let outcome = run(&folders, &Limits { seed: 7, per_file: 3, per_class: 40 });
    print!("{}", outcome.table(verbose));
    Ok(0)
}
