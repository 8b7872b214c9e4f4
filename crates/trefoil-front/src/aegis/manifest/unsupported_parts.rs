//! The parts of a manifest that are recognised but not run: containers, volumes, schedules, delivery of results. They
//! are still checked against the format, so that mistakes are found here, not in the system that uses the manifest
//! next. Does not report that a part has no effect.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlScalar, YamlText};

use super::{read_text_map, text_list};
use crate::{ManifestReader, MappingReader};

/// The type of a key's value.
#[derive(Clone, Copy)]
pub enum UnsupportedValueType {
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
pub type UnsupportedKey = (&'static str, UnsupportedValueType, bool);

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

const NETWORK_KEYS: &[UnsupportedKey] = &[
    ("mode", UnsupportedValueType::Word(NETWORK), false),
    ("allowlist", UnsupportedValueType::Texts, false),
    ("denylist", UnsupportedValueType::Texts, false),
];
const FILESYSTEM_KEYS: &[UnsupportedKey] = &[
    ("read", UnsupportedValueType::Texts, false),
    ("write", UnsupportedValueType::Texts, false),
    ("read_only", UnsupportedValueType::Flag, false),
];
const VOLUME_KEYS: &[UnsupportedKey] = &[
    ("name", UnsupportedValueType::Text, true),
    ("storage_class", UnsupportedValueType::Word(STORAGE), false),
    ("type", UnsupportedValueType::Text, false),
    ("provider", UnsupportedValueType::Text, false),
    ("config", UnsupportedValueType::Any, false),
    ("source", UnsupportedValueType::Any, false),
    ("mount_path", UnsupportedValueType::Workspace, true),
    ("access_mode", UnsupportedValueType::Word(ACCESS), false),
    ("size_limit", UnsupportedValueType::Size, true),
    ("ttl_hours", UnsupportedValueType::Count(0, 1_000_000), false),
];
const ADVANCED_KEYS: &[UnsupportedKey] = &[
    ("warm_pool_size", UnsupportedValueType::Count(0, 1_000_000), false),
    ("startup_script", UnsupportedValueType::Text, false),
    ("health_check", UnsupportedValueType::Any, false),
    ("bootstrap_path", UnsupportedValueType::Text, false),
];

/// `security` except the time limit: `network` and `filesystem`.
pub fn check_security(security: &mut MappingReader<'_, '_>) {
    for (key, keys) in [("network", NETWORK_KEYS), ("filesystem", FILESYSTEM_KEYS)] {
        if let Some(mut fields) = security.read_mapping(key) {
            check_keys(&mut fields, keys);
            fields.finish_mapping();
        }
    }
}

/// The amounts in `resources`. The caller reads the time limit.
pub fn check_resource_amounts(resources: &mut MappingReader<'_, '_>, disk: bool) {
    check_keys(
        resources,
        &[("cpu", UnsupportedValueType::Count(1, 1_000_000), false), ("memory", UnsupportedValueType::Size, false)],
    );
    if disk {
        check_keys(resources, &[("disk", UnsupportedValueType::Size, false)]);
    }
}

/// `volumes` of an agent. Nothing is mounted here, so mistakes in them do not prevent the agent from running.
pub fn check_agent_volumes(reader: &ManifestReader<'_>, node: &YamlNode) {
    reader.at_most_warnings(|reader| check_volumes(reader, node));
}

fn check_volumes(reader: &ManifestReader<'_>, node: &YamlNode) {
    let mut mounts: Vec<YamlText> = Vec::new();
    for item in reader.read_list(node, "volumes").unwrap_or_default() {
        let Some(mut volume) = reader.read_mapping(item, "a volume") else { continue };
        check_keys(&mut volume, VOLUME_KEYS);
        if let Some(mount) = volume.take("mount_path").and_then(|entry| entry.value.as_string()) {
            report_mount_overlap(reader, &mounts, mount);
            mounts.push(mount.clone());
        }
        volume.finish_mapping();
    }
}

/// Reports a volume that is mounted at or below the mount of another one. A mount below the workspace itself is
/// allowed.
pub fn report_mount_overlap(reader: &ManifestReader<'_>, mounts: &[YamlText], mount: &YamlText) {
    let below = |inner: &str, outer: &str| match inner.strip_prefix(outer) {
        Some(rest) => rest.starts_with('/') && outer.trim_end_matches('/') != "/workspace",
        None => false,
    };
    let overlap = |one: &str, other: &str| one == other || below(one, other) || below(other, one);
    if let Some(first) = mounts.iter().find(|earlier| overlap(&earlier.value, &mount.value)) {
        let at = reader.location_of(mount.span);
        let d = Diagnostic::new_warning("overlapping-mounts", at, "two volumes have overlapping mount paths");
        reader.report_finding(d.with_label(reader.location_of(first.span), "the other one"));
    }
}

/// `volumes` of a workflow, or of a state without its own container.
pub fn check_mounts(reader: &ManifestReader<'_>, node: &YamlNode) {
    for item in reader.read_list(node, "volumes").unwrap_or_default() {
        let Some(mut volume) = reader.read_mapping(item, "a volume") else { continue };
        let keys: &[UnsupportedKey] = &[
            ("name", UnsupportedValueType::Text, false),
            ("volume", UnsupportedValueType::Text, false),
            ("mount_path", UnsupportedValueType::Text, false),
            ("access_mode", UnsupportedValueType::Word(ACCESS), false),
            ("storage_class", UnsupportedValueType::Word(STORAGE), false),
            ("read_only", UnsupportedValueType::Flag, false),
            ("persistent", UnsupportedValueType::Flag, false),
            ("size_limit", UnsupportedValueType::Size, false),
            ("ttl_hours", UnsupportedValueType::Count(0, 1_000_000), false),
        ];
        check_keys(&mut volume, keys);
        if volume.take("name").is_none() && volume.take("volume").is_none() {
            volume.require_entry("name");
        }
        volume.report_misspelt();
    }
}

/// `advanced`.
pub fn check_advanced(reader: &ManifestReader<'_>, node: &YamlNode) {
    if let Some(mut fields) = reader.read_mapping(node, "advanced") {
        check_keys(&mut fields, ADVANCED_KEYS);
        fields.finish_mapping();
    }
}

/// `schedule`.
pub fn check_schedule(reader: &ManifestReader<'_>, node: &YamlNode) {
    let Some(mut fields) = reader.read_mapping(node, "schedule") else { return };
    let kinds = [("cron", 0), ("interval", 1), ("manual", 2)];
    match fields.require_word("type", &kinds) {
        Some(0) => check_keys(
            &mut fields,
            &[("cron", UnsupportedValueType::Cron, true), ("timezone", UnsupportedValueType::Text, false)],
        ),
        Some(1) => check_keys(&mut fields, &[("seconds", UnsupportedValueType::Count(1, i64::MAX), true)]),
        Some(_) => {}
        None => return,
    }
    check_keys(&mut fields, &[("enabled", UnsupportedValueType::Flag, false)]);
    fields.finish_mapping();
}

/// `delivery`.
pub fn check_delivery(reader: &ManifestReader<'_>, node: &YamlNode) {
    let Some(mut fields) = reader.read_mapping(node, "delivery") else { return };
    let destinations = fields.require_entry("destinations");
    let items = destinations.and_then(|entry| reader.read_list(&entry.value, "destinations"));
    for item in items.unwrap_or_default() {
        let Some(mut destination) = reader.read_mapping(item, "a destination") else { continue };
        let keys: &[UnsupportedKey] = &[
            ("name", UnsupportedValueType::Text, true),
            ("condition", UnsupportedValueType::Word(OUTCOMES), true),
            ("type", UnsupportedValueType::Word(CHANNELS), true),
            ("transform", UnsupportedValueType::Any, false),
        ];
        check_keys(&mut destination, keys);
        // The form of a destination depends on the channel.
        destination.report_misspelt();
    }
    fields.finish_mapping();
}

/// `output_handler` except `type` and `required`; `kind` is the value of `type`. Returns its templates.
pub fn output_handler(handler: &mut MappingReader<'_, '_>, kind: &str) -> Vec<YamlText> {
    let keys: &[UnsupportedKey] = match kind {
        "agent" => {
            &[("agent_id", UnsupportedValueType::Text, true), ("input_template", UnsupportedValueType::Template, false)]
        }
        "webhook" => &[
            ("url", UnsupportedValueType::Address, true),
            ("method", UnsupportedValueType::Word(METHODS), false),
            ("headers", UnsupportedValueType::Pairs, false),
            ("body_template", UnsupportedValueType::Template, false),
            ("retry", UnsupportedValueType::Any, false),
        ],
        _ => return Vec::new(),
    };
    check_keys(handler, keys);
    check_keys(handler, &[("timeout_seconds", UnsupportedValueType::Count(1, 31_536_000), false)]);
    let mut templates = Vec::new();
    for (key, part, _) in keys {
        if matches!(part, UnsupportedValueType::Template)
            && let Some(entry) = handler.peek_entry(key)
            && let Some(text) = entry.value.as_string()
        {
            templates.push(text.clone());
        }
    }
    templates
}

/// `runtime` except model and temperature. Returns the entries that are present.
pub fn check_runtime<'n>(runtime: &mut MappingReader<'n, '_>) -> Vec<&'n YamlEntry> {
    let keys: &[UnsupportedKey] = &[
        ("language", UnsupportedValueType::Text, false),
        ("version", UnsupportedValueType::Text, false),
        ("image", UnsupportedValueType::Text, false),
        ("image_pull_policy", UnsupportedValueType::Word(PULL), false),
        ("isolation", UnsupportedValueType::Word(ISOLATION), false),
    ];
    check_keys(runtime, keys);
    let reader = runtime.reader;
    let entries: Vec<&YamlEntry> = keys.iter().filter_map(|(key, ..)| runtime.take(key)).collect();
    let of = |name: &str| entries.iter().find(|entry| &*entry.key.value == name);
    if let (Some(language), Some(image)) = (of("language"), of("image")) {
        let (first, second) =
            if language.key.span.start < image.key.span.start { (language, image) } else { (image, language) };
        let d = Diagnostic::new_warning(
            "conflicting-keys",
            reader.location_of(second.key.span),
            "`language` and `image` are mutually exclusive",
        );
        reader.report_finding(
            d.with_label(reader.location_of(first.key.span), "already set here")
                .with_help("keep one of them; an image determines its own language"),
        );
    } else if let (Some(one), None, other) | (None, Some(one), other) =
        (of("language"), of("version"), if of("language").is_some() { "version" } else { "language" })
        && of("image").is_none()
    {
        let message = format!("`runtime` has `{}` but no `{other}`", one.key.value);
        reader.report_finding(
            Diagnostic::new_warning("missing-key", reader.location_of(one.key.span), message)
                .with_help("other tools for this format require both"),
        );
    }
    entries
}

/// Reads the keys of a mapping without reporting unknown keys.
pub fn check_keys(fields: &mut MappingReader<'_, '_>, keys: &[UnsupportedKey]) {
    let reader = fields.reader;
    for (key, part, required) in keys {
        let entry = if *required { fields.require_entry(key) } else { fields.take(key) };
        if let Some(entry) = entry {
            check(reader, entry, key, *part);
        }
    }
}

fn check(reader: &ManifestReader<'_>, entry: &YamlEntry, key: &'static str, part: UnsupportedValueType) {
    let node = &entry.value;
    let refuse = |help: &str| {
        let shown = match node.as_string() {
            Some(text) => format!("`{}`", text.value),
            None => node.kind_description().to_owned(),
        };
        let d =
            Diagnostic::new_error("unknown-value", reader.location_of(node.span), format!("`{key}` cannot be {shown}"));
        reader.report_finding(d.with_help(help));
    };
    match part {
        UnsupportedValueType::Text => {
            if let Some(text) = reader.read_text(node, key)
                && text.value.trim().is_empty()
            {
                reader.report_error("missing-key", node.span, format!("`{key}` is blank"));
            }
        }
        UnsupportedValueType::Word(words) => drop(reader.read_word(node, key, words)),
        UnsupportedValueType::Flag => drop(reader.read_boolean(node, key)),
        UnsupportedValueType::Count(least, most) => drop(reader.read_integer(node, key, least..=most)),
        UnsupportedValueType::Share => drop(reader.read_number(node, key, 0.0..=1.0)),
        UnsupportedValueType::Size => match node.as_scalar() {
            // A number of bytes, or a template that renders to one.
            Some((YamlScalar::Int(1..), _)) => {}
            Some((YamlScalar::Str, t)) if is_size(&t.value) || t.value.contains("{{") => {}
            Some((YamlScalar::Str | YamlScalar::Int(_) | YamlScalar::Float(_), _)) => {
                refuse("write a number and a unit, such as `512Mi` or `1Gi`");
            }
            _ => reader.wrong_type(node, key, "an amount such as `512Mi`"),
        },
        UnsupportedValueType::Workspace => {
            let is_inside = |path: &str| path == "/workspace" || path.starts_with("/workspace/");
            if let Some(text) = reader.read_text(node, key)
                && !is_inside(&text.value)
            {
                refuse("use `/workspace` or a path under it");
            }
        }
        UnsupportedValueType::Address => {
            let is_whole =
                |url: &str| url.starts_with("https://") || url.starts_with("http://") || url.starts_with("{{");
            if let Some(text) = reader.read_text(node, key)
                && !is_whole(&text.value)
            {
                refuse("write the full URL, such as `https://example.org/results`");
            }
        }
        UnsupportedValueType::Cron => {
            if let Some(text) = reader.read_text(node, key)
                && !is_cron(&text.value)
            {
                refuse("write five fields, such as `0 8 * * 1-5` for 8:00 on weekdays");
            }
        }
        UnsupportedValueType::Template => drop(reader.read_text(node, key)),
        UnsupportedValueType::Texts => drop(text_list(reader, node, key)),
        UnsupportedValueType::Pairs => drop(read_text_map(reader, node, key)),
        UnsupportedValueType::Any => {}
    }
}

/// Whether a text is a number with an optional unit of memory.
fn is_size(text: &str) -> bool {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    const UNITS: &[&str] =
        &["", "b", "k", "m", "g", "t", "kb", "mb", "gb", "tb", "ki", "mi", "gi", "ti", "kib", "mib", "gib", "tib"];
    matches!(number.parse::<f64>(), Ok(amount) if amount > 0.0) && UNITS.contains(&&*unit.trim().to_ascii_lowercase())
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
