//! Tool nodes: a tool call with the node's id as its name. Only the host knows whether the tool exists.

use std::sync::Arc;

use trefoil_ir::{Backoff, Expr, OnFailure, Retry, RetryOn, Source, StepKind, ToolCall, ToolKind};
use trefoil_syntax::yaml::{Kind, Node, Scalar};
use trefoil_template::Value;

use super::flow::{Scope, Workflow};
use super::lowered::Lowered;
use crate::read::to_value;
use crate::sirenspec::manifest::{ToolNode, ToolSettings};

/// Lowers a tool node: its result under `output_key`.
pub fn lower(flow: &Workflow<'_>, at: usize, node: &ToolNode<'_>) -> Option<Lowered> {
    let mut scope = Scope::plain(at);
    let name = flow.known.nodes.get(at)?.id.clone();
    let (kind, arguments, limit) = match node.settings.as_ref()? {
        ToolSettings::Http { url, method, headers, body, timeout_ms, timeout_at } => {
            let mut arguments: Vec<(Arc<str>, Expr)> = vec![
                ("url".into(), flow.text_or(&mut scope, *url)),
                ("method".into(), Expr::Const(Value::from(*method))),
            ];
            if !headers.is_empty() {
                let all = headers.iter().map(|(name, value)| (name.value.clone(), flow.text(&mut scope, value)));
                arguments.push(("headers".into(), Expr::Object(all.collect())));
            }
            if let Some(body) = body {
                arguments.push(("body".into(), flow.text(&mut scope, body)));
            }
            (ToolKind::Http, arguments, Some((*timeout_ms, *timeout_at)))
        }
        ToolSettings::Python { module, function, args } => {
            let args = args.map_or_else(|| Expr::Object(Vec::new()), |entry| nested(flow, &mut scope, &entry.value));
            let arguments = vec![
                ("module".into(), flow.text_or(&mut scope, *module)),
                ("function".into(), flow.text_or(&mut scope, *function)),
                ("args".into(), args),
            ];
            (ToolKind::Python, arguments, None)
        }
    };
    let mut lowered =
        Lowered::new(StepKind::Tool(Box::new(ToolCall { name, kind, arguments: Expr::Object(arguments) })));
    let result = Expr::Read(Source::Result);
    lowered.shape =
        Some(node.output_key.iter().rev().fold(result, |inner, key| Expr::Object(vec![(key.clone(), inner)])));
    lowered.policy.timeout_ms = limit.map(|(ms, _)| ms);
    lowered.policy.timeout_at = limit.and_then(|(_, at)| at).map(|at| flow.at(at));
    lowered.policy.retry = node.retries.map(|retries| Retry {
        max_attempts: retries.saturating_add(1),
        backoff: Backoff::Constant,
        base_delay_ms: 0,
        max_delay_ms: 0,
        jitter: false,
        on: vec![
            RetryOn::Code("TOOL_ERROR".into()),
            RetryOn::Code("TOOL_TIMEOUT".into()),
            RetryOn::Network,
            RetryOn::Timeout,
        ],
    });
    if node.skip {
        lowered.policy.on_failure = OnFailure::Use(Box::new(Expr::Const(Value::Null)));
    }
    Some(lowered)
}

/// A value whose texts are templates; its keys are not.
fn nested(flow: &Workflow<'_>, scope: &mut Scope<'_>, node: &Node) -> Expr {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, text) => flow.typed(scope, text),
        Kind::Scalar(..) => Expr::Const(to_value(node)),
        Kind::Sequence(items) => Expr::List(items.iter().map(|item| nested(flow, scope, item)).collect()),
        Kind::Mapping(mapping) => {
            Expr::Object(mapping.entries.iter().map(|e| (e.key.value.clone(), nested(flow, scope, &e.value))).collect())
        }
    }
}
