//! Extracts a placeholder or a block of a template as a separate template.

use std::ops::Range;
use std::sync::Arc;

use crate::expression::ConditionExpression;
use crate::template::program::{TemplateOperand, TemplateOperation, TemplateProgram};
use crate::template::{BlockSubject, LocalPath, Template};

impl Template {
    /// The placeholder or outermost block at these bytes. Spans remain those of the whole text. `None` if there is no
    /// such part.
    pub fn extract_part(&self, bytes: Range<u32>) -> Option<Template> {
        let (first, _) = self.program.pieces.iter().find(|(_, piece)| *piece == bytes)?;
        let op = self.program.ops.get(*first as usize)?;
        let end = match op {
            TemplateOperation::Text { .. } | TemplateOperation::Print { .. } => first + 1,
            TemplateOperation::If { end, .. }
            | TemplateOperation::Each { end, .. }
            | TemplateOperation::With { end, .. } => *end,
        };
        let within = |span: &Range<u32>| bytes.start <= span.start && span.end <= bytes.end;
        let whole = &*self.program;
        let mut part =
            PartBuilder { whole, first: *first, references: Vec::new(), locals: Vec::new(), made: Vec::new() };
        let mut text = String::new();
        let mut literals = Vec::new();
        let mut ops = Vec::new();
        for op in whole.ops.get(*first as usize..end as usize)? {
            ops.push(match op {
                TemplateOperation::Text { start, end } => {
                    let from = text.len() as u32;
                    text.push_str(whole.text_range(*start, *end));
                    let (_, bytes) = whole.literals.get(whole.literal_index(*start) as usize)?;
                    literals.push((from, bytes.clone()));
                    TemplateOperation::Text { start: from, end: text.len() as u32 }
                }
                other => part.op(other)?,
            });
        }
        let program = TemplateProgram {
            policy: whole.policy,
            single: matches!(op, TemplateOperation::Print { .. }),
            text,
            literals,
            ops,
            pieces: vec![(0, bytes.clone())],
            expressions: part.made,
            written: whole.written.clone(),
            locals: part.locals,
            strays: whole.strays.iter().filter(|span| within(span)).cloned().collect(),
        };
        let references = part.references.into_iter().map(|i| self.references.get(i as usize).cloned());
        Some(Template { program: Arc::new(program), references: references.collect::<Option<_>>()? })
    }
}

/// A part under construction: the elements of the whole that it uses, in the order of first use.
struct PartBuilder<'w> {
    whole: &'w TemplateProgram,
    first: u32,
    references: Vec<u32>,
    locals: Vec<LocalPath>,
    made: Vec<ConditionExpression>,
}

impl PartBuilder<'_> {
    fn op(&mut self, op: &TemplateOperation) -> Option<TemplateOperation> {
        let first = self.first;
        let to = move |at: &u32| at - first;
        Some(match op {
            TemplateOperation::Text { .. } => return None,
            TemplateOperation::Print { operand, json } => {
                TemplateOperation::Print { operand: self.operand(*operand)?, json: *json }
            }
            TemplateOperation::If { test, negate, zero, otherwise, end } => TemplateOperation::If {
                test: self.operand(*test)?,
                negate: *negate,
                zero: *zero,
                otherwise: to(otherwise),
                end: to(end),
            },
            TemplateOperation::Each { operand, otherwise, end } => {
                TemplateOperation::Each { operand: self.operand(*operand)?, otherwise: to(otherwise), end: to(end) }
            }
            TemplateOperation::With { operand, otherwise, end } => {
                TemplateOperation::With { operand: self.operand(*operand)?, otherwise: to(otherwise), end: to(end) }
            }
        })
    }

    fn operand(&mut self, operand: TemplateOperand) -> Option<TemplateOperand> {
        Some(match operand {
            TemplateOperand::Reference(index) => TemplateOperand::Reference(self.reference(index)),
            TemplateOperand::Local(index) => TemplateOperand::Local(self.local(index)?),
            TemplateOperand::Expression(index) => {
                let made = self.expression(self.whole.expressions.get(index as usize)?)?;
                self.made.push(made);
                TemplateOperand::Expression(self.made.len() as u32 - 1)
            }
        })
    }

    fn reference(&mut self, index: u32) -> u32 {
        let known = self.references.iter().position(|known| *known == index);
        known.unwrap_or_else(|| {
            self.references.push(index);
            self.references.len() - 1
        }) as u32
    }

    fn local(&mut self, index: u32) -> Option<u32> {
        let mut local = self.whole.locals.get(index as usize)?.clone();
        if let Some(known) = self.locals.iter().position(|known| known.span == local.span) {
            return Some(known as u32);
        }
        local.origin = match local.origin {
            BlockSubject::Reference(of) => BlockSubject::Reference(self.reference(of)),
            BlockSubject::Local(of) => BlockSubject::Local(self.local(of)?),
            BlockSubject::Computed => BlockSubject::Computed,
        };
        self.locals.push(local);
        Some(self.locals.len() as u32 - 1)
    }

    fn expression(&mut self, expression: &ConditionExpression) -> Option<ConditionExpression> {
        let renumbered = expression.map_leaves(&mut |leaf| match leaf {
            ConditionExpression::Reference(index) => Ok(ConditionExpression::Reference(self.reference(*index))),
            ConditionExpression::Local(index) => self.local(*index).map(ConditionExpression::Local).ok_or(()),
            other => Ok(other.clone()),
        });
        renumbered.ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::policy::Policy;
    use crate::template::Template;

    /// A part behaves like its own bytes parsed alone, whatever precedes it.
    #[test]
    fn a_part_is_what_its_bytes_are_alone() {
        let pieces = [
            "{{a.b}}",
            "{{default x 'none'}}",
            "{{#if (eq a 'b')}}yes {{a}}{{else if c}}c {{d}}{{else}}no{{/if}}",
            "{{#each list}}{{this.name}}: {{@index}} {{#with inner}}{{x}} {{@root.a}}{{/with}}{{/each}}",
            "{{upper (lookup map key)}}",
            "{{#unless a}}{{#each (keys map)}}{{this}}{{/each}}{{/unless}}",
        ];
        let text = format!("before {} between {}", pieces.join(" - "), pieces.join(""));
        let whole = Template::parse(&text, &Policy::AEGIS).unwrap();
        for piece in pieces {
            let alone = Template::parse(piece, &Policy::AEGIS).unwrap();
            for (start, _) in text.match_indices(piece) {
                let part = whole.extract_part(start as u32..(start + piece.len()) as u32).unwrap();
                assert_eq!(part.program.ops, alone.program.ops, "{piece}");
                assert_eq!(part.program.expressions, alone.program.expressions, "{piece}");
                assert_eq!((&part.program.text, part.program.single), (&alone.program.text, alone.program.single));
                let paths =
                    |t: &Template| t.references().iter().map(|r| (r.dotted_path(), r.guarded)).collect::<Vec<_>>();
                assert_eq!(paths(&part), paths(&alone), "{piece}");
                let locals =
                    |t: &Template| t.local_paths().iter().map(|l| (l.start, l.origin, l.up)).collect::<Vec<_>>();
                assert_eq!(locals(&part), locals(&alone), "{piece}");
                for (of_part, of_alone) in part.references().iter().zip(alone.references()) {
                    assert_eq!(of_part.span.start, of_alone.span.start + start as u32, "{piece}");
                }
                let from: Vec<_> =
                    alone.literal_text_spans().map(|l| l.start + start as u32..l.end + start as u32).collect();
                assert_eq!(part.literal_text_spans().collect::<Vec<_>>(), from, "{piece}");
            }
        }
        assert!(whole.extract_part(0..6).is_none(), "text is no part");
    }
}
