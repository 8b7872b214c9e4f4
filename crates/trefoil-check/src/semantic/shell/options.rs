//! How programs parse options: which options take a value, and which arguments start another program.

use super::languages::{OperandMeaning, find_language};

/// How a program distinguishes options from other arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum OptionSyntax {
    /// By the dash, anywhere before `--`; the letters of options that take a value. `None`: unknown, so each may.
    Anywhere(Option<&'static str>),
    /// Only before the first other argument.
    BeforeOperands,
    /// It starts the program that follows after some arguments of its own.
    Started(ProgramStarter),
    /// `find`: it starts the programs after `-exec`.
    Actions,
}

/// A program that starts another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramStarter {
    /// The number of its own arguments before it.
    pub operands: u32,
    /// How many arguments determine what runs: for a container, the image and the program in it.
    pub programs: u32,
    /// Letters of options that take a value.
    pub takes: &'static str,
    /// Long options that take a value.
    pub long: &'static [&'static str],
}

/// How a program parses options; `command`: its first argument without a dash. `None`: unknown, or none of its options
/// can do harm.
pub(super) fn option_syntax(program: &str, command: &str) -> Option<OptionSyntax> {
    match program {
        "" | "echo" | "test" | "[" | "[[" | ":" | "true" | "false" | "exit" | "return" | "cd" | "for" | "case"
        | "in" | "select" | "function" | "wait" | "sleep" | "basename" | "dirname" => None,
        // Their arguments are handled elsewhere, or other rules check them.
        "eval" | "alias" | "trap" | "source" | "." | "su" | "runuser" | "watch" | "at" | "batch" | "crontab"
        | "parallel" | "script" | "fd" | "tmux" => None,
        "awk" | "gawk" | "mawk" | "nawk" => None,
        "find" => Some(OptionSyntax::Actions),
        "printf" => Some(OptionSyntax::BeforeOperands),
        "docker" | "podman" | "kubectl" if !matches!(command, "run" | "create" | "exec") => None,
        _ => match find_starter(program) {
            Some(started) => Some(OptionSyntax::Started(started)),
            // The arguments of a script belong to the script.
            None if find_language(program).is_some_and(|l| l.operands == OperandMeaning::File) => None,
            // The user's own script.
            None if program.contains('.') => None,
            None => Some(OptionSyntax::Anywhere(value_letters(program, command))),
        },
    }
}

/// Programs that start the one named in their arguments.
fn find_starter(program: &str) -> Option<ProgramStarter> {
    const CONTAINER: &[&str] = &[
        "--add-host",
        "--cap-add",
        "--cap-drop",
        "--cidfile",
        "--cpus",
        "--device",
        "--dns",
        "--entrypoint",
        "--env",
        "--env-file",
        "--expose",
        "--gpus",
        "--hostname",
        "--ipc",
        "--label",
        "--link",
        "--log-driver",
        "--memory",
        "--mount",
        "--name",
        "--net",
        "--network",
        "--network-alias",
        "--pid",
        "--platform",
        "--publish",
        "--pull",
        "--restart",
        "--runtime",
        "--security-opt",
        "--shm-size",
        "--stop-signal",
        "--tmpfs",
        "--ulimit",
        "--user",
        "--userns",
        "--volume",
        "--volumes-from",
        "--workdir",
    ];
    const SUDO: &[&str] = &["--user", "--group", "--prompt", "--chdir", "--host", "--chroot"];
    let row = |operands, takes, long| Some(ProgramStarter { operands, programs: 1, takes, long });
    match program {
        "timeout" => row(1, "ks", &["--signal", "--kill-after"]),
        "flock" => row(1, "wE", &["--timeout", "--wait", "--conflict-exit-code"]),
        "chroot" => row(1, "", &[]),
        "taskset" => row(1, "", &[]),
        "chrt" => row(1, "TPD", &[]),
        "nohup" | "setsid" | "busybox" | "fakeroot" | "pkexec" | "xvfb-run" => row(0, "", &[]),
        "env" => row(0, "uC", &["--unset", "--chdir"]),
        "nice" => row(0, "n", &["--adjustment"]),
        "ionice" => row(0, "cnpPu", &["--class", "--classdata"]),
        "stdbuf" => row(0, "ioe", &["--input", "--output", "--error"]),
        "sudo" | "doas" => row(0, "ugpCThrtRD", SUDO),
        "time" => row(0, "fo", &["--format", "--output"]),
        "strace" | "ltrace" => row(0, "eopsEuPIaOSX", &[]),
        "valgrind" => row(0, "", &[]),
        "unshare" => row(0, "SGRw", &["--root", "--wd", "--setuid", "--setgid", "--propagation"]),
        "nsenter" => row(0, "tSG", &["--target", "--setuid", "--setgid"]),
        "systemd-run" => row(0, "pHMuE", &["--unit", "--property", "--uid", "--gid", "--setenv", "--slice"]),
        "entr" => row(0, "", &[]),
        "screen" => row(0, "cehpsStT", &[]),
        "npx" | "bunx" | "uvx" => row(0, "p", &["--package", "--from", "--with"]),
        "xargs" => row(0, "InPLdsEa", &["--max-args", "--max-procs", "--max-lines", "--delimiter", "--arg-file"]),
        "docker" | "podman" => Some(ProgramStarter { operands: 1, programs: 2, takes: "aecehlmpuvw", long: CONTAINER }),
        // The pod is a separate argument.
        "kubectl" => row(2, "cnf", &["--container", "--namespace", "--image", "--filename", "--context"]),
        _ => None,
    }
}

/// Whether a program starts another one from its arguments.
pub(super) fn starts_another(program: &str) -> bool {
    matches!(program, "find" | "fd" | "parallel" | "watch" | "script") || find_starter(program).is_some()
}

/// Whether a program is known.
pub(super) fn is_known(program: &str) -> bool {
    value_letters(program, "").is_some() || program == "git"
}

/// The letters of a program's options that take a value; `None`: unknown.
pub(super) fn value_letters(program: &str, command: &str) -> Option<&'static str> {
    Some(match program {
        "grep" | "egrep" | "fgrep" | "zgrep" => "efmABCdD",
        "rg" => "efgmABCEjMrtT",
        "sort" => "kotST",
        "uniq" => "fsw",
        "head" | "tail" => "ncs",
        "cut" => "bcdf",
        "tr" | "tac" | "rev" | "comm" | "cksum" | "md5sum" | "sha1sum" | "sha256sum" | "realpath" | "readlink" => "",
        "rm" | "rmdir" | "cat" | "wc" | "unlink" | "chmod" | "chown" | "chgrp" | "tee" => "",
        "ls" => "IwT",
        "mv" | "cp" | "ln" => "tS",
        "touch" => "drt",
        "mkdir" => "mZ",
        "install" => "mgotS",
        "stat" => "cft",
        "du" | "df" => "BdtxX",
        "file" => "mfFPe",
        "diff" | "cmp" => "CIUFLWxXni",
        "patch" => "dDFgiopBrVYz",
        "tar" => "fCbgKNTVXIFLH",
        "zip" => "bntPsTxi",
        "unzip" => "dxP",
        "gzip" | "gunzip" | "bzip2" | "xz" => "STFC",
        "jq" => "fL",
        "base64" | "fold" | "fmt" => "wbi",
        "date" => "dfrs",
        "split" => "abClnt",
        "shuf" => "ino",
        "xxd" | "od" | "strings" => "lcsgojNtAwSn",
        "curl" => "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
        "wget" => "oaeiBtOTwQPUlADIXR",
        "rsync" => "efTBM",
        "ssh" => "bcDEeFIiJLlmOopQRSWw",
        "scp" | "sftp" => "cDFiJloPSX",
        "git" => return git(command),
        _ => return find_starter(program).map(|s| s.takes),
    })
}

/// The same of a command of `git`.
fn git(command: &str) -> Option<&'static str> {
    Some(match command {
        "checkout" | "worktree" => "bB",
        "switch" => "cC",
        "commit" => "mFCct",
        "push" => "o",
        "pull" => "sXjo",
        "fetch" => "oj",
        "clone" => "obujc",
        "log" | "show" | "diff" => "nLSGO",
        "tag" => "mFu",
        "branch" => "u",
        "merge" => "msXF",
        "rebase" => "sXxC",
        "reset" | "add" | "rm" | "mv" | "status" | "rev-parse" | "ls-tree" | "cat-file" => "",
        "restore" => "s",
        "stash" => "m",
        "grep" => "efmABCO",
        "blame" => "LS",
        "cherry-pick" | "revert" => "msX",
        "archive" => "o",
        "apply" | "am" => "pC",
        "ls-remote" => "o",
        _ => return None,
    })
}

/// Long options that take no value in any program.
const SWITCHES: &[&str] = &[
    "--all",
    "--dry-run",
    "--force",
    "--help",
    "--ignore-case",
    "--json",
    "--quiet",
    "--recursive",
    "--silent",
    "--verbose",
    "--version",
    "--yes",
];

/// Long options of single programs that take no value.
fn switches(program: &str) -> &'static [&'static str] {
    match program {
        "curl" | "wget" => &[
            "--compressed",
            "--content-disposition",
            "--continue",
            "--fail",
            "--fail-with-body",
            "--get",
            "--globoff",
            "--head",
            "--http1.1",
            "--http2",
            "--include",
            "--insecure",
            "--ipv4",
            "--ipv6",
            "--location",
            "--location-trusted",
            "--raw",
            "--remote-name",
            "--show-error",
            "--spider",
            "--tlsv1.2",
            "--tlsv1.3",
        ],
        "git" => &[
            "--amend",
            "--bare",
            "--cached",
            "--detach",
            "--hard",
            "--mirror",
            "--oneline",
            "--prune",
            "--rebase",
            "--recurse-submodules",
            "--single-branch",
            "--soft",
            "--squash",
            "--staged",
            "--stat",
            "--tags",
        ],
        "grep" | "egrep" | "fgrep" | "rg" => &[
            "--count",
            "--extended-regexp",
            "--files-with-matches",
            "--fixed-strings",
            "--invert-match",
            "--line-number",
            "--only-matching",
            "--perl-regexp",
            "--word-regexp",
        ],
        "sort" | "uniq" => &["--numeric-sort", "--reverse", "--unique", "--count"],
        "tar" => &["--create", "--extract", "--gzip", "--list", "--xz", "--zstd"],
        "rsync" => &["--archive", "--compress", "--delete", "--update"],
        "find" => &["-H", "-L", "-P"],
        _ => &[],
    }
}

/// Whether a long option takes no value.
pub(super) fn is_switch(program: &str, option: &str) -> bool {
    option.starts_with("--no-") || SWITCHES.contains(&option) || switches(program).contains(&option)
}

/// The number of following arguments that a literal option takes; `letters`: the short options that take one.
pub(super) fn takes_next(program: &str, option: &str, letters: Option<&str>) -> u32 {
    if option.contains('=') || is_switch(program, option) {
        return 0;
    }
    match letters {
        // A name and its value.
        _ if program == "jq" && matches!(option, "--arg" | "--argjson" | "--slurpfile" | "--rawfile") => 2,
        Some(letters) if !option.starts_with("--") => last_takes(option, letters).into(),
        _ => 1,
    }
}

/// Whether the first letter that takes a value is the last one; otherwise the value is attached.
pub(super) fn last_takes(option: &str, letters: &str) -> bool {
    let option = option.trim_start_matches('-');
    option.find(|c| letters.contains(c)).is_some_and(|at| at + 1 == option.len())
}
