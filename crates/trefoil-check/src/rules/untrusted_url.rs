//! Untrusted text that determines the host of a request or is part of a header, and hosts that return credentials.

use core::net::{IpAddr, Ipv6Addr};

use trefoil_ir::{CommandCall, FlowId, Source, StepId, StepKind, ToolKind, ValueExpression};
use trefoil_syntax::{FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::shell::{self, ShellUseKind};
use crate::semantic::taint::TaintLabels;
use crate::semantic::text_pieces::{InsertedValue, TextPiece, expression_pieces};

use super::untrusted_command::{displayed_value, taint_labels};

pub(super) const RULE: Rule = Rule {
    name: "untrusted-url",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Error),
    strict: None,
    page: include_str!("untrusted_url.md"),
    run: RuleSource::Program(run),
};

/// Hosts of clouds' metadata services that are not link-local.
const METADATA: &[&str] = &["metadata.google.internal", "metadata", "100.100.100.200", "168.63.129.16"];
const METADATA_V6: &[Ipv6Addr] = &[Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)];

fn run(cx: &mut RuleContext<'_>) {
    for (flow, id, step) in cx.model.live_steps() {
        if let StepKind::Command(call) = &step.kind {
            command(cx, flow, id, call, step.origin);
        }
        let StepKind::Tool(call) = &step.kind else { continue };
        let ValueExpression::Object(members) = &call.arguments else { continue };
        if call.kind != ToolKind::Http {
            continue;
        }
        for (name, value) in members {
            match (&**name, value) {
                ("url", url) => {
                    address(cx, flow, id, url, step.origin);
                    metadata(cx, url, step.origin);
                }
                ("headers", ValueExpression::Object(headers)) => {
                    headers.iter().for_each(|(name, value)| header(cx, flow, id, name, value, step.origin));
                }
                _ => {}
            }
        }
    }
}

/// `curl` and `wget` in a command.
fn command(cx: &mut RuleContext<'_>, flow: FlowId, id: StepId, call: &CommandCall, at: Location) {
    for (name, kind) in shell::command_uses(call) {
        if kind != ShellUseKind::Host {
            continue;
        }
        let Some(value) = shell::parameter_value(call, &name) else { continue };
        let labels = taint_labels(cx, flow, id, value);
        let Some((who, from)) = labels.untrusted_origin() else { continue };
        let (shown, place) = displayed_value(&name, value);
        let message = format!("`{shown}` decides which host the request goes to, and it comes from {who}");
        let help = "use a fixed host or one from the environment, and put the value after it";
        let mut finding =
            cx.new_finding(place.unwrap_or(at), message).with_label(from, "comes from here").with_help(help);
        finding.severity = severity(&labels);
        cx.report_finding(finding);
    }
}

fn address(cx: &mut RuleContext<'_>, flow: FlowId, id: StepId, url: &ValueExpression, at: Location) {
    let mut before = String::new();
    let mut last: Option<String> = None;
    for piece in expression_pieces(url) {
        match piece {
            TextPiece::Written(text) => {
                before.push_str(&text);
                last = None;
            }
            TextPiece::Value(value) => {
                // After the host, values are encoded. A value at the start may contain the scheme.
                if before.split_once("://").map_or(&*before, |(_, rest)| rest).contains(['/', '?', '#']) {
                    return;
                }
                let labels = cx.model.taint().labels_of_value(cx.model.program, flow, id, &value);
                let path = value.path_text().unwrap_or_default();
                if let Some((who, from)) = labels.untrusted_origin() {
                    let (severity, message, help) = match &last {
                        // The host ends with a slash, or it does not.
                        Some(host) => (
                            FindingSeverity::Warning,
                            format!(
                                "without `/` before it, `{path}` can change the host `{host}`, and it comes from {who}"
                            ),
                            "put a `/` between them",
                        ),
                        None => (
                            severity(&labels),
                            format!("`{path}` decides which host the request goes to, and it comes from {who}"),
                            "use a fixed host or one from the environment, and put the value after it",
                        ),
                    };
                    let mut finding = cx
                        .new_finding(value.source_location().unwrap_or(at), message)
                        .with_label(from, "comes from here");
                    finding.severity = severity;
                    cx.report_finding(finding.with_help(help));
                    return;
                }
                match constant(&value) {
                    Some(text) => {
                        before.push_str(&text);
                        last = None;
                    }
                    None => {
                        // The values of a port or the rest of a host are unknown.
                        before.push('x');
                        last = Some(path);
                    }
                }
            }
        }
    }
}

/// A literal host that returns credentials to internal callers: clouds' metadata services and all link-local addresses.
fn metadata(cx: &mut RuleContext<'_>, url: &ValueExpression, at: Location) {
    let Some(TextPiece::Written(text)) = expression_pieces(url).into_iter().next() else { return };
    let Some((_, rest)) = text.split_once("://") else { return };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let link_local = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(four)) => four.is_link_local(),
        Ok(IpAddr::V6(six)) => six.is_unicast_link_local() || METADATA_V6.contains(&six),
        Err(_) => false,
    };
    if !link_local && !METADATA.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        return;
    }
    let message = format!("`{host}` is a link-local or metadata address, where cloud machines serve their credentials");
    let mut finding = cx.new_finding(at, message).with_help("use the host of the service that you want to call");
    finding.severity = FindingSeverity::Warning;
    cx.report_finding(finding);
}

/// The severity of a value that determines the host. The caller of the run may do so on purpose; a model or a tool may
/// be under the control of an attacker.
fn severity(labels: &TaintLabels) -> FindingSeverity {
    if labels.model.is_some() || labels.tool.is_some() { FindingSeverity::Error } else { FindingSeverity::Warning }
}

/// A text that is a constant elsewhere in the manifest.
fn constant(value: &InsertedValue<'_>) -> Option<String> {
    let Some(Source::Const(held)) = value.source else { return None };
    let rest = value.remaining_path();
    let held = rest.iter().try_fold(held, |held, key| held.as_object()?.get(key))?;
    Some(held.as_str()?.to_owned())
}

fn header(cx: &mut RuleContext<'_>, flow: FlowId, id: StepId, name: &str, value: &ValueExpression, at: Location) {
    for piece in expression_pieces(value) {
        let TextPiece::Value(value) = piece else { continue };
        // The caller of the run may set headers; a model may not.
        let labels =
            TaintLabels { input: None, ..cx.model.taint().labels_of_value(cx.model.program, flow, id, &value) };
        if let Some((who, from)) = labels.untrusted_origin() {
            let path = value.path_text().unwrap_or_default();
            let message = format!("`{path}` is sent in the header `{name}`, and it comes from {who}");
            let mut finding =
                cx.new_finding(value.source_location().unwrap_or(at), message).with_label(from, "comes from here");
            finding.severity = FindingSeverity::Warning;
            cx.report_finding(finding.with_help("send it in the body or the query"));
        }
    }
}
