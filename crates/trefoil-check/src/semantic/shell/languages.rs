//! Programs that read some of their arguments, or their input, as code.

use super::settings::{CodeSettings, GIT, SSH};

/// The meaning of arguments without a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandMeaning {
    /// Data.
    Data,
    /// The first one is a file with code; the others are data.
    File,
    /// The first one is code, if no option contained it.
    Code,
    /// All after this many are code.
    Rest(usize),
    /// All after this many are another program and its arguments.
    Program(usize),
    /// All after this first argument are code; with another one, all are data.
    After(&'static str),
}

/// How a program receives code.
#[derive(Debug, Clone, Copy)]
pub struct CodeLanguage {
    /// Letters of options followed by code.
    pub code: &'static str,
    /// Letters of options followed by a file with code.
    pub file: &'static str,
    /// Letters of options followed by another value.
    pub takes: &'static str,
    /// Long options followed by code.
    pub long: &'static [&'static str],
    /// Long options followed by another value.
    pub long_takes: &'static [&'static str],
    pub operands: OperandMeaning,
    /// Whether it reads code from its input if it got none otherwise.
    pub input: bool,
    /// Whether its code is shell code.
    pub shell: bool,
    /// Whether its `-c` is a switch, so that the first argument after all options is the code.
    pub switched: bool,
    /// Whether arguments that start with `+` are code.
    pub plus: bool,
    /// The letter of the option that sets a variable in its code.
    pub assigns: &'static str,
    pub settings: Option<&'static CodeSettings>,
}

const NONE: CodeLanguage = CodeLanguage {
    code: "",
    file: "",
    takes: "",
    long: &[],
    long_takes: &[],
    operands: OperandMeaning::Data,
    input: false,
    shell: false,
    switched: false,
    plus: false,
    assigns: "",
    settings: None,
};

/// The language of an unknown program: what most languages have in common.
pub const UNNAMED: CodeLanguage = CodeLanguage { code: "ce", long: &["--eval", "--command"], ..NONE };

/// The language of a program.
pub fn find_language(program: &str) -> Option<CodeLanguage> {
    if matches!(program, "source" | ".") {
        return Some(CodeLanguage { operands: OperandMeaning::File, ..NONE });
    }
    let program = program.strip_suffix(".exe").unwrap_or(program);
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    shell(stem).or_else(|| interpreter(stem)).or_else(|| tool(stem)).or_else(|| starter(stem))
}

/// Shells and programs that start one.
fn shell(stem: &str) -> Option<CodeLanguage> {
    use OperandMeaning::{After, Code, File, Rest};
    Some(match stem {
        "sh" | "bash" | "rbash" | "dash" | "zsh" | "ksh" | "mksh" | "lksh" | "oksh" | "pdksh" | "ash" | "yash"
        | "posh" | "csh" | "tcsh" | "hush" => CodeLanguage {
            code: "c",
            takes: "oO",
            long_takes: &["--rcfile", "--init-file"],
            operands: File,
            input: true,
            shell: true,
            switched: true,
            ..NONE
        },
        "fish" => CodeLanguage {
            code: "cC",
            takes: "dDfo",
            long: &["--command", "--init-command"],
            operands: File,
            input: true,
            shell: true,
            ..NONE
        },
        "nu" | "elvish" | "xonsh" | "rc" | "es" => {
            CodeLanguage { code: "c", long: &["--commands"], operands: File, input: true, ..NONE }
        }
        "su" | "runuser" => CodeLanguage {
            code: "c",
            takes: "sgGuw",
            long: &["--command", "--session-command"],
            input: true,
            shell: true,
            ..NONE
        },
        "script" => {
            CodeLanguage { code: "c", takes: "BEIOTmo", long: &["--command"], input: true, shell: true, ..NONE }
        }
        "cmd" => CodeLanguage { operands: After("/c"), ..NONE },
        "eval" | "alias" => CodeLanguage { operands: Rest(0), shell: stem == "eval", ..NONE },
        "trap" => CodeLanguage { operands: Code, shell: true, ..NONE },
        "compgen" => CodeLanguage { code: "CFW", takes: "AGPSXo", ..NONE },
        "mapfile" | "readarray" => CodeLanguage { code: "C", takes: "dnOsuc", ..NONE },
        "bind" => CodeLanguage { code: "x", takes: "mqur", ..NONE },
        _ => return None,
    })
}

/// Interpreters of programming languages.
fn interpreter(stem: &str) -> Option<CodeLanguage> {
    use OperandMeaning::{After, Code, Data, File};
    Some(match stem {
        "python" | "pypy" | "ipython" => {
            CodeLanguage { code: "c", file: "m", takes: "WX", operands: File, input: true, ..NONE }
        }
        "perl" => CodeLanguage { code: "eE", takes: "", operands: File, input: true, ..NONE },
        "ruby" => CodeLanguage { code: "e", takes: "rIC", operands: File, input: true, ..NONE },
        "node" | "nodejs" | "bun" => {
            CodeLanguage { code: "ep", takes: "r", long: &["--eval", "--print"], operands: File, input: true, ..NONE }
        }
        "deno" => CodeLanguage { long: &["--eval"], operands: After("eval"), ..NONE },
        "php" => {
            CodeLanguage { code: "rBRE", file: "f", takes: "dc", long: &["--run"], operands: File, input: true, ..NONE }
        }
        "lua" | "luajit" | "Rscript" | "osascript" | "elixir" | "groovy" | "scala" => {
            CodeLanguage { code: "e", operands: File, input: true, ..NONE }
        }
        "R" => CodeLanguage { code: "e", file: "f", operands: Data, input: true, ..NONE },
        "julia" => CodeLanguage {
            code: "eE",
            takes: "JLptCH",
            long: &["--eval", "--print"],
            operands: File,
            input: true,
            ..NONE
        },
        "tclsh" | "guile" | "octave" | "ghci" | "jshell" | "irb" => {
            CodeLanguage { code: "ce", long: &["--eval"], operands: File, input: true, ..NONE }
        }
        "expect" => CodeLanguage { code: "c", file: "fb", operands: File, input: true, ..NONE },
        "pwsh" | "powershell" => {
            CodeLanguage { long: &["-c", "-Command", "-command"], operands: File, input: true, ..NONE }
        }
        "awk" | "gawk" | "mawk" | "nawk" => CodeLanguage {
            code: "e",
            file: "f",
            takes: "Fv",
            long: &["--source"],
            operands: Code,
            assigns: "v",
            ..NONE
        },
        "sed" | "gsed" => {
            CodeLanguage { code: "e", file: "f", takes: "l", long: &["--expression"], operands: Code, ..NONE }
        }
        _ => return None,
    })
}

/// Editors, databases and similar programs with their own commands.
fn tool(stem: &str) -> Option<CodeLanguage> {
    use OperandMeaning::Rest;
    Some(match stem {
        "make" | "gmake" => CodeLanguage { file: "fC", takes: "IoW", long: &["--eval"], ..NONE },
        "ed" | "red" => CodeLanguage { takes: "p", input: true, ..NONE },
        "ex" => CodeLanguage { code: "c", file: "S", takes: "tTuU", long: &["--cmd"], plus: true, input: true, ..NONE },
        "vi" | "vim" | "nvim" | "view" | "vimdiff" | "rvim" | "rview" | "gvim" | "gview" | "evim" => {
            CodeLanguage { code: "c", file: "Ss", takes: "tTuU", long: &["--cmd"], plus: true, ..NONE }
        }
        "emacs" => CodeLanguage { file: "l", takes: "fu", long: &["--eval", "-eval"], ..NONE },
        "less" => CodeLanguage { plus: true, ..NONE },
        "gdb" => CodeLanguage {
            file: "x",
            long: &["-ex", "--ex", "-iex", "--iex", "-eval-command", "--eval-command", "--init-eval-command"],
            input: true,
            ..NONE
        },
        "lldb" => CodeLanguage { code: "oO", file: "sS", long: &["--one-line"], takes: "npa", input: true, ..NONE },
        "psql" => {
            CodeLanguage { code: "c", file: "f", takes: "dhpUvoPFRLT", long: &["--command"], input: true, ..NONE }
        }
        "mysql" | "mariadb" => CodeLanguage { code: "e", takes: "", long: &["--execute"], input: true, ..NONE },
        "sqlite" | "duckdb" => CodeLanguage { long: &["-cmd", "-c", "-s"], operands: Rest(1), input: true, ..NONE },
        "mongo" | "mongosh" => CodeLanguage { long: &["--eval"], input: true, ..NONE },
        "clickhouse-client" => CodeLanguage { code: "q", long: &["--query"], input: true, ..NONE },
        "sqlcmd" => CodeLanguage { code: "qQ", ..NONE },
        "cqlsh" => CodeLanguage { code: "e", file: "f", long: &["--execute"], ..NONE },
        _ => return None,
    })
}

/// Programs that start other programs.
fn starter(stem: &str) -> Option<CodeLanguage> {
    use OperandMeaning::{Code, Data, Program, Rest};
    Some(match stem {
        "watch" => CodeLanguage { takes: "n", operands: Rest(0), ..NONE },
        "parallel" => CodeLanguage { takes: "jIaN", operands: Code, input: true, ..NONE },
        "entr" => CodeLanguage { code: "s", shell: true, operands: Program(0), ..NONE },
        "env" => CodeLanguage { code: "S", takes: "uC", long: &["--split-string"], operands: Program(0), ..NONE },
        "flock" => {
            CodeLanguage { code: "c", takes: "wE", long: &["--command"], shell: true, operands: Program(1), ..NONE }
        }
        "npx" => CodeLanguage { code: "c", takes: "p", long: &["--call"], operands: Program(0), ..NONE },
        // A command in its arguments is read by a shell.
        "tmux" => CodeLanguage { takes: "cefFLnSstTxy", operands: Rest(1), ..NONE },
        "ssh" => {
            CodeLanguage { takes: "bcDEeFIiJLlmOopQRSWw", operands: Rest(1), input: true, settings: Some(&SSH), ..NONE }
        }
        "scp" | "sftp" => CodeLanguage { code: "SD", takes: "cFiJlPX", settings: Some(&SSH), ..NONE },
        "wget" => CodeLanguage { long: &["--use-askpass"], ..NONE },
        "rsync" => CodeLanguage { code: "e", takes: "fTBM", long: &["--rsh", "--rsync-path"], ..NONE },
        "git" => CodeLanguage {
            takes: "C",
            long: &[
                "--exec",
                "--upload-pack",
                "--receive-pack",
                "--extcmd",
                "--tree-filter",
                "--index-filter",
                "--msg-filter",
                "--env-filter",
                "--commit-filter",
                "--parent-filter",
                "--tag-name-filter",
            ],
            settings: Some(&GIT),
            ..NONE
        },
        "tar" | "gtar" | "bsdtar" => CodeLanguage {
            code: "IF",
            takes: "fCbgKNTVXLH",
            long: &[
                "--to-command",
                "--use-compress-program",
                "--checkpoint-action",
                "--info-script",
                "--new-volume-script",
                "--rsh-command",
            ],
            ..NONE
        },
        "at" | "batch" | "crontab" => CodeLanguage { file: "f", takes: "qtu", operands: Data, input: true, ..NONE },
        _ => return None,
    })
}

/// Programs that run code of the folder in which they are started, such as a `Makefile`.
pub fn runs_its_folder(program: &str) -> bool {
    const ALL: &[&str] = &[
        "make",
        "gmake",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "bun",
        "bunx",
        "deno",
        "cargo",
        "gradle",
        "mvn",
        "ant",
        "sbt",
        "rake",
        "bundle",
        "just",
        "task",
        "tox",
        "nox",
        "pytest",
        "cmake",
        "ninja",
        "meson",
        "scons",
        "bazel",
        "mix",
        "composer",
        "terraform",
        "tofu",
        "vagrant",
        "ansible-playbook",
        "docker-compose",
        "pre-commit",
        "direnv",
        "dune",
        "stack",
    ];
    ALL.contains(&program)
}

/// Environment variables that determine which code programs run. `ENV` is not one of them: only interactive shells read
/// it, and it is a common name for something else.
pub fn decides_code(name: &str) -> bool {
    DECIDING.contains(&name)
        || ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "npm_config_", "NPM_CONFIG_"]
            .iter()
            .any(|p| name.starts_with(p))
}

const DECIDING: &[&str] = &[
    "PATH",
    // Shells.
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "ZDOTDIR",
    "SHELL",
    // Languages.
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "JULIA_LOAD_PATH",
    "DOTNET_STARTUP_HOOKS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    // Builds.
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "MAKEFILES",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "GOFLAGS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    // Editors, pagers and helpers that other programs start.
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "VIMINIT",
    "EXINIT",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_DIR",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "RSYNC_RSH",
    "CVS_RSH",
    "TAR_OPTIONS",
    "OPENSSL_CONF",
    "GCONV_PATH",
    // Folders with settings that name programs.
    "HOME",
    "XDG_CONFIG_HOME",
];
