//! A credential sent to an address without TLS.

use trefoil_syntax::FindingSeverity;
use trefoil_syntax::yaml::{YamlNodeKind, YamlMapping, YamlNode};

use crate::rule::{RuleGroup, Rule, RuleSource, TreeContext};

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
        YamlNodeKind::Sequence(items) => items.iter().for_each(|item| node(cx, item)),
        YamlNodeKind::Mapping(mapping) => {
            request(cx, mapping);
            mapping.entries.iter().for_each(|e| node(cx, &e.value));
        }
    }
}

/// A mapping with an address, and with a header or key that contains a credential.
fn request(cx: &mut TreeContext<'_>, mapping: &YamlMapping) {
    let Some(url) = mapping.get("url").and_then(|e| e.value.as_string()) else { return };
    let Some(host) = url.value.strip_prefix("http://").map(host).filter(|host| is_public(host)) else { return };
    let headers = mapping.get("headers").and_then(|e| e.value.as_mapping());
    let header = headers.and_then(|all| all.entries.iter().find(|e| is_credential(&e.key.value)));
    let Some(credential) = header.or_else(|| mapping.get("auth")) else { return };
    let message = format!("`{}` is sent to `{host}` unencrypted", credential.key.value);
    let d = cx.new_finding(url.content_span(), message);
    let d = d.with_label(trefoil_syntax::Location::new(cx.file, credential.key.span), "this is sent");
    cx.report_finding(d.with_help("write `https://`"));
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
    let private = ["127.", "10.", "192.168.", "169.254.", "0."].iter().any(|start| host.starts_with(start))
        || host.strip_prefix("172.").and_then(|r| r.split('.').next()?.parse::<u8>().ok()).is_some_and(|n| (16..32).contains(&n));
    let local = [".local", ".localhost", ".internal", ".lan", ".test", ".svc"].iter().any(|end| host.ends_with(end));
    host.contains('.') && !host.contains(['{', '}', '[', '$']) && !private && !local
}

/// Headers that contain credentials.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(&*name, "authorization" | "proxy-authorization" | "cookie") || ["api-key", "apikey", "token", "secret"].iter().any(|w| name.contains(w))
}
