use super::support::*;
#[test]
#[ignore = "shows one"]
fn show_ir() {
    let dir = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/aegis");
    let mut all = Vec::new();
    super::examples::files(&dir, "", &mut all);
    let mut all: Vec<(&str, &str)> = all.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let want = std::env::var("SHOW").unwrap();
    let at = all.iter().position(|(n, _)| *n == want).unwrap();
    all.swap(0, at);
    println!("{}", ir(&load(&all)));
}
