//! Extracts a placeholder or a block of a template as a separate template.

use std::ops::Range;
use std::sync::Arc;

use crate::expression::Expression;
use crate::template::program::{Op, Operand, Program};
use crate::template::{Local, Origin, Template};

impl Template {
    /// The placeholder or outermost block at these bytes. Spans remain those of the whole text. `None` if there is no
    /// such part.
    pub fn part(&self, bytes: Range<u32>) -> Option<Template> {
        let (first, _) = self.program.pieces.iter().find(|(_, piece)| *piece == bytes)?;
        let op = self.program.ops.get(*first as usize)?;
        let end = match op {
            Op::Text { .. } | Op::Print { .. } => first + 1,
            Op::If { end, .. } | Op::Each { end, .. } | Op::With { end, .. } => *end,
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
                Op::Text { start, end } => {
                    let from = text.len() as u32;
                    text.push_str(whole.text(*start, *end));
                    let (_, bytes) = whole.literals.get(whole.literal(*start) as usize)?;
                    literals.push((from, bytes.clone()));
                    Op::Text { start: from, end: text.len() as u32 }
                }
                other => part.op(other)?,
            });
        }
        let program = Program {
            policy: whole.policy,
            single: matches!(op, Op::Print { .. }),
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
    whole: &'w Program,
    first: u32,
    references: Vec<u32>,
    locals: Vec<Local>,
    made: Vec<Expression>,
}

impl PartBuilder<'_> {
    fn op(&mut self, op: &Op) -> Option<Op> {
        let first = self.first;
        let to = move |at: &u32| at - first;
        Some(match op {
            Op::Text { .. } => return None,
            Op::Print { operand, json } => Op::Print { operand: self.operand(*operand)?, json: *json },
            Op::If { test, negate, zero, otherwise, end } => Op::If {
                test: self.operand(*test)?,
                negate: *negate,
                zero: *zero,
                otherwise: to(otherwise),
                end: to(end),
            },
            Op::Each { operand, otherwise, end } => {
                Op::Each { operand: self.operand(*operand)?, otherwise: to(otherwise), end: to(end) }
            }
            Op::With { operand, otherwise, end } => {
                Op::With { operand: self.operand(*operand)?, otherwise: to(otherwise), end: to(end) }
            }
        })
    }

    fn operand(&mut self, operand: Operand) -> Option<Operand> {
        Some(match operand {
            Operand::Reference(index) => Operand::Reference(self.reference(index)),
            Operand::Local(index) => Operand::Local(self.local(index)?),
            Operand::Expression(index) => {
                let made = self.expression(self.whole.expressions.get(index as usize)?)?;
                self.made.push(made);
                Operand::Expression(self.made.len() as u32 - 1)
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
            Origin::Reference(of) => Origin::Reference(self.reference(of)),
            Origin::Local(of) => Origin::Local(self.local(of)?),
            Origin::Computed => Origin::Computed,
        };
        self.locals.push(local);
        Some(self.locals.len() as u32 - 1)
    }

    fn expression(&mut self, expression: &Expression) -> Option<Expression> {
        let renumbered = expression.rebuilt(&mut |leaf| match leaf {
            Expression::Reference(index) => Ok(Expression::Reference(self.reference(*index))),
            Expression::Local(index) => self.local(*index).map(Expression::Local).ok_or(()),
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
                let part = whole.part(start as u32..(start + piece.len()) as u32).unwrap();
                assert_eq!(part.program.ops, alone.program.ops, "{piece}");
                assert_eq!(part.program.expressions, alone.program.expressions, "{piece}");
                assert_eq!((&part.program.text, part.program.single), (&alone.program.text, alone.program.single));
                let paths = |t: &Template| t.references().iter().map(|r| (r.dotted(), r.guarded)).collect::<Vec<_>>();
                assert_eq!(paths(&part), paths(&alone), "{piece}");
                let locals = |t: &Template| t.locals().iter().map(|l| (l.start, l.origin, l.up)).collect::<Vec<_>>();
                assert_eq!(locals(&part), locals(&alone), "{piece}");
                for (of_part, of_alone) in part.references().iter().zip(alone.references()) {
                    assert_eq!(of_part.span.start, of_alone.span.start + start as u32, "{piece}");
                }
                let from: Vec<_> = alone.literals().map(|l| l.start + start as u32..l.end + start as u32).collect();
                assert_eq!(part.literals().collect::<Vec<_>>(), from, "{piece}");
            }
        }
        assert!(whole.part(0..6).is_none(), "text is no part");
    }
}
