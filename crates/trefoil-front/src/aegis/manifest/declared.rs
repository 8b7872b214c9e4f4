//! The parts of a manifest that are recognised but not run: containers, volumes, schedules, delivery of results. They
//! are still checked against the format, so that mistakes are found here, not in the system that uses the manifest
//! next. Does not report that a part has no effect.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Entry, Node, Scalar, Text};

use super::{text_list, texts};
use crate::{Fields, Reader};

/// The type of a key's value.
#[derive(Clone, Copy)]
pub enum DeclaredPart {
    /// A text that is not empty.
    Text,
    /// One of these words.
    Word(&'static [(&'static str, ())]),
    /// `true` or `false`.
    Flag,
    /// An integer in this range.
    Count(i64, i64),
    /// A number from 0 to 1.
    Share,
    /// An amount of memory or disk, such as `512Mi`.
    Size,
    /// A path in `/workspace`.
    Workspace,
    /// An address for requests.
    Address,
    /// A cron expression.
    Cron,
    /// A list of texts.
    Texts,
    /// A mapping from names chosen by the user to texts.
    Pairs,
    /// A template of a message to send.
    Template,
    /// Any value.
    Any,
}

/// A key: its name, the type of its value, whether it is required.
pub type DeclaredKey = (&'static str, DeclaredPart, bool);

/// The values of `image_pull_policy`.
pub const PULL: &[(&str, ())] = &[("Always", ()), ("IfNotPresent", ()), ("Never", ())];
/// The values of `isolation`.
pub const ISOLATION: &[(&str, ())] = &[("inherit", ()), ("firecracker", ()), ("docker", ()), ("process", ())];
/// The values of `storage_class`.
pub const STORAGE: &[(&str, ())] = &[("ephemeral", ()), ("persistent", ())];
/// The values of `access_mode`.
pub const ACCESS: &[(&str, ())] = &[("read-write", ()), ("read-only", ()), ("write-only", ())];
const NETWORK: &[(&str, ())] = &[("allow", ()), ("deny", ()), ("none", ())];
const METHODS: &[(&str, ())] = &[("GET", ()), ("POST", ()), ("PUT", ()), ("PATCH", ()), ("DELETE", ())];
const OUTCOMES: &[(&str, ())] = &[("on_success", ()), ("on_failure", ()), ("always", ())];
const CHANNELS: &[(&str, ())] = &[("email", ()), ("webhook", ()), ("rest", ()), ("sms", ())];

const NETWORK_KEYS: &[DeclaredKey] = &[
    ("mode", DeclaredPart::Word(NETWORK), false),
    ("allowlist", DeclaredPart::Texts, false),
    ("denylist", DeclaredPart::Texts, false),
];
const FILESYSTEM_KEYS: &[DeclaredKey] = &[
    ("read", DeclaredPart::Texts, false),
    ("write", DeclaredPart::Texts, false),
    ("read_only", DeclaredPart::Flag, false),
];
const VOLUME_KEYS: &[DeclaredKey] = &[
    ("name", DeclaredPart::Text, true),
    ("storage_class", DeclaredPart::Word(STORAGE), false),
    ("type", DeclaredPart::Text, false),
    ("provider", DeclaredPart::Text, false),
    ("config", DeclaredPart::Any, false),
    ("source", DeclaredPart::Any, false),
    ("mount_path", DeclaredPart::Workspace, true),
    ("access_mode", DeclaredPart::Word(ACCESS), false),
    ("size_limit", DeclaredPart::Size, true),
    ("ttl_hours", DeclaredPart::Count(0, 1_000_000), false),
];
const ADVANCED_KEYS: &[DeclaredKey] = &[
    ("warm_pool_size", DeclaredPart::Count(0, 1_000_000), false),
    ("startup_script", DeclaredPart::Text, false),
    ("health_check", DeclaredPart::Any, false),
    ("bootstrap_path", DeclaredPart::Text, false),
];

/// `security` except the time limit: `network` and `filesystem`.
pub fn security(security: &mut Fields<'_, '_>) {
    for (key, keys) in [("network", NETWORK_KEYS), ("filesystem", FILESYSTEM_KEYS)] {
        if let Some(mut fields) = security.fields(key) {
            read(&mut fields, keys);
            fields.finish();
        }
    }
}

/// The amounts in `resources`. The caller reads the time limit.
pub fn amounts(resources: &mut Fields<'_, '_>, disk: bool) {
    read(resources, &[("cpu", DeclaredPart::Count(1, 1_000_000), false), ("memory", DeclaredPart::Size, false)]);
    if disk {
        read(resources, &[("disk", DeclaredPart::Size, false)]);
    }
}

/// `volumes` of an agent. Nothing is mounted here, so mistakes in them do not prevent the agent from running.
pub fn volumes(reader: &Reader<'_>, node: &Node) {
    reader.at_most_warnings(|reader| check_volumes(reader, node));
}

fn check_volumes(reader: &Reader<'_>, node: &Node) {
    let mut mounts: Vec<Text> = Vec::new();
    for item in reader.list(node, "volumes").unwrap_or_default() {
        let Some(mut volume) = reader.fields(item, "a volume") else { continue };
        read(&mut volume, VOLUME_KEYS);
        if let Some(mount) = volume.take("mount_path").and_then(|e| e.value.string()) {
            overlap(reader, &mounts, mount);
            mounts.push(mount.clone());
        }
        volume.finish();
    }
}

/// Reports a volume that is mounted at or below the mount of another one. A mount below the workspace itself is
/// allowed.
pub fn overlap(reader: &Reader<'_>, mounts: &[Text], mount: &Text) {
    let below = |a: &str, b: &str| {
        let inner = a.strip_prefix(b).filter(|_| b.trim_end_matches('/') != "/workspace");
        inner.is_some_and(|rest| rest.starts_with('/'))
    };
    let inside = |a: &str, b: &str| a == b || below(a, b);
    if let Some(first) = mounts.iter().find(|m| inside(&m.value, &mount.value) || inside(&mount.value, &m.value)) {
        let at = reader.at(mount.span);
        let d = Diagnostic::warning("overlapping-mounts", at, "two volumes have overlapping mount paths");
        reader.report(d.label(reader.at(first.span), "the other one"));
    }
}

/// `volumes` of a workflow, or of a state without its own container.
pub fn mounts(reader: &Reader<'_>, node: &Node) {
    for item in reader.list(node, "volumes").unwrap_or_default() {
        let Some(mut volume) = reader.fields(item, "a volume") else { continue };
        let keys: &[DeclaredKey] = &[
            ("name", DeclaredPart::Text, false),
            ("volume", DeclaredPart::Text, false),
            ("mount_path", DeclaredPart::Text, false),
            ("access_mode", DeclaredPart::Word(ACCESS), false),
            ("storage_class", DeclaredPart::Word(STORAGE), false),
            ("read_only", DeclaredPart::Flag, false),
            ("persistent", DeclaredPart::Flag, false),
            ("size_limit", DeclaredPart::Size, false),
            ("ttl_hours", DeclaredPart::Count(0, 1_000_000), false),
        ];
        read(&mut volume, keys);
        if volume.take("name").is_none() && volume.take("volume").is_none() {
            volume.require("name");
        }
        volume.misspelt();
    }
}

/// `advanced`.
pub fn advanced(reader: &Reader<'_>, node: &Node) {
    if let Some(mut fields) = reader.fields(node, "advanced") {
        read(&mut fields, ADVANCED_KEYS);
        fields.finish();
    }
}

/// `schedule`.
pub fn schedule(reader: &Reader<'_>, node: &Node) {
    let Some(mut fields) = reader.fields(node, "schedule") else { return };
    let kinds = [("cron", 0), ("interval", 1), ("manual", 2)];
    match fields.require("type").and_then(|e| reader.word(&e.value, "type", &kinds)) {
        Some(0) => read(&mut fields, &[("cron", DeclaredPart::Cron, true), ("timezone", DeclaredPart::Text, false)]),
        Some(1) => read(&mut fields, &[("seconds", DeclaredPart::Count(1, i64::MAX), true)]),
        Some(_) => {}
        None => return,
    }
    read(&mut fields, &[("enabled", DeclaredPart::Flag, false)]);
    fields.finish();
}

/// `delivery`.
pub fn delivery(reader: &Reader<'_>, node: &Node) {
    let Some(mut fields) = reader.fields(node, "delivery") else { return };
    let items = fields.require("destinations").and_then(|e| reader.list(&e.value, "destinations"));
    for item in items.unwrap_or_default() {
        let Some(mut destination) = reader.fields(item, "a destination") else { continue };
        let keys: &[DeclaredKey] = &[
            ("name", DeclaredPart::Text, true),
            ("condition", DeclaredPart::Word(OUTCOMES), true),
            ("type", DeclaredPart::Word(CHANNELS), true),
            ("transform", DeclaredPart::Any, false),
        ];
        read(&mut destination, keys);
        // The form of a destination depends on the channel.
        destination.misspelt();
    }
    fields.finish();
}

/// `output_handler` except `type` and `required`; `kind` is the value of `type`. Returns its templates.
pub fn output_handler(handler: &mut Fields<'_, '_>, kind: &str) -> Vec<Text> {
    let keys: &[DeclaredKey] = match kind {
        "agent" => &[("agent_id", DeclaredPart::Text, true), ("input_template", DeclaredPart::Template, false)],
        "webhook" => &[
            ("url", DeclaredPart::Address, true),
            ("method", DeclaredPart::Word(METHODS), false),
            ("headers", DeclaredPart::Pairs, false),
            ("body_template", DeclaredPart::Template, false),
            ("retry", DeclaredPart::Any, false),
        ],
        _ => return Vec::new(),
    };
    read(handler, keys);
    read(handler, &[("timeout_seconds", DeclaredPart::Count(1, 31_536_000), false)]);
    let templates = keys.iter().filter(|(_, part, _)| matches!(part, DeclaredPart::Template));
    templates.filter_map(|(key, ..)| handler.entry(key)?.value.string().cloned()).collect()
}

/// `runtime` except model and temperature. Returns the entries that are present.
pub fn runtime<'n>(runtime: &mut Fields<'n, '_>) -> Vec<&'n Entry> {
    let keys: &[DeclaredKey] = &[
        ("language", DeclaredPart::Text, false),
        ("version", DeclaredPart::Text, false),
        ("image", DeclaredPart::Text, false),
        ("image_pull_policy", DeclaredPart::Word(PULL), false),
        ("isolation", DeclaredPart::Word(ISOLATION), false),
    ];
    read(runtime, keys);
    let reader = runtime.reader;
    let entries: Vec<&Entry> = keys.iter().filter_map(|(key, ..)| runtime.take(key)).collect();
    let of = |name: &str| entries.iter().find(|e| &*e.key.value == name);
    if let (Some(language), Some(image)) = (of("language"), of("image")) {
        let (first, second) =
            if language.key.span.start < image.key.span.start { (language, image) } else { (image, language) };
        let d = Diagnostic::warning(
            "conflicting-keys",
            reader.at(second.key.span),
            "`language` and `image` are mutually exclusive",
        );
        reader.report(
            d.label(reader.at(first.key.span), "already set here")
                .help("keep one of them; an image determines its own language"),
        );
    } else if let (Some(one), None, other) | (None, Some(one), other) =
        (of("language"), of("version"), if of("language").is_some() { "version" } else { "language" })
        && of("image").is_none()
    {
        let message = format!("`runtime` has `{}` but no `{other}`", one.key.value);
        reader.report(
            Diagnostic::warning("missing-key", reader.at(one.key.span), message)
                .help("other tools for this format require both"),
        );
    }
    entries
}

/// Reads the keys of a mapping without reporting unknown keys.
pub fn read(fields: &mut Fields<'_, '_>, keys: &[DeclaredKey]) {
    let reader = fields.reader;
    for (key, part, required) in keys {
        let entry = if *required { fields.require(key) } else { fields.take(key) };
        if let Some(entry) = entry {
            check(reader, entry, key, *part);
        }
    }
}

fn check(reader: &Reader<'_>, entry: &Entry, key: &'static str, part: DeclaredPart) {
    let node = &entry.value;
    let refuse = |help: &str| {
        let shown = node.string().map_or_else(|| node.describe().to_owned(), |t| format!("`{}`", t.value));
        let d = Diagnostic::error("unknown-value", reader.at(node.span), format!("`{key}` cannot be {shown}"));
        reader.report(d.help(help));
    };
    let text = || reader.text(node, key).map(|t| &*t.value);
    match part {
        DeclaredPart::Text => {
            if text().is_some_and(|t| t.trim().is_empty()) {
                reader.error("missing-key", node.span, format!("`{key}` is blank"));
            }
        }
        DeclaredPart::Word(words) => drop(reader.word(node, key, words)),
        DeclaredPart::Flag => drop(reader.boolean(node, key)),
        DeclaredPart::Count(least, most) => drop(reader.integer(node, key, least..=most)),
        DeclaredPart::Share => drop(reader.number(node, key, 0.0..=1.0)),
        DeclaredPart::Size => match node.scalar() {
            // A number of bytes, or a template that renders to one.
            Some((Scalar::Int(1..), _)) => {}
            Some((Scalar::Str, t)) if is_size(&t.value) || t.value.contains("{{") => {}
            Some((Scalar::Str | Scalar::Int(_) | Scalar::Float(_), _)) => {
                refuse("write a number and a unit, such as `512Mi` or `1Gi`");
            }
            _ => reader.wrong_type(node, key, "an amount such as `512Mi`"),
        },
        DeclaredPart::Workspace => {
            let inside = |t: &str| t == "/workspace" || t.starts_with("/workspace/");
            if text().is_some_and(|t| !inside(t)) {
                refuse("use `/workspace` or a path under it");
            }
        }
        DeclaredPart::Address => {
            let whole = |t: &str| t.starts_with("https://") || t.starts_with("http://") || t.starts_with("{{");
            if text().is_some_and(|t| !whole(t)) {
                refuse("write the full URL, such as `https://example.org/results`");
            }
        }
        DeclaredPart::Cron => {
            if text().is_some_and(|t| !is_cron(t)) {
                refuse("write five fields, such as `0 8 * * 1-5` for 8:00 on weekdays");
            }
        }
        DeclaredPart::Template => drop(reader.text(node, key)),
        DeclaredPart::Texts => drop(text_list(reader, node, key)),
        DeclaredPart::Pairs => drop(texts(reader, node, key)),
        DeclaredPart::Any => {}
    }
}

/// Whether a text is a number with an optional unit of memory.
fn is_size(text: &str) -> bool {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    const UNITS: &[&str] =
        &["", "b", "k", "m", "g", "t", "kb", "mb", "gb", "tb", "ki", "mi", "gi", "ti", "kib", "mib", "gib", "tib"];
    number.parse::<f64>().is_ok_and(|n| n > 0.0) && UNITS.contains(&&*unit.trim().to_ascii_lowercase())
}

/// Whether a text has five to seven cron fields or is a named schedule.
fn is_cron(text: &str) -> bool {
    if text.starts_with('@') || text.contains("{{") {
        return true;
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let plain = |f: &&str| f.chars().all(|c| c.is_ascii_alphanumeric() || "*/,-?#".contains(c));
    let starts = |f: &&str| f.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c == '?');
    (5..=7).contains(&fields.len()) && fields.iter().all(plain) && fields.iter().take(2).all(starts)
}

#[cfg(test)]
mod tests {
    use super::{is_cron, is_size};

    #[test]
    fn amounts_and_times_read_as_they_are_written() {
        for (text, fits) in [
            ("512Mi", true),
            ("1Gi", true),
            ("1.5 GB", true),
            ("100", true),
            ("lots", false),
            ("512Mbs", false),
            ("", false),
            ("0Gi", false),
        ] {
            assert_eq!(is_size(text), fits, "{text:?}");
        }
        for (text, fits) in [
            ("0 0 * * *", true),
            ("*/30 8-18 * * MON-FRI", true),
            ("@daily", true),
            ("every day", false),
            ("0 0 * *", false),
            ("at 8 in the morning", false),
        ] {
            assert_eq!(is_cron(text), fits, "{text:?}");
        }
    }
}
