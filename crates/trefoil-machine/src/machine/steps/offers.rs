//! The tools that a model may call: the offers in the manifest combined with the tools' own descriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::{Conversation, Offer, Program, StepKind, ToolCall, ToolKind};
use trefoil_template::{Value, ValueObject};

use crate::machine::progress::{OfferedTool, ToolCallArguments};
use crate::request::{ModelToolCall, ToolSpec, ToolsRequest};
use crate::schemas::ForeignSchema;

/// The maximum length of a tool's name that all providers accept, in characters.
const LONGEST_NAME: usize = 64;

/// The descriptions to request: of tools that the manifest does not describe.
pub fn description_requests(program: &Program, it: &Conversation) -> Vec<ToolsRequest> {
    let mut wanted: Vec<ToolsRequest> = Vec::new();
    for offer in &it.offers {
        if offer.parameters.is_some() {
            continue;
        }
        let Some(call) = tool_of(program, offer) else { continue };
        let names = if offer.all { None } else { Some(vec![call.name.clone()]) };
        match wanted.iter_mut().find(|known| known.kind == call.kind) {
            None => wanted.push(ToolsRequest { kind: call.kind.clone(), names }),
            Some(known) => match (&mut known.names, names) {
                (Some(all), Some(names)) => {
                    for name in names {
                        if !all.contains(&name) {
                            all.push(name);
                        }
                    }
                }
                (all, _) => *all = None,
            },
        }
    }
    wanted
}

/// The descriptions received, by place.
pub fn parse_descriptions(program: &Program, it: &Conversation, said: &Value) -> Vec<(ToolKind, Vec<ToolSpec>)> {
    let lists = said.as_list().unwrap_or_default();
    let mut described = Vec::new();
    for (wanted, list) in description_requests(program, it).into_iter().zip(lists) {
        let tools = list.as_list().unwrap_or_default();
        described.push((wanted.kind, tools.iter().filter_map(ToolSpec::from_value).collect()));
    }
    described
}

/// The descriptions received from one place.
pub fn listed_tools<'l>(
    listed: &'l [(ToolKind, Vec<ToolSpec>)],
    kind: &ToolKind,
) -> impl Iterator<Item = &'l ToolSpec> {
    listed.iter().filter(move |(known, _)| known == kind).flat_map(|(_, tools)| tools)
}

/// All tools that the model may call.
pub fn offered_tools(program: &Program, it: &Conversation, listed: &[(ToolKind, Vec<ToolSpec>)]) -> Vec<OfferedTool> {
    let mut all: Vec<OfferedTool> = Vec::new();
    let mut names = FreeNames::default();
    for (at, offer) in it.offers.iter().enumerate() {
        let mut add = |name: &str, spec: ToolSpec, tool| {
            let name = names.free(name);
            let description = offer.description.clone().unwrap_or(spec.description);
            let parameters = without(spec.parameters, &offer.pinned);
            let spec = ToolSpec { name, description, parameters, effects: spec.effects };
            all.push(OfferedTool { spec, offer: at, tool, takes: ForeignSchema::default() });
        };
        if let Some(schema) = offer.parameters {
            let parameters = program.schemas[schema].json.clone();
            add(&offer.name, ToolSpec { parameters, ..ToolSpec::without_description(offer.name.clone()) }, None);
            continue;
        }
        let Some(call) = tool_of(program, offer) else { continue };
        let mut known = listed_tools(listed, &call.kind);
        if offer.all {
            for tool in known {
                add(&format!("{}{}", offer.name, tool.name), tool.clone(), Some(tool.name.clone()));
            }
            continue;
        }
        // An existing tool may have no description.
        let spec = match known.find(|tool| tool.name == call.name) {
            Some(tool) => tool.clone(),
            None => ToolSpec::without_description(offer.name.clone()),
        };
        add(&offer.name, spec, None);
    }
    all
}

/// The offer and the arguments of a call, or the reason why it cannot be made.
pub fn resolve_call(
    it: &Conversation,
    offered: &[OfferedTool],
    call: &ModelToolCall,
) -> Result<(usize, ToolCallArguments), String> {
    let Some(tool) = offered.iter().find(|tool| tool.spec.name == call.name) else {
        let names: Vec<&str> = offered.iter().map(|tool| &*tool.spec.name).collect();
        return Err(format!("there is no such tool; there are: {}", names.join(", ")));
    };
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => Value::Object(Default::default()),
        _ => return Err("its arguments are not a JSON object".to_owned()),
    };
    if let Err(why) = tool.takes.check_value(&tool.spec.parameters, &arguments) {
        return Err(format!("its arguments do not fit: {why}"));
    }
    let member = it.offers.get(tool.offer).and_then(|offer| offer.member.as_ref());
    let arguments = match member {
        Some(member) => arguments.get(member).cloned().unwrap_or_default(),
        None => arguments,
    };
    Ok((tool.offer, ToolCallArguments { called: tool.spec.name.clone(), tool: tool.tool.clone(), arguments }))
}

fn tool_of<'p>(program: &'p Program, offer: &Offer) -> Option<&'p ToolCall> {
    match &program.steps[offer.step].kind {
        StepKind::Tool(call) => Some(call),
        _ => None,
    }
}

/// Names that providers accept and that no other tool has.
#[derive(Default)]
struct FreeNames {
    taken: BTreeSet<Arc<str>>,
    /// The next number for a name that is taken.
    next: BTreeMap<String, u32>,
}

impl FreeNames {
    fn free(&mut self, name: &str) -> Arc<str> {
        let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        let plain: String = name.chars().map(fits).take(LONGEST_NAME).collect();
        let mut free: Arc<str> = plain.as_str().into();
        while self.taken.contains(&free) {
            let next = self.next.entry(plain.clone()).or_insert(2);
            let end = format!("_{next}");
            *next += 1;
            let kept: String = plain.chars().take(LONGEST_NAME - end.len()).collect();
            free = format!("{kept}{end}").into();
        }
        self.taken.insert(free.clone());
        free
    }
}

/// The parameters that are not pinned.
fn without(mut parameters: Value, pinned: &[Arc<str>]) -> Value {
    if pinned.is_empty() {
        return parameters;
    }
    let Value::Object(schema) = &parameters else { return parameters };
    let mut schema: ValueObject = (**schema).clone();
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let mut left = ValueObject::default();
        for (name, value) in properties.iter() {
            if !pinned.contains(name) {
                left.insert(name.clone(), value.clone());
            }
        }
        schema.insert("properties".into(), left.into());
    }
    if let Some(Value::List(required)) = schema.get("required") {
        let is_pinned = |name: &Value| matches!(name, Value::Str(name) if pinned.contains(name));
        let left: Value = required.iter().filter(|name| !is_pinned(name)).cloned().collect();
        schema.insert("required".into(), left);
    }
    parameters = schema.into();
    parameters
}
