//! Builds a program: text, operations, blocks and references. Shared by the parsers of all dialects.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{BrokenText, SyntaxMistakes};
use crate::expression::{ConditionExpression, LiteralIndex};
use crate::limits;
use crate::policy::{BlockSyntax, Policy};
use crate::scope::{PathSegment, Reference, ReferenceBinding};
use crate::template::Template;
use crate::template::frame::{BlockSubject, LocalPath, LocalStart};
use crate::template::program::{TemplateOperand, TemplateOperation, TemplateProgram};
use crate::value::Value;

/// A program under construction.
pub(crate) struct TemplateBuilder<'t> {
    pub source: &'t str,
    pub policy: Policy,
    pub mistakes: SyntaxMistakes,
    /// Above 0 if new references are guarded: an undefined value is handled.
    pub guarding: u32,
    text: String,
    /// See [`TemplateProgram::literals`].
    literals: Vec<(u32, Range<u32>)>,
    ops: Vec<TemplateOperation>,
    /// Text is not merged into operations before this one, because a block starts or ends here.
    sealed: usize,
    references: Vec<Reference>,
    /// References inside an unknown block. They may be names of an item, so they are not checked.
    doubtful: Vec<u32>,
    locals: Vec<LocalPath>,
    strays: Vec<Range<u32>>,
    expressions: Vec<ConditionExpression>,
    /// See [`TemplateProgram::written`].
    written: Vec<Range<u32>>,
    /// See [`TemplateProgram::pieces`].
    pieces: Vec<(u32, Range<u32>)>,
    blocks: Vec<OpenBlock<'t>>,
    frames: Vec<BlockContext<'t>>,
}

/// An open block.
struct OpenBlock<'t> {
    name: &'t str,
    /// The opening tag.
    span: Range<usize>,
    /// Its operation; `None` if the block itself is a mistake.
    op: Option<usize>,
    has_else: bool,
    /// Opened by `else if`, so it is closed together with the enclosing block.
    chained: bool,
    /// The number of frames outside it.
    frames: usize,
    /// The references in its test or its list.
    guards: BlockGuards,
    /// Whether the guards hold in the part that is open now.
    guarded: bool,
}

/// References and locals created since a mark.
#[derive(Clone)]
pub(crate) struct BlockGuards {
    references: Range<usize>,
    locals: Range<usize>,
}

/// The base of paths in the body of an `each` or `with`.
pub(crate) struct BlockContext<'t> {
    pub origin: BlockSubject,
    pub each: bool,
    /// `as |item index|`.
    pub parameters: [Option<&'t str>; 2],
}

/// How a block starts.
pub(crate) enum BlockOpening {
    If { negate: bool, zero: bool },
    Each,
    With,
}

/// The blocks of AEGIS.
pub(crate) const BLOCKS: [&str; 4] = ["if", "unless", "each", "with"];

/// The maximum number of a block's guards that are compared with a path.
const GUARDS: usize = 16;

impl<'t> TemplateBuilder<'t> {
    pub fn new(source: &'t str, policy: &Policy) -> Self {
        TemplateBuilder {
            source,
            policy: *policy,
            mistakes: SyntaxMistakes::default(),
            guarding: 0,
            text: String::with_capacity(source.len()),
            literals: Vec::new(),
            ops: Vec::with_capacity(8),
            sealed: 0,
            references: Vec::with_capacity(4),
            doubtful: Vec::new(),
            locals: Vec::new(),
            strays: Vec::new(),
            expressions: Vec::new(),
            written: Vec::new(),
            pieces: Vec::new(),
            blocks: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// A part of the source.
    pub fn source_slice(&self, range: Range<usize>) -> &'t str {
        self.source.get(range).unwrap_or_default()
    }

    /// Adds literal text.
    pub fn add_literal(&mut self, range: Range<usize>) {
        let from = range.start as u32..range.end as u32;
        let text = self.source_slice(range);
        if text.is_empty() {
            return;
        }
        let start = self.text.len() as u32;
        self.text.push_str(text);
        let end = self.text.len() as u32;
        if self.ops.len() > self.sealed
            && let Some(TemplateOperation::Text { end: last, .. }) = self.ops.last_mut()
        {
            *last = end;
            if let Some((_, known)) = self.literals.last_mut() {
                known.end = from.end;
            }
            return;
        }
        self.literals.push((start, from));
        self.ops.push(TemplateOperation::Text { start, end });
    }

    /// A literal of an expression. `at` includes the quotes.
    pub fn literal_expression(&mut self, value: impl Into<Value>, at: Range<usize>) -> ConditionExpression {
        self.written.push(at.start as u32..at.end as u32);
        ConditionExpression::Literal(value.into(), LiteralIndex(Some(self.written.len() as u32 - 1)))
    }

    /// Adds a placeholder.
    pub fn add_placeholder(&mut self, value: ConditionExpression, json: bool, tag: Range<usize>) {
        if self.blocks.is_empty() {
            self.pieces.push((self.ops.len() as u32, tag.start as u32..tag.end as u32));
        }
        if let (ConditionExpression::Reference(index), false) = (&value, self.blocks.is_empty()) {
            self.deny(*index as usize);
        }
        let operand = self.operand(value);
        self.ops.push(TemplateOperation::Print { operand, json });
    }

    /// Marks a reference as printed where the test of an enclosing block, which is that reference, has failed.
    fn deny(&mut self, index: usize) {
        let path = self.references.get(index).map(|r| &r.path);
        let failed = self.blocks.iter().filter(|b| !b.guarded).filter_map(|b| self.ops.get(b.op?));
        let mut tests = failed.filter_map(|op| match op {
            TemplateOperation::If { test: TemplateOperand::Reference(test), .. } => self.references.get(*test as usize),
            _ => None,
        });
        let denied = tests.any(|test| path.is_some_and(|path| same(path, &test.path)));
        if let Some(reference) = self.references.get_mut(index) {
            reference.denied = denied;
        }
    }

    /// Adds a reference to the root; returns its index.
    pub fn add_reference(&mut self, path: Vec<PathSegment>, span: Range<usize>, default: Option<Arc<str>>) -> u32 {
        let guarded = self.guarding > 0
            || default.is_some()
            || self.is_guarded(|this, guards| {
                let same = |r: &Reference| related(&r.path, &path);
                this.references.get(guards.references.clone()).is_some_and(|known| known.iter().take(GUARDS).any(same))
            });
        if self.blocks.iter().any(|b| b.op.is_none() && !matches!(b.name, "if" | "unless")) {
            self.doubtful.push(self.references.len() as u32);
        }
        let span = span.start as u32..span.end as u32;
        let asked = self.asked();
        self.references.push(Reference {
            path,
            span,
            guarded,
            denied: false,
            asked,
            operand: false,
            default,
            binding: ReferenceBinding::default(),
        });
        self.references.len() as u32 - 1
    }

    /// Marks a reference as an argument that is usually text.
    pub fn as_operand(&mut self, reference: u32) {
        if let Some(found) = self.references.get_mut(reference as usize) {
            found.operand = true;
        }
    }

    /// A path in the frame `up` levels out from the innermost.
    pub fn add_local(
        &mut self,
        path: Vec<PathSegment>,
        span: Range<usize>,
        start: LocalStart,
        up: usize,
    ) -> Option<u32> {
        let frame = self.frames.iter().rev().nth(up)?;
        let (origin, each) = (frame.origin, frame.each);
        let guarded = self.guarding > 0
            || self.is_guarded(|this, guards| {
                let same = |l: &LocalPath| l.origin == origin && l.start == start && related(&l.path, &path);
                this.locals.get(guards.locals.clone()).is_some_and(|known| known.iter().take(GUARDS).any(same))
            });
        let span = span.start as u32..span.end as u32;
        self.locals.push(LocalPath { path, span, start, origin, each, guarded, up: up as u16 });
        Some(self.locals.len() as u32 - 1)
    }

    /// Records a path to something that only an enclosing block would define.
    pub fn add_stray_path(&mut self, span: Range<usize>) {
        // An unknown block may define it.
        if self.blocks.iter().all(|b| b.op.is_some()) {
            self.strays.push(span.start as u32..span.end as u32);
        }
    }

    /// The paths tested by the open blocks.
    fn asked(&self) -> Vec<Vec<PathSegment>> {
        let ranges = self.blocks.iter().filter(|b| b.guarded).map(|b| b.guards.references.clone());
        let references = ranges.flat_map(|range| self.references.get(range).into_iter().flatten());
        references.take(GUARDS).map(|r| r.path.clone()).collect()
    }

    fn is_guarded(&self, covers: impl Fn(&Self, &BlockGuards) -> bool) -> bool {
        self.blocks.iter().any(|block| block.guarded && covers(self, &block.guards))
    }

    /// The contexts of the open blocks, outermost first.
    pub fn block_contexts(&self) -> &[BlockContext<'t>] {
        &self.frames
    }

    /// Starts recording references, until [`Self::guards`].
    pub fn mark_guards(&self) -> BlockGuards {
        BlockGuards {
            references: self.references.len()..self.references.len(),
            locals: self.locals.len()..self.locals.len(),
        }
    }

    /// The references created since the mark.
    pub fn guards_since(&self, mark: BlockGuards) -> BlockGuards {
        BlockGuards {
            references: mark.references.start..self.references.len(),
            locals: mark.locals.start..self.locals.len(),
        }
    }

    fn operand(&mut self, value: ConditionExpression) -> TemplateOperand {
        match value {
            ConditionExpression::Reference(index) => TemplateOperand::Reference(index),
            ConditionExpression::Local(index) => TemplateOperand::Local(index),
            other => {
                self.expressions.push(other);
                TemplateOperand::Expression(self.expressions.len() as u32 - 1)
            }
        }
    }

    /// Opens a block. `guarded`: the references of its test are defined in its body.
    pub fn open(
        &mut self,
        name: &'t str,
        span: Range<usize>,
        opening: BlockOpening,
        value: ConditionExpression,
        parameters: [Option<&'t str>; 2],
        (guards, guarded): (BlockGuards, bool),
    ) {
        let origin = match &value {
            ConditionExpression::Reference(index) => BlockSubject::Reference(*index),
            ConditionExpression::Local(index) => BlockSubject::Local(*index),
            _ => BlockSubject::Computed,
        };
        let operand = self.operand(value);
        let frames = self.frames.len();
        let (op, each) = match opening {
            BlockOpening::If { negate, zero } => {
                (TemplateOperation::If { test: operand, negate, zero, otherwise: 0, end: 0 }, None)
            }
            BlockOpening::Each => (TemplateOperation::Each { operand, otherwise: 0, end: 0 }, Some(true)),
            BlockOpening::With => (TemplateOperation::With { operand, otherwise: 0, end: 0 }, Some(false)),
        };
        if let Some(each) = each {
            self.frames.push(BlockContext { origin, each, parameters });
        }
        self.ops.push(op);
        let op = Some(self.ops.len() - 1);
        self.push(OpenBlock { name, span, op, has_else: false, chained: false, frames, guards, guarded });
    }

    /// Opens a block that is a mistake, so that its closing tag is not reported as well.
    pub fn open_broken(&mut self, name: &'t str, span: Range<usize>) {
        let (frames, guards) = (self.frames.len(), self.mark_guards());
        self.push(OpenBlock { name, span, op: None, has_else: false, chained: false, frames, guards, guarded: false });
    }

    /// A tag without its closing braces, which is reported: it opens a block or ends one all the same.
    pub fn block_of_unclosed(&mut self, tag: Range<usize>) {
        let inner = self.source_slice(tag.clone()).trim_start_matches('{').trim_start_matches('~');
        let name = |rest: &'t str| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        match (inner.strip_prefix('#').map(name), inner.strip_prefix('/').map(name)) {
            // If nothing ends it, there is nothing else to be said.
            (Some(opened), _) if self.source_slice(tag.end..self.source.len()).contains(&format!("{{{{/{opened}")) => {
                self.open_broken(opened, tag);
            }
            (_, Some(closed)) if self.innermost_block() == Some(closed) => self.close(closed, tag),
            _ => {}
        }
    }

    fn push(&mut self, block: OpenBlock<'t>) {
        self.sealed = self.ops.len();
        if self.blocks.len() == limits::DEPTH {
            let message = format!("blocks are nested more than {} levels deep", limits::DEPTH);
            self.mistakes.add_mistake("template-too-deep", block.span.clone(), message);
        }
        self.blocks.push(block);
    }

    /// Whether the nesting exceeds the limit, so parsing should stop.
    pub fn too_deep(&self) -> bool {
        self.blocks.len() > limits::DEPTH
    }

    /// Marks the block just opened as part of the preceding `else`.
    pub fn mark_chained(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            block.chained = true;
        }
    }

    /// `{{else}}`: the following text belongs to the other part.
    pub fn begin_else(&mut self, span: Range<usize>) {
        let at = self.ops.len();
        let Some(block) = self.blocks.last_mut() else {
            self.mistakes
                .add_mistake("template-stray-else", span, "`else` outside a block")
                .set_help("put it between `{{#if ...}}` and `{{/if}}`");
            return;
        };
        if std::mem::replace(&mut block.has_else, true) {
            let name = block.name;
            self.mistakes
                .add_mistake("template-stray-else", span, format!("a second `else` in one `{{{{#{name}}}}}`"))
                .set_help("use `{{else if ...}}` for all but the last one");
            return;
        }
        block.guarded = !block.guarded && block.op.is_some();
        let frames = block.frames;
        if let Some(op) = block.op.and_then(|op| self.ops.get_mut(op)) {
            set_otherwise(op, at as u32);
        }
        self.frames.truncate(frames);
        self.sealed = at;
    }

    /// `{{^if}}`, `{{^each}}`: the body becomes the `else`. Call directly after opening.
    pub fn invert_block(&mut self) {
        let at = self.ops.len() as u32;
        if let Some(block) = self.blocks.last_mut() {
            block.has_else = true;
            block.guarded = false;
            if let Some(op) = block.op.and_then(|op| self.ops.get_mut(op)) {
                set_otherwise(op, at);
            }
            self.frames.truncate(block.frames);
        }
    }

    /// The name of the innermost block that has its own opening tag.
    pub fn innermost_block(&self) -> Option<&'t str> {
        self.blocks.iter().rev().find(|b| !b.chained).map(|b| b.name)
    }

    /// `{{/name}}`.
    pub fn close(&mut self, name: &'t str, span: Range<usize>) {
        let Some(innermost) = self.innermost_block() else {
            let message = format!("`{{{{/{name}}}}}` has no opening block");
            self.mistakes
                .add_mistake("template-stray-close", span, message)
                .set_help("remove it, or add the opening tag before it");
            return;
        };
        if innermost != name {
            // If an outer block has the name, the inner ones lack their closing tags; otherwise this tag is the
            // mistake.
            if self.blocks.iter().any(|b| !b.chained && b.name == name) {
                while self.innermost_block().is_some_and(|inner| inner != name) {
                    self.report_unclosed();
                }
            } else {
                let message = format!("`{{{{/{name}}}}}` cannot close `{{{{#{innermost}}}}}`");
                self.mistakes
                    .add_mistake("template-stray-close", span.clone(), message)
                    .set_help(format!("close it with `{{{{/{innermost}}}}}`"));
            }
        }
        self.end_block(span.end);
    }

    /// Reports the innermost block as unclosed and ends it.
    fn report_unclosed(&mut self) {
        // If the dialect does not have the block, that is the mistake; do not explain how to close it.
        let known = |b: &&OpenBlock<'_>| b.op.is_some() || is_block(self.policy.blocks, b.name);
        if let Some(block) = self.blocks.iter().rev().find(|b| !b.chained).filter(known) {
            let name = block.name;
            self.mistakes
                .add_mistake(
                    "template-unclosed-block",
                    block.span.clone(),
                    format!("`{{{{#{name}}}}}` is never closed"),
                )
                .set_help(format!("end it with `{{{{/{name}}}}}`"));
        }
        self.end_block(self.source.len());
    }

    /// Ends the innermost block at the end of its closing tag.
    fn end_block(&mut self, tag_end: usize) {
        let end = self.ops.len() as u32;
        while let Some(block) = self.blocks.pop() {
            if let Some(op) = block.op.filter(|_| self.blocks.is_empty()) {
                self.pieces.push((op as u32, block.span.start as u32..tag_end as u32));
            }
            if let Some(op) = block.op.and_then(|op| self.ops.get_mut(op)) {
                if !block.has_else {
                    set_otherwise(op, end);
                }
                set_end(op, end);
            }
            self.frames.truncate(block.frames);
            if !block.chained {
                break;
            }
        }
        self.sealed = self.ops.len();
    }

    /// The references of a condition, if there was no mistake.
    pub fn finish_condition(self) -> Result<(Vec<Reference>, Vec<Range<u32>>), BrokenText> {
        if self.mistakes.is_empty() { Ok((self.references, self.written)) } else { Err(self.into_broken()) }
    }

    /// What is known about a text with mistakes.
    pub fn into_broken(self) -> BrokenText {
        let doubtful = self.doubtful;
        let certain = self.references.into_iter().zip(0..).filter(|(_, at)| doubtful.binary_search(at).is_err());
        BrokenText { errors: self.mistakes.into_errors(), references: certain.map(|(r, _)| r).collect() }
    }

    /// The template, if there were no mistakes.
    pub fn finish_template(mut self) -> Result<Template, BrokenText> {
        while !self.blocks.is_empty() && !self.too_deep() {
            self.report_unclosed();
        }
        if !self.mistakes.is_empty() {
            return Err(self.into_broken());
        }
        let single = matches!(self.ops.as_slice(), [TemplateOperation::Print { .. }])
            && self.source.starts_with("{{")
            && self.source.ends_with("}}");
        // Most texts are short, and a file has thousands, so unused capacity is released.
        self.text.shrink_to_fit();
        self.ops.shrink_to_fit();
        self.references.shrink_to_fit();
        let program = TemplateProgram {
            policy: self.policy,
            single,
            text: self.text,
            literals: self.literals,
            ops: self.ops,
            pieces: self.pieces,
            expressions: self.expressions,
            written: self.written,
            locals: self.locals,
            strays: self.strays,
        };
        Ok(Template { program: Arc::new(program), references: self.references })
    }
}

/// Whether a dialect has a block with this name.
fn is_block(blocks: BlockSyntax, name: &str) -> bool {
    match blocks {
        BlockSyntax::None => false,
        BlockSyntax::If => name == "if",
        BlockSyntax::Handlebars => BLOCKS.contains(&name),
    }
}

/// Whether two paths are the same.
fn same(a: &[PathSegment], b: &[PathSegment]) -> bool {
    a.len() == b.len() && related(a, b)
}

/// Whether one path is a prefix of the other.
fn related(a: &[PathSegment], b: &[PathSegment]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.name == b.name)
}

fn set_otherwise(op: &mut TemplateOperation, at: u32) {
    if let TemplateOperation::If { otherwise, .. }
    | TemplateOperation::Each { otherwise, .. }
    | TemplateOperation::With { otherwise, .. } = op
    {
        *otherwise = at;
    }
}

fn set_end(op: &mut TemplateOperation, at: u32) {
    if let TemplateOperation::If { end, .. }
    | TemplateOperation::Each { end, .. }
    | TemplateOperation::With { end, .. } = op
    {
        *end = at;
    }
}
