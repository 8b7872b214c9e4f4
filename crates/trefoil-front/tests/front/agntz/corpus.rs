use super::support::findings;
#[test]
fn dump() {
    let mut names: Vec<_> =
        std::fs::read_dir("/work/shared/corpus/agntz").unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for p in names {
        let t = std::fs::read_to_string(&p).unwrap();
        eprintln!("=== {}", p.file_name().unwrap().to_string_lossy());
        eprintln!("{}", findings(&[("a.yaml", &t)]));
    }
}
