//! Programs that read some of their arguments, or their input, as code, and what decides which program runs: variables
//! of the environment, and the current folder.

/// The meaning of arguments that are not options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandMeaning {
    /// Data.
    Data,
    /// The first one is a file with code; the others are data.
    File,
    /// The first one is code, if no option contained it.
    Code,
    /// All after this many are code.
    CodeAfter(usize),
}

/// How a program receives code.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodeInterpreter {
    /// Letters of options followed by code.
    pub code: &'static str,
    /// Letters of options followed by a file or module with code.
    pub file: &'static str,
    /// Letters of options followed by another value.
    pub takes: &'static str,
    /// Long options followed by code.
    pub long: &'static [&'static str],
    pub operands: OperandMeaning,
    /// Whether it reads code from its input if it got none otherwise.
    pub input: bool,
    /// Whether its code is shell code.
    pub shell: bool,
}

const DATA: CodeInterpreter = CodeInterpreter {
    code: "",
    file: "",
    takes: "",
    long: &[],
    operands: OperandMeaning::Data,
    input: false,
    shell: false,
};

/// A language: scripts in files, and in the input.
const LANGUAGE: CodeInterpreter = CodeInterpreter { code: "e", operands: OperandMeaning::File, input: true, ..DATA };

const DATABASE: CodeInterpreter = CodeInterpreter { input: true, ..DATA };

impl CodeInterpreter {
    /// The interpreter that a program is.
    pub(super) fn for_program(program: &str) -> Option<Self> {
        let program = program.strip_suffix(".exe").unwrap_or(program);
        let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Some(match stem {
            _ if matches!(program, "source" | ".") => CodeInterpreter { operands: OperandMeaning::File, ..DATA },
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "csh" | "tcsh" | "fish" => {
                CodeInterpreter { code: "c", takes: "oO", shell: true, ..LANGUAGE }
            }
            "su" | "runuser" => {
                CodeInterpreter { code: "c", takes: "sgGuw", long: &["--command"], shell: true, ..DATA }
            }
            "eval" => CodeInterpreter { operands: OperandMeaning::CodeAfter(0), shell: true, ..DATA },
            "trap" => CodeInterpreter { operands: OperandMeaning::Code, shell: true, ..DATA },
            "ssh" => CodeInterpreter {
                takes: "bcDEeFIiJLlmOopQRSWw",
                operands: OperandMeaning::CodeAfter(1),
                input: true,
                ..DATA
            },
            "python" | "pypy" => CodeInterpreter { code: "c", file: "m", takes: "WX", ..LANGUAGE },
            "perl" => CodeInterpreter { code: "eE", ..LANGUAGE },
            "ruby" => CodeInterpreter { takes: "rIC", ..LANGUAGE },
            "node" | "bun" => CodeInterpreter { code: "ep", takes: "r", long: &["--eval", "--print"], ..LANGUAGE },
            "deno" => CodeInterpreter { operands: OperandMeaning::CodeAfter(1), ..DATA },
            "php" => CodeInterpreter { code: "r", file: "f", takes: "dc", long: &["--run"], ..LANGUAGE },
            "lua" | "Rscript" | "julia" | "elixir" | "osascript" => LANGUAGE,
            "pwsh" | "powershell" => CodeInterpreter { code: "", long: &["-c", "-Command", "-command"], ..LANGUAGE },
            "awk" | "gawk" | "mawk" => {
                CodeInterpreter { file: "f", takes: "Fv", operands: OperandMeaning::Code, ..DATA }
            }
            "sed" | "gsed" => CodeInterpreter { code: "e", file: "f", operands: OperandMeaning::Code, ..DATA },
            "vi" | "vim" | "nvim" | "ex" => CodeInterpreter { code: "c", takes: "tTuU", long: &["--cmd"], ..DATA },
            "psql" => CodeInterpreter { code: "c", file: "f", takes: "dhpUvoPFRLT", long: &["--command"], ..DATABASE },
            "mysql" | "mariadb" => CodeInterpreter { code: "e", long: &["--execute"], ..DATABASE },
            "sqlite" => CodeInterpreter { operands: OperandMeaning::CodeAfter(1), ..DATABASE },
            _ => return None,
        })
    }

    /// Whether the option for code is a switch, so that the first argument after all options is the code.
    pub(super) fn has_code_switch(&self) -> bool {
        self.shell && self.operands == OperandMeaning::File
    }
}

/// Whether a program starts the one that its arguments name. `find` does so after `-exec` only.
pub(super) fn starts_another(program: &str) -> bool {
    matches!(program, "env" | "nice" | "nohup" | "setsid" | "stdbuf" | "sudo" | "doas" | "time" | "timeout" | "xargs")
}

/// Whether a program runs code of the folder in which it is started, such as a `Makefile`.
pub(super) fn runs_its_folder(program: &str) -> bool {
    matches!(
        program,
        "make"
            | "gmake"
            | "npm"
            | "npx"
            | "yarn"
            | "pnpm"
            | "bun"
            | "bunx"
            | "deno"
            | "cargo"
            | "gradle"
            | "mvn"
            | "ant"
            | "sbt"
            | "rake"
            | "bundle"
            | "just"
            | "task"
            | "tox"
            | "nox"
            | "pytest"
            | "cmake"
            | "ninja"
            | "bazel"
            | "mix"
            | "composer"
            | "terraform"
            | "tofu"
            | "docker-compose"
            | "pre-commit"
    )
}

/// Whether a variable of the environment decides which code programs run. `ENV` is not one of them: only interactive
/// shells read it, and it is a common name for something else.
pub fn decides_code(name: &str) -> bool {
    let prefixes = ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "npm_config_", "NPM_CONFIG_"];
    let of_shells = matches!(
        name,
        "PATH" | "HOME" | "XDG_CONFIG_HOME" | "SHELL" | "BASH_ENV" | "PROMPT_COMMAND" | "PS4" | "ZDOTDIR"
    );
    let of_languages = matches!(
        name,
        "PYTHONPATH"
            | "PYTHONHOME"
            | "PYTHONSTARTUP"
            | "PERL5OPT"
            | "PERL5LIB"
            | "RUBYOPT"
            | "RUBYLIB"
            | "GEM_HOME"
            | "NODE_OPTIONS"
            | "NODE_PATH"
            | "LUA_INIT"
            | "LUA_PATH"
            | "PHPRC"
            | "PHP_INI_SCAN_DIR"
            | "R_PROFILE"
            | "JAVA_TOOL_OPTIONS"
            | "JDK_JAVA_OPTIONS"
            | "_JAVA_OPTIONS"
            | "CLASSPATH"
            | "DOTNET_STARTUP_HOOKS"
    );
    let of_builds = matches!(
        name,
        "MAKEFLAGS"
            | "GNUMAKEFLAGS"
            | "MAKEFILES"
            | "MAVEN_OPTS"
            | "GRADLE_OPTS"
            | "GOFLAGS"
            | "RUSTC"
            | "RUSTC_WRAPPER"
            | "RUSTFLAGS"
    );
    let of_helpers = matches!(
        name,
        "EDITOR"
            | "VISUAL"
            | "PAGER"
            | "MANPAGER"
            | "BROWSER"
            | "LESSOPEN"
            | "VIMINIT"
            | "EXINIT"
            | "GIT_SSH"
            | "GIT_SSH_COMMAND"
            | "GIT_EXTERNAL_DIFF"
            | "GIT_ASKPASS"
            | "GIT_EDITOR"
            | "GIT_PAGER"
            | "GIT_EXEC_PATH"
            | "GIT_TEMPLATE_DIR"
            | "GIT_DIR"
            | "SSH_ASKPASS"
            | "SUDO_ASKPASS"
            | "RSYNC_RSH"
            | "TAR_OPTIONS"
    );
    of_shells || of_languages || of_builds || of_helpers || prefixes.iter().any(|prefix| name.starts_with(prefix))
}
