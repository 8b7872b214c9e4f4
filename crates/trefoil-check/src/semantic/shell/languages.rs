//! Programs that read some of their words, or what they are sent, as code.

/// What the words without a dash are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    /// Data.
    Data,
    /// The first one is a file of code, the others are data.
    File,
    /// The first one is code, where no option gave it.
    Code,
    /// All behind the first so many are code.
    Rest(usize),
}

/// How a program takes code.
#[derive(Debug, Clone, Copy)]
pub struct Language {
    /// Letters of options with code behind them.
    pub code: &'static str,
    /// Letters of options with a file of code behind them.
    pub file: &'static str,
    /// Letters of options with something else behind them.
    pub takes: &'static str,
    /// Long options with code.
    pub long: &'static [&'static str],
    pub operands: Operands,
    /// It reads code from its input, if it was given none.
    pub input: bool,
    /// It is a shell.
    pub shell: bool,
}

const NONE: Language =
    Language { code: "", file: "", takes: "", long: &[], operands: Operands::Data, input: false, shell: false };

/// The language of a program.
pub fn language(program: &str) -> Option<Language> {
    use Operands::{Code, Data, File, Rest};
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match stem {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" => {
            Language { code: "c", takes: "oO", operands: File, input: true, shell: true, ..NONE }
        }
        "su" => Language { code: "c", long: &["--command"], takes: "sg", shell: true, ..NONE },
        "python" | "pypy" => Language { code: "c", file: "m", takes: "WX", operands: File, input: true, ..NONE },
        "perl" => Language { code: "eE", takes: "", operands: File, input: true, ..NONE },
        "ruby" => Language { code: "e", takes: "rIC", operands: File, input: true, ..NONE },
        "node" | "nodejs" | "bun" => {
            Language { code: "ep", takes: "r", long: &["--eval", "--print"], operands: File, input: true, ..NONE }
        }
        "php" => {
            Language { code: "rBRE", file: "f", takes: "dc", long: &["--run"], operands: File, input: true, ..NONE }
        }
        "lua" | "Rscript" | "osascript" => Language { code: "e", operands: File, input: true, ..NONE },
        "pwsh" | "powershell" => {
            Language { long: &["-c", "-Command", "-command"], operands: File, input: true, ..NONE }
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            Language { code: "e", file: "f", takes: "Fv", long: &["--source"], operands: Code, ..NONE }
        }
        "sed" | "gsed" => {
            Language { code: "e", file: "f", takes: "l", long: &["--expression"], operands: Code, ..NONE }
        }
        "psql" => Language { code: "c", file: "f", takes: "dhpUvoPFRLT", long: &["--command"], input: true, ..NONE },
        "mysql" | "mariadb" => Language { code: "e", takes: "", long: &["--execute"], input: true, ..NONE },
        "sqlite" | "duckdb" => Language { long: &["-cmd", "-c", "-s"], operands: Rest(1), input: true, ..NONE },
        "mongo" | "mongosh" => Language { long: &["--eval"], input: true, ..NONE },
        "clickhouse-client" => Language { code: "q", long: &["--query"], input: true, ..NONE },
        "sqlcmd" => Language { code: "qQ", ..NONE },
        "cqlsh" => Language { code: "e", file: "f", long: &["--execute"], ..NONE },
        "source" | "" if matches!(program, "source" | ".") => Language { operands: File, ..NONE },
        "eval" | "alias" => Language { operands: Rest(0), shell: stem == "eval", ..NONE },
        "watch" => Language { takes: "n", operands: Rest(0), ..NONE },
        "parallel" => Language { takes: "jIaN", operands: Code, input: true, ..NONE },
        "ssh" => Language { takes: "bcDEeFIiJLlmOopQRSWw", operands: Rest(1), ..NONE },
        "trap" => Language { operands: Code, shell: true, ..NONE },
        "at" | "batch" | "crontab" => Language { takes: "fqtu", operands: Data, input: true, ..NONE },
        _ => return None,
    })
}

/// Programs that start the one named in their words.
pub fn starts_another(program: &str) -> bool {
    matches!(
        program,
        "sudo"
            | "doas"
            | "env"
            | "timeout"
            | "nohup"
            | "nice"
            | "ionice"
            | "xargs"
            | "docker"
            | "podman"
            | "kubectl"
            | "find"
            | "fd"
            | "time"
            | "exec"
            | "command"
            | "builtin"
            | "stdbuf"
            | "setsid"
            | "flock"
            | "chroot"
            | "busybox"
            | "unshare"
            | "nsenter"
            | "strace"
            | "script"
            | "entr"
            | "parallel"
            | "watch"
    )
}

/// How a program tells its options from its other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Options {
    /// By the dash, wherever they stand before `--`; the word after one may be its argument.
    Anywhere,
    /// The same, and no short one takes an argument.
    Switches,
    /// Only before the first other word.
    BeforeOperands,
    /// It starts the program that comes after so many words of its own; letters of options that take a word.
    Started { operands: u32, takes: &'static str },
    /// `find`: it starts the programs after `-exec`.
    Actions,
}

/// How a program reads options; none: what its words are is its own business, or none of them can do harm.
pub fn options(program: &str) -> Option<Options> {
    let started = |operands, takes| Some(Options::Started { operands, takes });
    match program {
        "" | "echo" | "test" | "[" | "[[" | ":" | "true" | "false" | "exit" | "return" | "cd" | "for" | "case"
        | "in" | "select" | "function" | "wait" | "sleep" | "basename" | "dirname" => None,
        // What they do with their words is known, or the rest of the rules says it.
        "eval" | "alias" | "trap" | "source" | "." | "su" | "ssh" | "docker" | "podman" | "kubectl" | "watch"
        | "at" | "batch" | "crontab" | "parallel" | "busybox" | "unshare" | "nsenter" | "script" | "entr" | "fd" => {
            None
        }
        // The words of a script are the script's.
        _ if language(program).is_some_and(|l| l.operands == Operands::File) => None,
        "awk" | "gawk" | "mawk" | "nawk" => None,
        "find" => Some(Options::Actions),
        "printf" => Some(Options::BeforeOperands),
        "rm" | "rmdir" | "ls" | "cat" | "mv" | "cp" | "touch" | "wc" | "unlink" | "chmod" | "chown" => {
            Some(Options::Switches)
        }
        "timeout" => started(1, "ks"),
        "flock" => started(1, "wE"),
        "chroot" => started(1, ""),
        "nohup" | "setsid" => started(0, ""),
        "env" => started(0, "uCS"),
        "nice" => started(0, "n"),
        "ionice" => started(0, "cnpPu"),
        "stdbuf" => started(0, "ioe"),
        "sudo" | "doas" => started(0, "ugpCThrtRD"),
        "time" => started(0, "fo"),
        "strace" => started(0, "eopsEuPIaOSX"),
        "xargs" => started(0, "InPLdsEa"),
        // A script of one's own.
        _ if program.contains('.') => None,
        _ => Some(Options::Anywhere),
    }
}

/// Variables that decide which code programs run.
pub fn decides_code(name: &str) -> bool {
    let exact = matches!(
        name,
        "PATH"
            | "BASH_ENV"
            | "SHELLOPTS"
            | "BASHOPTS"
            | "PROMPT_COMMAND"
            | "PS4"
            | "PYTHONPATH"
            | "PYTHONHOME"
            | "PYTHONSTARTUP"
            | "PERL5OPT"
            | "PERL5LIB"
            | "PERLLIB"
            | "RUBYOPT"
            | "RUBYLIB"
            | "NODE_OPTIONS"
            | "NODE_PATH"
            | "GIT_SSH"
            | "GIT_SSH_COMMAND"
            | "GIT_EXTERNAL_DIFF"
            | "GIT_PROXY_COMMAND"
            | "GIT_ASKPASS"
            | "JAVA_TOOL_OPTIONS"
            | "_JAVA_OPTIONS"
            | "CLASSPATH"
            | "RUSTC_WRAPPER"
    );
    exact || matches!(name, "LD_PRELOAD" | "LD_LIBRARY_PATH" | "LD_AUDIT") || name.starts_with("DYLD_")
}
