//! Builds the tree from parser events, within limits. Continues after any mistake except an exceeded limit or a second
//! document.

mod cut_values;
mod scalar;

use std::sync::Arc;

use granit_parser::{Event, StructureStyle, Tag};

use super::limits::YamlLimits;
use super::mapping::{self, displayed_key};
use super::schema::CoreTag;
use super::tree::{YamlEntry, YamlNode, YamlNodeKind, YamlScalar, YamlText};
use super::{locate, rules};
use crate::diagnostic::Diagnostic;
use crate::hash::HashSet;
use crate::span::{FileId, Location, Span};

/// The maximum number of findings in one file. One more finding reports that there are more.
const FINDINGS: usize = 1000;

/// Why the builder stopped reading events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuildStop {
    Limit,
    SecondDocument,
}

/// A finished node, and how much each alias of it adds to the limits.
#[derive(Debug, Clone)]
struct BuiltNode {
    node: YamlNode,
    /// The number of nodes in it, including itself, with aliases expanded.
    size: u64,
    /// The number of bytes of text in it, with aliases expanded.
    bytes: u64,
    /// The nesting depth of its collections.
    height: usize,
}

#[derive(Debug)]
enum OpenBody {
    Sequence(Vec<YamlNode>),
    Mapping(mapping::MappingBuilder),
}

/// A collection that is still open.
#[derive(Debug)]
struct OpenCollection {
    start: u32,
    flow: bool,
    anchor: usize,
    body: OpenBody,
    /// The end of its last child.
    end: u32,
    size: u64,
    bytes: u64,
    height: usize,
    /// The number of findings when it was opened.
    findings: usize,
    /// Whether it looks like `{{ x }}`: a mapping whose first key is a mapping.
    braces: bool,
}

/// The tree so far, and data for error messages.
pub(super) struct TreeBuilder<'a> {
    file: FileId,
    /// The text as in the file, without masks.
    text: &'a str,
    limits: YamlLimits,
    /// The parts hidden from the parser. The text of a scalar that overlaps one is taken from the file.
    masked: &'a [Span],
    stack: Vec<OpenCollection>,
    /// Empty lists with spare capacity, reused for the next mappings. Most mappings are small, so growing a new list
    /// for each would be wasteful.
    spare: Vec<Vec<YamlEntry>>,
    /// The keys so far. A file has few distinct keys, each repeated many times, so they are shared.
    keys: HashSet<Arc<str>>,
    anchors: Vec<Option<BuiltNode>>,
    nodes: u64,
    /// The total bytes of text inserted by aliases.
    aliased: u64,
    document: Option<Span>,
    pub(super) root: Option<YamlNode>,
    pub(super) findings: Vec<Diagnostic>,
    /// The end of the last token.
    pub(super) token_end: u32,
    /// The last finished value, if nothing follows it yet.
    pub(super) last_value: Option<Span>,
}

impl<'a> TreeBuilder<'a> {
    pub(super) fn new(file: FileId, text: &'a str, limits: YamlLimits, masked: &'a [Span]) -> Self {
        Self {
            file,
            text,
            limits,
            masked,
            stack: Vec::new(),
            spare: Vec::new(),
            keys: HashSet::default(),
            anchors: Vec::new(),
            nodes: 0,
            aliased: 0,
            document: None,
            root: None,
            findings: Vec::new(),
            token_end: 0,
            last_value: None,
        }
    }
    /// The outermost and the innermost open flow collection.
    pub(super) fn open_flow(&self) -> Option<(u32, u32)> {
        // A pair in a list, `[key: value]`, is a mapping without braces.
        let bracket = |at: u32| matches!(self.text.as_bytes().get(at as usize), Some(b'[' | b'{'));
        let mut flows = self.stack.iter().filter(|f| f.flow && bracket(f.start)).map(|f| f.start);
        let first = flows.next()?;
        Some((first, flows.next_back().unwrap_or(first)))
    }
    /// Whether a value is allowed here: after a key, or in a list.
    pub(super) fn wants_value(&self) -> bool {
        !self.wants_key()
    }
    /// Whether the next node is the key of a mapping.
    fn wants_key(&self) -> bool {
        let Some(OpenCollection { body: OpenBody::Mapping(mapping), .. }) = self.stack.last() else { return false };
        mapping.wants_key()
    }
    pub(super) fn add_event(&mut self, event: Event<'_>, raw: granit_parser::Span) -> Result<(), BuildStop> {
        let range = raw.byte_range().unwrap_or_default();
        let span = Span::new(range.start as u32, range.end as u32);
        let tag_span = raw.tag_span().and_then(|s| s.byte_range()).map(|r| Span::new(r.start as u32, r.end as u32));
        match event {
            Event::DocumentStart(explicit, version) => self.document(span, explicit, version)?,
            Event::Scalar(value, style, anchor, tag) => {
                let (scalar, text) = self.build_scalar(&value, style, span, tag.as_deref().zip(tag_span));
                match anchor {
                    0 if self.wants_key() => self.key(scalar, text)?,
                    _ => self.finish(leaf(scalar, text), anchor)?,
                }
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.open(OpenBody::Sequence(Vec::new()), style, anchor, tag.as_deref().zip(tag_span), span)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                let mapping = mapping::MappingBuilder::new(self.file, self.spare.pop().unwrap_or_default());
                self.open(OpenBody::Mapping(mapping), style, anchor, tag.as_deref().zip(tag_span), span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            Event::Alias(id) => self.alias(id, span)?,
            Event::UnresolvedAlias(name) => {
                self.report_finding(
                    Diagnostic::new_error(
                        rules::ALIAS,
                        self.location_of(span),
                        format!("no anchor `&{}` above this alias", displayed_key(&name)),
                    )
                    .with_help("put quotes around the value if `*` is part of its text"),
                );
                self.token_end = span.end;
                self.finish(self.null_node(span), 0)?;
            }
            _ => {}
        }
        Ok(())
    }
    /// Closes open collections without reporting them, and returns the tree.
    pub(super) fn into_root(mut self) -> (Option<YamlNode>, Vec<Diagnostic>) {
        let end = self.token_end;
        let findings = std::mem::take(&mut self.findings);
        self.limits.nodes = usize::MAX;
        while !self.stack.is_empty() {
            if self.close(Span::new(end, end)).is_err() {
                break;
            }
        }
        (self.root, findings)
    }
    pub(super) fn report_finding(&mut self, diagnostic: Diagnostic) {
        if self.findings.len() < FINDINGS {
            self.findings.push(diagnostic);
        } else if self.findings.len() == FINDINGS {
            self.findings.push(Diagnostic::without_location(
                rules::LIMIT,
                diagnostic.severity,
                Some(self.file),
                format!("this file has more than {FINDINGS} findings; the others are not shown"),
            ));
        }
    }
    fn location_of(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }
    fn document(
        &mut self,
        span: Span,
        explicit: bool,
        version: Option<granit_parser::YamlVersion>,
    ) -> Result<(), BuildStop> {
        if let Some(first) = self.document {
            let mut found = Diagnostic::new_error(
                rules::MULTIPLE_DOCUMENTS,
                self.location_of(span),
                "a second document starts here",
            );
            if !first.is_empty() {
                found = found.with_label(self.location_of(first), "the first one");
            }
            self.report_finding(found.with_help("keep one document per file; move the others to their own files"));
            return Err(BuildStop::SecondDocument);
        }
        // The span of an implicit document start may cover the first value.
        self.document = Some(if explicit { span } else { Span::new(span.start, span.start) });
        if explicit {
            self.token_end = span.end;
        }
        if let Some(version) = version
            && (version.major, version.minor) != (1, 2)
        {
            let line = Span::new(0, locate::line_end(self.text, 0) as u32);
            let message =
                format!("`%YAML {}.{}` has no effect: the file is read as YAML 1.2", version.major, version.minor);
            let found = if self.text.starts_with("%YAML") {
                Diagnostic::new_warning(rules::DIRECTIVE, self.location_of(line), message)
            } else {
                Diagnostic::without_location(
                    rules::DIRECTIVE,
                    crate::FindingSeverity::Warning,
                    Some(self.file),
                    message,
                )
            };
            self.report_finding(found.with_help("remove the line; words such as `yes` and `no` are text in YAML 1.2"));
        }
        Ok(())
    }
    fn open(
        &mut self,
        body: OpenBody,
        style: StructureStyle,
        anchor: usize,
        tag: Option<(&Tag, Span)>,
        span: Span,
    ) -> Result<(), BuildStop> {
        let flow = style == StructureStyle::Flow;
        if let Some(parent) = self.stack.last_mut()
            && let OpenBody::Mapping(mapping) = &parent.body
            && mapping.wants_key()
            && parent.start + 1 == span.start
            && self.text.get(parent.start as usize..).unwrap_or_default().starts_with("{{")
        {
            parent.braces = true;
        }
        if self.stack.len() >= self.limits.depth {
            self.too_deep(span);
            return Err(BuildStop::Limit);
        }
        let wanted = if matches!(body, OpenBody::Sequence(_)) { CoreTag::Sequence } else { CoreTag::Mapping };
        if let Some((tag, at)) = self.core_tag(tag)
            && tag != wanted
        {
            self.report_finding(misfit(tag, wanted.required_type(), self.location_of(at)));
        }
        // If a list is not indented further than its key, the parser starts it after the first `-`.
        let in_mapping = matches!(self.stack.last(), Some(OpenCollection { body: OpenBody::Mapping(_), .. }));
        let start = if in_mapping && !flow && matches!(body, OpenBody::Sequence(_)) {
            span.start.min(locate::list_start(self.text, self.token_end as usize) as u32)
        } else {
            span.start
        };
        self.token_end = self.token_end.max(span.end);
        self.last_value = None;
        self.stack.push(OpenCollection {
            start,
            flow,
            anchor,
            body,
            end: span.end,
            size: 1,
            bytes: 0,
            height: 0,
            findings: self.findings.len(),
            braces: false,
        });
        Ok(())
    }
    fn close(&mut self, span: Span) -> Result<(), BuildStop> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let end = if frame.flow { span.end.max(frame.end) } else { frame.end };
        self.token_end = self.token_end.max(end);
        let whole = Span::new(frame.start, end);
        let kind = match frame.body {
            OpenBody::Sequence(items) => YamlNodeKind::Sequence(items),
            OpenBody::Mapping(mapping) => {
                let (mapping, spare) = mapping.finish_mapping();
                self.spare.push(spare);
                YamlNodeKind::Mapping(mapping)
            }
        };
        let built = if frame.braces && self.raw(whole).ends_with("}}") {
            self.findings.truncate(frame.findings);
            let within = self.stack.iter().any(|f| f.flow);
            self.report_finding(unquoted_braces(self.file, self.text, whole, within));
            let (scalar, text) = self.verbatim_scalar(whole);
            leaf(scalar, text)
        } else {
            BuiltNode {
                node: YamlNode { span: whole, kind: Arc::new(kind) },
                size: frame.size,
                bytes: frame.bytes,
                height: frame.height + 1,
            }
        };
        self.finish(built, frame.anchor)
    }
    /// Adds a finished node to its parent.
    fn finish(&mut self, built: BuiltNode, anchor: usize) -> Result<(), BuildStop> {
        self.nodes += 1;
        if anchor != 0 {
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, None);
            }
            if let Some(slot) = self.anchors.get_mut(anchor) {
                *slot = Some(built.clone());
            }
        }
        self.attach_node(built)
    }
    /// Uses a scalar without an anchor as the next key.
    fn key(&mut self, scalar: YamlScalar, text: YamlText) -> Result<(), BuildStop> {
        self.nodes += 1;
        self.check_node_limit(text.span)?;
        let mut findings = Vec::new();
        if let Some(frame) = self.stack.last_mut()
            && let OpenBody::Mapping(mapping) = &mut frame.body
        {
            frame.end = frame.end.max(text.span.end);
            frame.size = frame.size.saturating_add(1);
            frame.bytes = frame.bytes.saturating_add(u64::from(text.span.len()));
            mapping.plain_key(scalar, text, &mut findings);
        }
        self.last_value = None;
        findings.into_iter().for_each(|f| self.report_finding(f));
        Ok(())
    }
    /// Counts a node and checks the limit.
    fn check_node_limit(&mut self, span: Span) -> Result<(), BuildStop> {
        if self.nodes <= self.limits.nodes as u64 {
            return Ok(());
        }
        self.report_finding(
            Diagnostic::new_error(
                rules::LIMIT,
                self.location_of(span),
                format!("the file has more than {} values with its aliases expanded", self.limits.nodes),
            )
            .with_help("split it, or use fewer aliases"),
        );
        Err(BuildStop::Limit)
    }
    fn attach_node(&mut self, built: BuiltNode) -> Result<(), BuildStop> {
        let span = built.node.span;
        self.check_node_limit(span)?;
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(built.node);
            self.last_value = Some(span);
            return Ok(());
        };
        frame.end = frame.end.max(span.end);
        frame.size = frame.size.saturating_add(built.size);
        frame.bytes = frame.bytes.saturating_add(built.bytes);
        frame.height = frame.height.max(built.height);
        match &mut frame.body {
            OpenBody::Sequence(items) => {
                items.push(built.node);
                self.last_value = Some(span);
            }
            OpenBody::Mapping(mapping) => {
                self.last_value = if mapping.wants_key() { None } else { Some(span) };
                let mut findings = Vec::new();
                mapping.add_node(built.node, &mut findings);
                findings.into_iter().for_each(|f| self.report_finding(f));
            }
        }
        Ok(())
    }
    fn alias(&mut self, id: usize, span: Span) -> Result<(), BuildStop> {
        self.token_end = span.end;
        let name = displayed_key(self.raw(span));
        // A known anchor that is not finished encloses this alias.
        let Some(target) = self.anchors.get(id).cloned().flatten() else {
            self.report_finding(
                Diagnostic::new_error(
                    rules::ALIAS,
                    self.location_of(span),
                    format!("the alias `{name}` is inside its own anchor"),
                )
                .with_help("a value cannot contain itself"),
            );
            return self.finish(self.null_node(span), 0);
        };
        if self.stack.len() + target.height > self.limits.depth {
            self.too_deep(span);
            return Err(BuildStop::Limit);
        }
        self.nodes = self.nodes.saturating_add(target.size);
        self.aliased = self.aliased.saturating_add(target.bytes);
        if self.aliased > self.limits.aliased as u64 {
            let message = format!("the aliases in the file expand to more than {} bytes of text", self.limits.aliased);
            self.report_finding(
                Diagnostic::new_error(rules::LIMIT, self.location_of(span), message)
                    .with_help("use fewer aliases of long texts, or move the text to its own file"),
            );
            return Err(BuildStop::Limit);
        }
        self.attach_node(BuiltNode { node: YamlNode { span, kind: target.node.kind }, ..target })
    }
    fn too_deep(&mut self, span: Span) {
        self.report_finding(
            Diagnostic::new_error(
                rules::LIMIT,
                self.location_of(Span::new(span.start, span.end.max(span.start))),
                format!("lists and mappings are nested more than {} levels deep", self.limits.depth),
            )
            .with_help("flatten the structure"),
        );
    }
    fn raw(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

/// A scalar as a node.
fn leaf(scalar: YamlScalar, text: YamlText) -> BuiltNode {
    let bytes = u64::from(text.span.len());
    BuiltNode {
        node: YamlNode { span: text.span, kind: Arc::new(YamlNodeKind::Scalar(scalar, text)) },
        size: 1,
        bytes,
        height: 0,
    }
}

fn misfit(tag: CoreTag, found: &str, at: Location) -> Diagnostic {
    Diagnostic::new_error(rules::TAG, at, format!("the tag requires {}, but the value is {found}", tag.required_type()))
}

/// The finding for an unquoted value that starts with `{{`. `within`: the value is inside brackets, so it ends with its
/// closing braces.
pub(super) fn unquoted_braces(file: FileId, text: &str, value: Span, within: bool) -> Diagnostic {
    let at = Location::new(file, value);
    let found = Diagnostic::new_error(rules::UNQUOTED_BRACES, at, "a value that starts with `{{` needs quotes");
    let raw = text.get(value.start as usize..value.end as usize).unwrap_or_default();
    let closed = raw.contains("}}") || raw.contains("%}");
    let behind = if within { value.end as usize } else { locate::content_end(text, value.start as usize) };
    let rest = text.get(value.end as usize..behind).unwrap_or_default();
    if !within && locate::goes_on(text, value.start as usize) {
        return found.with_help("put `|` after the key and the whole text on the lines below it");
    }
    // A closing quote without an opening one is not part of the value.
    let whole = match rest {
        "" | "\"" | "'" => Some(Location::new(file, Span::new(value.start, behind as u32))),
        _ => None,
    };
    let found = match (in_quotes(raw), whole) {
        (Some(text), Some(whole)) if closed && !raw.contains(": ") => {
            found.with_safe_fix("put quotes around the value", whole, text)
        }
        _ => found,
    };
    found.with_help(match (quoted_text(raw), whole) {
        (Some(quoted), Some(_)) if closed => format!("put quotes around the whole value: {quoted}"),
        _ if closed => "put quotes around the whole value".to_owned(),
        _ => "close it with `}}`, and put quotes around the whole value".to_owned(),
    })
}

/// A text of one line in quotes.
fn in_quotes(raw: &str) -> Option<String> {
    if raw.contains(char::is_control) {
        return None;
    }
    Some(if raw.contains(['"', '\\']) { format!("'{}'", raw.replace('\'', "''")) } else { format!("\"{raw}\"") })
}

/// A quoted text, if it is short enough to show.
pub(super) fn quoted_text(raw: &str) -> Option<String> {
    if raw.chars().count() > 60 || raw.contains(char::is_control) || raw.contains('`') {
        return None;
    }
    Some(format!("`{}`", in_quotes(raw)?))
}
