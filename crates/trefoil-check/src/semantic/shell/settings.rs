//! Settings that programs take from their words, `KEY=VALUE`, some of which name commands.

/// How a program takes settings.
#[derive(Debug)]
pub(super) struct Settings {
    /// The letter of the option.
    pub letter: char,
    /// How the keys begin whose values are code, or are read from a file of settings.
    pub begins: &'static [&'static str],
    /// How they end.
    pub ends: &'static [&'static str],
}

pub(super) static GIT: Settings = Settings {
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

pub(super) static SSH: Settings =
    Settings { letter: 'o', begins: &["include", "match", "pkcs11provider"], ends: &["command"] };

impl Settings {
    /// Whether the value of a key is code.
    pub(super) fn runs(&self, key: &str) -> bool {
        let key = key.trim().to_ascii_lowercase();
        self.begins.iter().any(|b| key.starts_with(b)) || self.ends.iter().any(|e| key.ends_with(e))
    }
}
