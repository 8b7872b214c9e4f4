//! Runs the benches and writes their table, with a description of the machine, to `docs/performance.md`.

use std::path::Path;
use std::process::Command;

use crate::Outcome;

const BEGIN: &str = "<!-- table: cargo xtask performance -->";
const END: &str = "<!-- end of table -->";

/// Measures, and writes the table.
pub fn run(root: &Path) -> Outcome {
    let output = Command::new(env!("CARGO"))
        .args(["bench", "--quiet", "--package", "trefoil-bench"])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo bench: {e}"))?;
    if !output.status.success() {
        return Err("cargo bench failed".to_owned());
    }
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{table}");
    let path = root.join("docs/performance.md");
    let page = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (before, rest) = page.split_once(BEGIN).ok_or("docs/performance.md has lost its table marks")?;
    let (_, after) = rest.split_once(END).ok_or("docs/performance.md has lost its table marks")?;
    let page = format!("{before}{BEGIN}\n\n{}\n\n{}\n{END}{after}", machine(), table.trim());
    std::fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(0)
}

/// Describes the machine in one line.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .and_then(|l| l.split(": ").nth(1))
        .unwrap_or("unknown processor")
        .to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Measured on {model}, {cores} cores, {} {}.", std::env::consts::OS, std::env::consts::ARCH)
}
