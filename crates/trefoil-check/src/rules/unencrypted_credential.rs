//! A credential sent to an address without TLS.

use trefoil_syntax::FindingSeverity;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind};

use crate::rule::{Rule, RuleGroup, RuleSource, TreeContext};

pub(super) const RULE: Rule = Rule {
    name: "unencrypted-credential",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unencrypted_credential.md"),
    run: RuleSource::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let root = cx.root;
    node(cx, root);
}

fn node(cx: &mut TreeContext<'_>, at: &YamlNode) {
    match &*at.kind {
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => {
            for item in items {
                node(cx, item);
            }
        }
        YamlNodeKind::Mapping(mapping) => {
            request(cx, mapping);
            for entry in &mapping.entries {
                node(cx, &entry.value);
            }
        }
    }
}

/// A mapping with an address, and with a header or key that contains a credential.
fn request(cx: &mut TreeContext<'_>, mapping: &YamlMapping) {
    let Some(url) = mapping.get("url") else { return };
    let Some(url) = url.value.as_string() else { return };
    let Some(address) = url.value.strip_prefix("http://") else { return };
    let host = host(address);
    if !is_public(host) {
        return;
    }
    let Some(credential) = credential_entry(mapping) else { return };
    let message = format!("`{}` is sent to `{host}` unencrypted", credential.key.value);
    let d = cx.new_finding(url.content_span(), message);
    let d = d.with_label(trefoil_syntax::Location::new(cx.file, credential.key.span), "this is sent");
    cx.report_finding(d.with_help("write `https://`"));
}

/// The first header of a request that contains a credential, otherwise its `auth`.
fn credential_entry(request: &YamlMapping) -> Option<&YamlEntry> {
    if let Some(headers) = request.get("headers")
        && let Some(headers) = headers.value.as_mapping()
        && let Some(header) = headers.entries.iter().find(|entry| is_credential(&entry.key.value))
    {
        return Some(header);
    }
    request.get("auth")
}

/// The host in an address without its scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}

/// Whether a host is on the internet, judging by its name. A placeholder, a name without a dot or a private address may
/// be on the local network.
fn is_public(host: &str) -> bool {
    let private = ["127.", "10.", "192.168.", "169.254.", "0."].iter().any(|start| host.starts_with(start));
    let local = [".local", ".localhost", ".internal", ".lan", ".test", ".svc"].iter().any(|end| host.ends_with(end));
    host.contains('.') && !host.contains(['{', '}', '[', '$']) && !private && !is_private_172(host) && !local
}

/// Whether a host is an address from `172.16.0.0` to `172.31.255.255`.
fn is_private_172(host: &str) -> bool {
    let Some(rest) = host.strip_prefix("172.") else { return false };
    let second = rest.split('.').next().unwrap_or_default();
    matches!(second.parse::<u8>(), Ok(16..=31))
}

/// Headers that contain credentials.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(&*name, "authorization" | "proxy-authorization" | "cookie")
        || ["api-key", "apikey", "token", "secret"].iter().any(|w| name.contains(w))
}
