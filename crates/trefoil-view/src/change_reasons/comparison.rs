//! The differences between requests, and what caused them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};
use trefoil_ir::{OnTimeout, Program, Source, StepId, StepKind, ValueExpression, walk};
use trefoil_machine::Key;
use trefoil_machine::provenance::{Origin, OriginKind, TextPart};
use trefoil_machine::request::{
    Activity, CommandRequest, HumanRequest, MessageRole, ModelMessage, ModelRequest, Request, ToolSpec,
};
use trefoil_runtime::driver::HiddenValues;
use trefoil_syntax::{Location, SourceFiles};
use trefoil_template::Value;

use super::reason::{
    ChangeReason, ChangedTextKind, ChangedValueKind, SourceReason, TextReason, TextSource, ValueReason,
};
use crate::diff::{TextHunk, ValueChange, WordDiff, changed_values};
use crate::plan::PlanLocation;

/// The data for a comparison.
pub struct ComparisonData<'a> {
    /// The current files.
    pub files: &'a SourceFiles,
    /// The current program, if available.
    pub program: Option<&'a Program>,
    /// Renamed steps: the old and the new key.
    pub renamed: &'a BTreeMap<Key, Key>,
    /// What must not be shown.
    pub seen: &'a HiddenValues,
}

impl ComparisonData<'_> {
    /// The differences between two requests.
    pub fn find_reasons(&self, before: &Activity, now: &Activity) -> Vec<ChangeReason> {
        let (before, now) = (&*self.seen.displayed_activity(before), &*self.seen.displayed_activity(now));
        let mut all = Vec::new();
        match (&before.request, &now.request) {
            (Request::Model(then), Request::Model(request)) => self.model(then, request, &mut all),
            (Request::Tool(then), Request::Tool(request)) if then.name == request.name => {
                let (then, args) = (then.arguments.to_json(), request.arguments.to_json());
                values(ChangedValueKind::Argument, Some(then), Some(args), &mut all);
                for reason in &mut all {
                    self.trace(now.step, reason);
                }
            }
            (Request::Tool(then), Request::Tool(request)) => {
                let name = |name: &str| Some(Json::from(name));
                all.push(value(ChangedValueKind::Tool, "", name(&then.name), name(&request.name)));
            }
            (Request::Command(then), Request::Command(request)) => self.command(now.step, then, request, &mut all),
            (Request::Human(then), Request::Human(request)) => human(then, request, &mut all),
            (then, request) if then.sort_name() != request.sort_name() => {
                all.push(ChangeReason::Sort(then.sort_name()))
            }
            _ => {}
        }
        if all.is_empty() && before.content != now.content {
            all.push(ChangeReason::Other(match now.request {
                Request::Tool(_) => "where the tool is changed",
                _ => "it changed",
            }));
        }
        all
    }

    fn model(&self, then: &ModelRequest, now: &ModelRequest, all: &mut Vec<ChangeReason>) {
        if model_name(then) != model_name(now) {
            all.push(value(ChangedValueKind::Model, "", Some(model_name(then)), Some(model_name(now))));
        }
        values(ChangedValueKind::Parameter, Some(parameters(then)), Some(parameters(now)), all);
        let schema = |request: &ModelRequest| request.schema.as_ref().map(|(_, schema)| schema.to_json());
        values(ChangedValueKind::Schema, schema(then), schema(now), all);
        if std::mem::discriminant(&then.format) != std::mem::discriminant(&now.format) && schema(then) == schema(now) {
            all.push(ChangeReason::Other("the format of its answer changed"));
        }
        values(ChangedValueKind::Tool, Some(tools(&then.tools)), Some(tools(&now.tools)), all);
        if then.guards != now.guards {
            all.push(ChangeReason::Other("its guardrails changed"));
        }
        self.messages(&then.messages, &now.messages, all);
    }

    /// Messages are compared by role, so an added instruction does not make other messages differ.
    fn messages(&self, then: &[ModelMessage], now: &[ModelMessage], all: &mut Vec<ChangeReason>) {
        for role in [MessageRole::System, MessageRole::User, MessageRole::Assistant, MessageRole::Tool] {
            let of_role = |messages: &[ModelMessage]| -> Vec<ModelMessage> {
                messages.iter().filter(|message| message.role == role).cloned().collect()
            };
            let (then, now) = (of_role(then), of_role(now));
            let count = then.len().max(now.len());
            let none = ModelMessage::new(role, Value::from(""));
            for n in 0..count {
                let (old, new) = (then.get(n).unwrap_or(&none), now.get(n).unwrap_or(&none));
                let of = ChangedTextKind::Message(role, if count > 1 { Some(n + 1) } else { None });
                let before = all.len();
                self.text(of, (&old.content, &old.parts), (&new.content, &new.parts), all);
                if all.len() == before && old.calls != new.calls {
                    all.push(ChangeReason::Other("the tools that the model called changed"));
                }
            }
        }
    }

    /// Compares a text, by the origin of the changed words.
    fn text(
        &self,
        of: ChangedTextKind,
        then: (&Value, &[TextPart]),
        now: (&Value, &[TextPart]),
        all: &mut Vec<ChangeReason>,
    ) {
        let diff = WordDiff::between_texts(&then.0.to_text(), &now.0.to_text());
        let moved = self.sources(of, then.1, now.1);
        let is_moved = |key: &Key| moved.iter().any(|one| one.before.contains(key) || one.now.contains(key));
        let mut by: Vec<(TextSource, Vec<TextHunk>)> = Vec::new();
        for hunk in diff.hunks.clone() {
            let source = match hunk.now.is_empty() {
                false => self.source(now.1, &diff.now, &hunk.now),
                // Removed text was in the old version of the file, so its line number is not valid any more.
                true => without_place(self.source(then.1, &diff.before, &hunk.before)),
            };
            match by.iter_mut().find(|(known, _)| *known == source) {
                Some((_, hunks)) => hunks.push(hunk),
                None => by.push((source, vec![hunk])),
            }
        }
        // If a placeholder refers to another step, its changed text needs no separate reason.
        by.retain(|(source, _)| !matches!(source, TextSource::Step(key, _) if is_moved(key)));
        all.extend(moved.into_iter().map(ChangeReason::Source));
        for (source, hunks) in by {
            let diff = WordDiff { before: diff.before.clone(), now: diff.now.clone(), hunks };
            all.push(ChangeReason::Text(TextReason { of, source, diff }));
        }
    }

    /// Placeholders that now contain the results of other steps.
    fn sources(&self, of: ChangedTextKind, then: &[TextPart], now: &[TextPart]) -> Vec<SourceReason> {
        let (then, read) = (placeholders(then), placeholders(now));
        let mut all = Vec::new();
        for (path, now) in &read {
            let Some((_, before)) = then.iter().find(|(known, _)| known == path) else { continue };
            let same = before.keys.iter().map(|key| self.renamed.get(key).unwrap_or(key)).eq(&now.keys);
            if !same {
                let reason = SourceReason {
                    of,
                    path: path.clone(),
                    place: now.place.and_then(|at| self.line(at, 0)),
                    before: before.keys.clone(),
                    now: now.keys.clone(),
                };
                all.push(reason);
            }
        }
        all
    }

    fn line(&self, at: Location, more: usize) -> Option<PlanLocation> {
        let place = PlanLocation::from_location(self.files, at)?;
        Some(PlanLocation { line: place.line.saturating_add(more as u32), ..place })
    }

    /// The origin of these bytes: the first one that overlaps.
    fn source(&self, parts: &[TextPart], text: &str, bytes: &std::ops::Range<usize>) -> TextSource {
        let mut at = 0;
        for part in parts {
            let start = at;
            at += part.len as usize;
            if start < bytes.end && bytes.start < at {
                let lines = text.get(start..bytes.start.max(start)).unwrap_or_default().matches('\n').count();
                return self.origin(&part.origin, lines);
            }
        }
        TextSource::Unknown
    }

    /// The origin as a text source; `lines`: the line within the text of the file.
    fn origin(&self, origin: &Origin, lines: usize) -> TextSource {
        let place = |more: usize| self.line(origin.place?, more);
        match (&origin.from, &origin.path) {
            (OriginKind::Literal | OriginKind::Const, None) => TextSource::File(place(lines)),
            (OriginKind::Step(key), _) => TextSource::Step(key.clone(), place(0)),
            (_, Some(path)) => TextSource::Placeholder(path.to_string(), place(0)),
            _ => TextSource::Unknown,
        }
    }

    fn command(&self, step: StepId, then: &CommandRequest, now: &CommandRequest, all: &mut Vec<ChangeReason>) {
        if then.script != now.script {
            let diff = WordDiff::between_texts(&then.script, &now.script);
            all.push(ChangeReason::Text(TextReason {
                of: ChangedTextKind::Script,
                source: TextSource::File(self.step_location(step)),
                diff,
            }));
        }
        for n in 0..then.arguments.len().max(now.arguments.len()) {
            let json = |request: &CommandRequest| request.arguments.get(n).map(Value::to_json);
            if json(then) != json(now) {
                let mut reason = value(ChangedValueKind::Argument, &(n + 1).to_string(), json(then), json(now));
                self.trace(step, &mut reason);
                all.push(reason);
            }
        }
        values(ChangedValueKind::Environment, Some(environment(then)), Some(environment(now)), all);
        let folder = |request: &CommandRequest| request.workdir.as_ref().map(Value::to_json);
        if folder(then) != folder(now) {
            all.push(value(ChangedValueKind::Folder, "", folder(then), folder(now)));
        }
    }

    fn step_location(&self, step: StepId) -> Option<PlanLocation> {
        self.line(self.program?.steps[step].origin, 0)
    }

    /// Adds the steps whose results an argument is made of, judging by what the program reads.
    fn trace(&self, step: StepId, reason: &mut ChangeReason) {
        let (Some(program), ChangeReason::Value(reason)) = (self.program, reason) else { return };
        let first = reason.path.split(['.', '[']).next().unwrap_or_default();
        let Some(read) = argument_expression(&program.steps[step].kind, first) else { return };
        let mut slots = Vec::new();
        walk::visit_sources(read, &mut |source| {
            if let Source::Slot(slot) = source {
                slots.push(*slot);
            }
        });
        let flow = program.flows.iter().find(|flow| inside(program, flow.body, step));
        let Some(flow) = flow else { return };
        let mut open = vec![flow.body];
        while let Some(id) = open.pop() {
            let step = &program.steps[id];
            open.extend(walk::children_of(step).into_iter().rev());
            if let Some(label) = &step.label
                && let Some(out) = &step.out
                && slots.contains(out)
            {
                reason.from.push(label.to_string());
            }
        }
    }
}

/// The expression of an argument of a call: by its name, or by its number from 1.
fn argument_expression<'p>(kind: &'p StepKind, name: &str) -> Option<&'p ValueExpression> {
    match kind {
        StepKind::Tool(call) => match &call.arguments {
            ValueExpression::Object(members) => {
                let (_, expression) = members.iter().find(|(member, _)| **member == *name)?;
                Some(expression)
            }
            whole => Some(whole),
        },
        StepKind::Command(call) => call.arguments.get(name.parse::<usize>().ok()?.checked_sub(1)?),
        _ => None,
    }
}

/// The data of a placeholder in a text.
#[derive(Default)]
struct PlaceholderData {
    keys: Vec<Key>,
    place: Option<Location>,
}

/// The placeholders of a text, by the path nearest to it.
fn placeholders(parts: &[TextPart]) -> Vec<(String, PlaceholderData)> {
    let mut all: Vec<(String, PlaceholderData)> = Vec::new();
    for part in parts {
        let Origin { from, path, place, via, .. } = &part.origin;
        // The list of placeholders through which a text was passed starts with the outermost.
        let (path, place) = match (via.first(), path) {
            (Some(via), _) => (&via.path, Some(via.place)),
            (None, Some(path)) => (path, *place),
            (None, None) => continue,
        };
        if !all.iter().any(|(known, _)| **known == **path) {
            all.push((path.to_string(), PlaceholderData { keys: Vec::new(), place }));
        }
        if let OriginKind::Step(key) = from
            && let Some((_, data)) = all.iter_mut().find(|(known, _)| **known == **path)
            && !data.keys.contains(key)
        {
            data.keys.push(key.clone());
        }
    }
    all
}

fn without_place(source: TextSource) -> TextSource {
    match source {
        TextSource::File(_) => TextSource::File(None),
        TextSource::Step(key, _) => TextSource::Step(key, None),
        TextSource::Placeholder(path, _) => TextSource::Placeholder(path, None),
        TextSource::Unknown => TextSource::Unknown,
    }
}

fn inside(program: &Program, body: StepId, wanted: StepId) -> bool {
    let mut open = vec![body];
    while let Some(id) = open.pop() {
        if id == wanted {
            return true;
        }
        open.extend(walk::children_of(&program.steps[id]));
    }
    false
}

fn human(then: &HumanRequest, now: &HumanRequest, all: &mut Vec<ChangeReason>) {
    let diff = WordDiff::between_texts(&then.prompt.to_text(), &now.prompt.to_text());
    if !diff.is_same() {
        all.push(ChangeReason::Text(TextReason { of: ChangedTextKind::Question, source: TextSource::Unknown, diff }));
    }
    if then.step != now.step {
        all.push(ChangeReason::Other("the calling step was renamed"));
    }
    let default = |request: &HumanRequest| match &request.on_timeout {
        OnTimeout::Answer(answer) => Some(Json::from(&**answer)),
        OnTimeout::Fail => None,
    };
    if default(then) != default(now) {
        all.push(value(ChangedValueKind::Default, "", default(then), default(now)));
    }
    if then.accepts.iter().collect::<BTreeSet<_>>() != now.accepts.iter().collect() {
        all.push(ChangeReason::Other("the accepted answers changed"));
    }
    if then.refused != now.refused {
        all.push(ChangeReason::Other("the answer before it changed"));
    }
}

fn model_name(request: &ModelRequest) -> Json {
    match &request.provider {
        Some(provider) => Json::from(format!("{provider}:{}", request.model)),
        None => Json::from(request.model.to_string()),
    }
}

fn environment(request: &CommandRequest) -> Json {
    Json::Object(request.env.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect())
}

fn parameters(request: &ModelRequest) -> Json {
    let set = request.parameters.without_timeout().values_by_name();
    Json::Object(set.into_iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect())
}

fn tools(tools: &[ToolSpec]) -> Json {
    let tool = |tool: &ToolSpec| (tool.name.to_string(), tool.to_value().to_json());
    Json::Object(tools.iter().map(tool).collect::<Map<_, _>>())
}

fn value(of: ChangedValueKind, path: &str, before: Option<Json>, now: Option<Json>) -> ChangeReason {
    ChangeReason::Value(ValueReason { of, path: path.to_owned(), before, now, from: Vec::new() })
}

/// Adds the values that differ, each by its path.
fn values(of: ChangedValueKind, before: Option<Json>, now: Option<Json>, all: &mut Vec<ChangeReason>) {
    for ValueChange { path, before, now } in changed_values(before.as_ref(), now.as_ref(), &|_| None) {
        all.push(value(of, &path, before, now));
    }
}
