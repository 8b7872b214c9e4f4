//! Assembles the tool calls of a turn from pieces.
//!
//! Compatible servers number pieces in many ways: the same index for all calls, a new id or the whole name in each piece,
//! arguments under an index of their own. So a piece is placed by what calls need. A call needs a name before it is one,
//! and it needs arguments until they are whole. Indexes and ids decide only between calls that could both take a piece.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};
use trefoil_runtime::{ModelError, ModelErrorKind, ModelToolCall};
use trefoil_template::{join_halves, limits};

use super::ProviderEndpoint;
use super::arguments::{ArgumentCompleteness, ArgumentPiece, PartialArguments, read_arguments};
use super::tools::{SealedMembers, ToolWireNames};

/// A piece of a call, or a whole one.
#[derive(Debug)]
pub(super) struct CallDelta<'j> {
    /// Its index, as the provider counts calls.
    pub index: Option<u64>,
    /// Empty if it has none.
    pub id: &'j str,
    /// Empty if it has none.
    pub name: &'j str,
    pub arguments: ArgumentPiece<'j>,
}

/// A tool call that is still arriving.
#[derive(Debug, Default)]
pub(super) struct CallPiece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: PartialArguments,
    /// Arguments that count if no others arrive.
    initial: PartialArguments,
    /// Whether the server said that it is whole, or that it is not.
    ended: Option<bool>,
    /// Provider data of the call that must be sent back.
    pub beside: Map<String, Json>,
}

impl CallPiece {
    /// Sets arguments that count if no others arrive.
    pub fn begin_with(&mut self, arguments: ArgumentPiece<'_>) {
        self.initial = match arguments {
            ArgumentPiece::Absent => return,
            ArgumentPiece::Text(text) => PartialArguments::from_text(text),
            ArgumentPiece::Whole(text) => PartialArguments::from_text(&text),
        };
    }

    /// Notes that the server said that the call is whole, or that it is not. What is not whole once stays so.
    pub fn mark_ended(&mut self, is_whole: bool) {
        self.ended = Some(is_whole && self.ended != Some(false));
    }

    fn arguments(&self) -> &PartialArguments {
        if self.arguments.arrived_part() == ArgumentCompleteness::Blank { &self.initial } else { &self.arguments }
    }
}

/// Why the calls of a turn cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFault {
    /// More than [`limits::ANSWER_CALLS`].
    TooMany,
    /// Arguments arrived for a call whose name did not.
    Nameless,
    /// The answer ended before the arguments of a call did.
    Torn,
    /// A call was announced, and none arrived.
    Missing,
}

impl CallFault {
    /// The error of the model call.
    pub fn to_error(self, endpoint: &ProviderEndpoint) -> ModelError {
        match self {
            Self::TooMany => {
                let what = format!("sent more than {} tool calls in one answer", limits::ANSWER_CALLS);
                endpoint.provider_error(ModelErrorKind::Protocol, &what)
            }
            Self::Nameless => endpoint.provider_error(ModelErrorKind::Status(503), "sent a tool call without a name"),
            Self::Torn => {
                let what = "ended its answer before the arguments of a tool call were complete";
                endpoint.provider_error(ModelErrorKind::Network, what)
            }
            Self::Missing => endpoint.provider_error(
                ModelErrorKind::Network,
                "ended its answer with a tool call that it announced but never sent",
            ),
        }
    }
}

/// The tool calls of a turn while they arrive.
#[derive(Debug, Default)]
pub(super) struct CallAssembly {
    all: Vec<CallPiece>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// The call that got the last piece.
    open: Option<usize>,
    /// The names that the request offered, as the provider knows them.
    offered: Vec<String>,
    /// A call, or a part of one, has arrived since this was last asked.
    grown: bool,
    too_many: bool,
    /// A part of a call has arrived that belongs to none.
    announced: bool,
    /// A whole call has arrived without its name.
    nameless: bool,
    /// Provider data of the turn that must be sent back.
    pub beside: Map<String, Json>,
}

impl CallAssembly {
    /// No calls yet, of a request that offers these tools.
    pub fn for_tools(names: &ToolWireNames) -> Self {
        Self { offered: names.wire_names().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Whether no call has arrived.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// An index that no call has, for a call that arrives whole.
    pub fn free_index(&self) -> Option<u64> {
        u64::try_from(self.all.len()).ok()
    }

    /// Whether a call or a part of one has arrived since the last time.
    pub fn take_growth(&mut self) -> bool {
        std::mem::take(&mut self.grown)
    }

    /// Adds a piece; returns its call. A piece without a name and without arguments belongs to none if no call has begun.
    pub fn add_delta(&mut self, delta: &CallDelta<'_>) -> Option<&mut CallPiece> {
        let at = match self.find_call(delta) {
            Some(at) => at,
            None if delta.name.is_empty() && is_blank(&delta.arguments) => {
                self.announced |= !delta.id.is_empty();
                return None;
            }
            None => self.begin(delta)?,
        };
        self.open = Some(at);
        self.note_keys(delta, at);
        let piece = self.all.get_mut(at)?;
        if piece.name != delta.name {
            piece.name.push_str(delta.name);
        }
        let repeated = !delta.name.is_empty() && piece.arguments.is_whole();
        match &delta.arguments {
            ArgumentPiece::Absent => {}
            ArgumentPiece::Text(text) if repeated && PartialArguments::from_text(text).is_whole() => {
                piece.arguments = PartialArguments::from_text(text)
            }
            ArgumentPiece::Text(text) => {
                self.grown |= !text.is_empty();
                piece.arguments.push(text);
            }
            ArgumentPiece::Whole(text) => {
                self.grown = true;
                piece.arguments = PartialArguments::from_text(text);
            }
        }
        Some(piece)
    }

    /// Adds a call that arrives whole, in an item or a block of its own, or at least with its name.
    pub fn add_whole(&mut self, delta: &CallDelta<'_>) -> Option<&mut CallPiece> {
        self.nameless |= delta.name.is_empty();
        self.add_delta(delta)
    }

    /// Notes that a call is to come.
    pub fn announce_call(&mut self) {
        self.announced = true;
    }

    fn find_by_index(&self, delta: &CallDelta<'_>) -> Option<usize> {
        self.by_index.get(&delta.index?).copied()
    }

    fn find_by_id(&self, delta: &CallDelta<'_>) -> Option<usize> {
        if delta.id.is_empty() { None } else { self.by_id.get(delta.id).copied() }
    }

    /// The call that a piece belongs to; `None`: a new one.
    fn find_call(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let (by_index, by_id) = (self.find_by_index(delta), self.find_by_id(delta));
        let numbered = |at: Option<usize>| Some((at?, self.all.get(at?)?));
        let has_id = |piece: &CallPiece| !delta.id.is_empty() && piece.id == delta.id;
        // Ids may be used twice, and indexes may be the same for all calls: what has both is certain.
        let exact = match numbered(by_index) {
            Some((at, piece)) if has_id(piece) => Some(at),
            _ => None,
        };
        if delta.name.is_empty() {
            return self.find_needy_call(exact.or(by_id).or(by_index));
        }
        // Some servers have no indexes, or send the name last.
        let unnumbered = match numbered(self.open) {
            Some((at, piece)) if delta.index.is_none() || piece.name.is_empty() => Some(at),
            _ => None,
        };
        let (at, piece) = numbered(exact.or(by_index).or(by_id).or(unnumbered))?;
        let same_index = delta.index.is_none() || piece.index.is_none() || delta.index == piece.index;
        let same_id = has_id(piece) && same_index;
        let belongs = match piece.arguments.arrived_part() {
            _ if piece.name.is_empty() => same_index,
            ArgumentCompleteness::Blank if piece.name != delta.name => self.continues_name(piece, delta),
            _ if piece.name != delta.name => false,
            // The whole name is in every piece.
            ArgumentCompleteness::Partial => true,
            ArgumentCompleteness::Blank => same_id || (same_index && (by_index.is_some() || delta.id.is_empty())),
            ArgumentCompleteness::Hollow | ArgumentCompleteness::Whole => same_id,
        };
        if belongs { Some(at) } else { None }
    }

    /// Of the call with the keys of a piece and the open one, the call that the piece belongs to.
    fn find_needy_call(&self, keyed: Option<usize>) -> Option<usize> {
        // A call whose arguments are whole needs no more.
        for at in [keyed, self.open].into_iter().flatten() {
            if let Some(piece) = self.all.get(at)
                && !piece.arguments.is_whole()
            {
                return Some(at);
            }
        }
        keyed
    }

    /// Whether a name arrives in parts: together they are the start of a tool's name, and the first part alone is none.
    fn continues_name(&self, piece: &CallPiece, delta: &CallDelta<'_>) -> bool {
        let whole = format!("{}{}", piece.name, delta.name);
        let other = !delta.id.is_empty() && delta.id != piece.id;
        !other && !self.offered.contains(&piece.name) && self.offered.iter().any(|name| name.starts_with(&whole))
    }

    fn begin(&mut self, delta: &CallDelta<'_>) -> Option<usize> {
        if self.all.len() >= limits::ANSWER_CALLS {
            self.too_many = true;
            return None;
        }
        let at = self.all.len();
        self.all.push(CallPiece { index: delta.index, ..CallPiece::default() });
        // What later has the same keys belongs to the latest call with them.
        if let Some(index) = delta.index {
            self.by_index.insert(index, at);
        }
        if !delta.id.is_empty() {
            self.by_id.insert(delta.id.to_owned(), at);
        }
        self.grown = true;
        Some(at)
    }

    /// Later pieces may have only the keys of this one.
    fn note_keys(&mut self, delta: &CallDelta<'_>, at: usize) {
        if let Some(index) = delta.index {
            self.by_index.entry(index).or_insert(at);
        }
        if delta.id.is_empty() {
            return;
        }
        if !self.by_id.contains_key(delta.id) {
            self.by_id.insert(delta.id.to_owned(), at);
        }
        if let Some(piece) = self.all.get_mut(at)
            && piece.id.is_empty()
        {
            delta.id.clone_into(&mut piece.id);
        }
    }

    /// Adds a call that some protocols repeat in several events, each time as it is known then. The fuller form counts.
    pub fn update_call(&mut self, delta: &CallDelta<'_>) -> Option<&mut CallPiece> {
        let known = match (self.find_by_id(delta), self.find_by_index(delta)) {
            (Some(at), _) if self.may_have_name(at, delta) => Some(at),
            (_, Some(at)) if self.may_have_name(at, delta) && !self.is_other_call(at, delta) => Some(at),
            _ => None,
        };
        match known {
            Some(at) => self.fill(at, delta),
            // Without a name it is only a part of a call.
            None if delta.name.is_empty() => self.add_delta(delta),
            None => {
                let at = self.begin(delta)?;
                self.fill(at, delta)
            }
        }
    }

    fn may_have_name(&self, at: usize, delta: &CallDelta<'_>) -> bool {
        matches!(self.all.get(at), Some(piece) if piece.name.is_empty() || piece.name == delta.name)
    }

    /// Whether a call has arrived, with another id.
    fn is_other_call(&self, at: usize, delta: &CallDelta<'_>) -> bool {
        let Some(piece) = self.all.get(at) else { return false };
        !delta.id.is_empty() && piece.id != delta.id && piece.arguments.is_whole()
    }

    fn fill(&mut self, at: usize, delta: &CallDelta<'_>) -> Option<&mut CallPiece> {
        self.open = Some(at);
        self.note_keys(delta, at);
        let piece = self.all.get_mut(at)?;
        if piece.name.is_empty() {
            delta.name.clone_into(&mut piece.name);
        }
        let newer = match &delta.arguments {
            ArgumentPiece::Absent => return Some(piece),
            ArgumentPiece::Text(text) => PartialArguments::from_text(text),
            ArgumentPiece::Whole(text) => PartialArguments::from_text(text),
        };
        if newer.arrived_part() >= piece.arguments.arrived_part() {
            self.grown |= newer.text() != piece.arguments.text();
            piece.arguments = newer;
        }
        Some(piece)
    }

    /// Takes the calls of a whole turn, which was streamed before, completely, in part or not at all.
    pub fn update_all(&mut self, whole: Self) {
        if self.is_empty() {
            let (grown, announced) = (self.grown || !whole.is_empty(), self.announced || whole.announced);
            *self = Self { offered: std::mem::take(&mut self.offered), grown, announced, ..whole };
            return;
        }
        self.too_many |= whole.too_many;
        self.nameless |= whole.nameless;
        // Some gateways make new ids for each event.
        let in_order = self.all.len() == whole.all.len()
            && self.all.iter().zip(&whole.all).all(|(streamed, call)| streamed.name == call.name);
        for (at, call) in whole.all.iter().enumerate() {
            let arguments = ArgumentPiece::Text(call.arguments.text());
            let delta = CallDelta { index: call.index, id: &call.id, name: &call.name, arguments };
            let piece = if in_order { self.fill(at, &delta) } else { self.update_call(&delta) };
            if let (Some(piece), Some(is_whole)) = (piece, call.ended) {
                piece.mark_ended(is_whole);
            }
        }
    }

    /// Whether there are more calls than an answer may have. The others were not kept.
    pub fn is_overfull(&self) -> bool {
        self.too_many
    }

    /// Notes that all calls have arrived whole, but those that the server says have not.
    pub fn end_all(&mut self) {
        for piece in &mut self.all {
            piece.mark_ended(true);
        }
    }

    /// Why the calls cannot be used, when everything has arrived. `ends_calls`: a finish reason said that they are whole.
    /// `announced`: it said that there are some.
    pub fn find_fault(&self, ends_calls: bool, announced: bool) -> Option<CallFault> {
        let is_torn = |piece: &CallPiece| match piece.ended {
            Some(is_whole) => !is_whole,
            None => !ends_calls && !piece.arguments().is_whole(),
        };
        match () {
            () if self.too_many => Some(CallFault::TooMany),
            () if self.nameless || self.all.iter().any(|piece| piece.name.is_empty()) => Some(CallFault::Nameless),
            () if self.all.is_empty() && (announced || self.announced) => Some(CallFault::Missing),
            () if self.all.iter().any(is_torn) => Some(CallFault::Torn),
            () => None,
        }
    }

    /// The calls, when everything has arrived. `provider` is the one that gets its data back.
    pub fn into_calls(self, names: &ToolWireNames, provider: &str) -> Vec<ModelToolCall> {
        let mut calls: Vec<ModelToolCall> = Vec::new();
        let mut taken: HashSet<String> = HashSet::new();
        let mut beside_turn = self.beside;
        for piece in self.all {
            if piece.name.is_empty() {
                continue;
            }
            // Results are matched with calls by id, so ids must be unique and not empty.
            let base = if piece.id.is_empty() { "call" } else { &piece.id };
            let mut n = calls.len() + 1;
            let mut id = if base == "call" { format!("call_{n}") } else { base.to_owned() };
            while !taken.insert(id.clone()) {
                n += 1;
                id = format!("{base}_{n}");
            }
            let arguments = read_arguments(&join_halves(piece.arguments().text().to_owned()));
            let sealed = SealedMembers { turn: std::mem::take(&mut beside_turn), call: piece.beside };
            let (name, sealed) = (names.manifest_name(&piece.name), sealed.into_text(provider));
            calls.push(ModelToolCall { id: id.into(), name, arguments, sealed });
        }
        calls
    }
}

fn is_blank(arguments: &ArgumentPiece<'_>) -> bool {
    match arguments {
        ArgumentPiece::Absent => true,
        ArgumentPiece::Text(text) => text.trim().is_empty(),
        ArgumentPiece::Whole(_) => false,
    }
}

/// Appends a part of provider data. It is the only place that does, so that no server can make it slow.
pub(super) fn append_text(to: &mut Map<String, Json>, name: &str, more: &str) {
    match to.get_mut(name) {
        Some(Json::String(text)) => text.push_str(more),
        _ => drop(to.insert(name.to_owned(), more.into())),
    }
}
