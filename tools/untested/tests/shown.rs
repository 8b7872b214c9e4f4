//! The lines are shown although the test passes.
#![allow(clippy::print_stdout, reason = "what a passing test prints is hidden, which is the point")]

#[test]
fn a_line_of_a_passing_test_is_shown() {
    const MARK: &str = "UNTESTED_SHOWN";
    if std::env::var_os(MARK).is_some() {
        println!("captured");
        return untested::skipped("nothing is missing");
    }
    let own = std::process::Command::new(std::env::current_exe().unwrap()).env(MARK, "1").output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(said(&own.stderr), "not tested: a_line_of_a_passing_test_is_shown: nothing is missing\n");
    assert!(!said(&own.stdout).contains("captured"));
}
