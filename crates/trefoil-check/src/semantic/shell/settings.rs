//! Settings that programs accept as arguments, `KEY=VALUE`, some of which contain commands.

/// How a program accepts settings.
#[derive(Debug)]
pub(super) struct CodeSettings {
    /// The letter of the option.
    pub letter: char,
    /// The prefixes of keys whose values are code or files with settings.
    pub begins: &'static [&'static str],
    /// The suffixes of such keys.
    pub ends: &'static [&'static str],
}

pub(super) static GIT: CodeSettings = CodeSettings {
    letter: 'c',
    begins: &["alias.", "pager.", "include.", "includeif.", "protocol."],
    ends: &[
        ".pager",
        "editor",
        "command",
        ".cmd",
        ".textconv",
        ".driver",
        ".program",
        ".hookspath",
        ".helper",
        ".fsmonitor",
        ".askpass",
        ".gitproxy",
        ".external",
        ".uploadpack",
        ".receivepack",
        ".templatedir",
        ".clean",
        ".smudge",
        ".process",
        ".difffilter",
        ".packobjectshook",
    ],
};

pub(super) static SSH: CodeSettings =
    CodeSettings { letter: 'o', begins: &["include", "match", "pkcs11provider"], ends: &["command"] };

impl CodeSettings {
    /// Whether the value of a key is code.
    pub(super) fn is_code_key(&self, key: &str) -> bool {
        let key = key.trim().to_ascii_lowercase();
        self.begins.iter().any(|b| key.starts_with(b)) || self.ends.iter().any(|e| key.ends_with(e))
    }
}
