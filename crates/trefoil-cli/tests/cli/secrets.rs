//! Several processes change the encrypted secrets at once.

use std::io::Write as _;
use std::process::{Child, Stdio};

use crate::world::{Folder, wait};

const MANY: usize = 24;

fn begin(folder: &Folder, args: &[&str]) -> Child {
    let mut command = folder.command(&[&["secrets"], args].concat());
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).stdin(Stdio::piped());
    command.spawn().unwrap()
}

/// All processes are started and wait for their values; then all get them.
fn together(folder: &Folder, all: &[(Vec<String>, String)]) {
    let start = |(args, _): &(Vec<String>, String)| begin(folder, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let mut children: Vec<Child> = all.iter().map(start).collect();
    let pipes: Vec<_> = children.iter_mut().map(|child| child.stdin.take().unwrap()).collect();
    for (mut pipe, (_, value)) in pipes.into_iter().zip(all) {
        // A process that needs no value may have ended.
        let _ = pipe.write_all(value.as_bytes());
    }
    for child in children {
        wait(child).exits(0);
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn all_secrets_that_are_set_at_once_are_kept() {
    let folder = Folder::new();
    // The first process also creates the key.
    let set = |first: usize| -> Vec<_> {
        (first..first + MANY).map(|n| (words(&format!("set S{n:02}")), format!("value {n}"))).collect()
    };
    together(&folder, &set(0));
    let names = |from: usize, to: usize| (from..to).map(|n| format!("S{n:02}\n")).collect::<String>();
    let listed = || wait(begin(&folder, &["list"])).exits(0).out.clone();
    assert_eq!(listed(), names(0, MANY));
    // The old ones are removed while others are set and the key is changed.
    let removed = (0..MANY).map(|n| (words(&format!("remove S{n:02}")), String::new()));
    let other_key = [(words("passphrase --remove"), String::new())];
    together(&folder, &set(MANY).into_iter().chain(removed).chain(other_key).collect::<Vec<_>>());
    assert_eq!(listed(), names(MANY, 2 * MANY));
    // Every value can be read, so all were encrypted with one key.
    together(&folder, &[(words("passphrase"), "correct horse".to_owned())]);
}
