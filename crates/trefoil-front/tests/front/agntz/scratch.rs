use super::support::{findings, story};
#[test]
fn scratch() {
    let text = std::fs::read_to_string(std::env::var("SCRATCH").unwrap()).unwrap();
    for case in text.split("=====\n") {
        let mut files = Vec::new();
        for part in case.split("--- ").filter(|p| !p.trim().is_empty()) {
            let (name, body) = part.split_once('\n').unwrap();
            files.push((name, body));
        }
        let with_ir = files[0].0.starts_with('+');
        eprintln!("{case}>>>>");
        if with_ir {
            eprintln!("{}", story(&files));
        } else {
            eprintln!("{}\n", findings(&files));
        }
    }
}
