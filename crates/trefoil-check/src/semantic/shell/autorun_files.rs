//! Files that are run later, so that what is written to them is code.

/// Path suffixes, or folders.
const RUN_LATER: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".cshrc",
    ".tcshrc",
    ".kshrc",
    ".config/fish",
    ".envrc",
    ".vimrc",
    ".exrc",
    ".gdbinit",
    ".gitconfig",
    ".git/config",
    ".git/hooks",
    ".husky",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".ssh/rc",
    ".config/autostart",
    ".config/systemd",
    ".github/workflows",
    "etc/profile",
    "etc/profile.d",
    "etc/bash.bashrc",
    "etc/environment",
    "etc/ld.so.preload",
    "etc/crontab",
    "etc/cron.d",
    "etc/cron.hourly",
    "etc/cron.daily",
    "etc/cron.weekly",
    "etc/cron.monthly",
    "etc/init.d",
    "etc/sudoers",
    "etc/sudoers.d",
    "etc/systemd/system",
    "var/spool/cron",
];

/// The place that a path names, if its contents are run.
pub(super) fn run_later(path: &str) -> Option<&'static str> {
    let path = format!("/{path}/");
    RUN_LATER.iter().find(|place| path.contains(&format!("/{place}/"))).copied()
}
