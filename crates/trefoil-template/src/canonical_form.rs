//! Templates and conditions in a canonical text form, which is equal exactly if two behave alike. It contains no bytes
//! of a manifest and nothing that is only for the checker or for people. Used for fingerprints of programs.

use std::fmt::Write as _;
use std::ops::Range;

use crate::condition::Condition;
use crate::expression::ConditionExpression;
use crate::policy::{NullText, Policy, UndefinedHandling};
use crate::scope::{PathSegment, Reference};
use crate::template::Template;
use crate::template::frame::{LocalPath, LocalStart};
use crate::template::program::{TemplateOperand, TemplateOperation, TemplateProgram};
use crate::value::write_json_string;

impl Template {
    /// The operations, then the paths. The source of a path is the number of its [`crate::ReferenceBinding`].
    pub fn canonical_text(&self) -> String {
        let program = self.program();
        let mut out = policy_text(&program.policy);
        if self.is_single() {
            out.push_str(" single");
        }
        write_operations(program, 0..program.ops.len() as u32, &mut out);
        for local in &program.locals {
            write_local(local, &mut out);
        }
        write_references(self.references(), &mut out);
        out
    }
}

impl Condition {
    /// The expression and its rules, then the paths. The source of a path is the number of its [`crate::ReferenceBinding`].
    pub fn canonical_text(&self) -> String {
        let mut out = policy_text(self.policy());
        out.push(' ');
        write_expression(self.expression_tree(), &mut out);
        write_references(self.references(), &mut out);
        out
    }
}

/// The rules that affect evaluation. The other rules only matter to the parser, and their effect is in what it returns.
fn policy_text(policy: &Policy) -> String {
    let Policy { undefined, null, conditions, blocks: _, filters: _, escapes: _, names: _, words: _ } = policy;
    let undefined = match undefined {
        UndefinedHandling::Empty => "empty",
        UndefinedHandling::Error => "error",
    };
    let null = match null {
        NullText::Empty => "empty",
        NullText::Word => "word",
    };
    format!("undefined {undefined} null {null} conditions {}", conditions.name())
}

/// An expression as it is serialized in the content of requests.
fn write_expression(expression: &ConditionExpression, out: &mut String) {
    // Cannot fail: keys are text, and no serializer of ours returns an error.
    out.push_str(&serde_json::to_string(expression).unwrap_or_default());
}

/// Writes the operations with these indices.
fn write_operations(program: &TemplateProgram, range: Range<u32>, out: &mut String) {
    let mut next = range.start;
    while next < range.end
        && let Some(op) = program.ops.get(next as usize)
    {
        next += 1;
        out.push(' ');
        match op {
            TemplateOperation::Text { start, end } => write_json_string(program.text_range(*start, *end), out),
            TemplateOperation::Print { operand, json } => {
                out.push_str(if *json { "{json " } else { "{" });
                write_operand(program, *operand, out);
                out.push('}');
            }
            TemplateOperation::If { test, negate, zero, otherwise, end } => {
                out.push_str(if *negate { "(unless " } else { "(if " });
                out.push_str(if *zero { "zero " } else { "" });
                next = write_block(program, *test, next..*otherwise, *end, out);
            }
            TemplateOperation::Each { operand, otherwise, end } => {
                out.push_str("(each ");
                next = write_block(program, *operand, next..*otherwise, *end, out);
            }
            TemplateOperation::With { operand, otherwise, end } => {
                out.push_str("(with ");
                next = write_block(program, *operand, next..*otherwise, *end, out);
            }
        }
    }
}

/// Writes a block: its body, and the operations from there to `end`, which are its `else`. Returns the index of the first operation
/// after the block.
fn write_block(
    program: &TemplateProgram,
    operand: TemplateOperand,
    body: Range<u32>,
    end: u32,
    out: &mut String,
) -> u32 {
    let Range { start, end: otherwise } = body;
    write_operand(program, operand, out);
    write_operations(program, body, out);
    if otherwise < end {
        out.push_str(" else");
        write_operations(program, otherwise..end, out);
    }
    out.push(')');
    // Never before the body, so that the caller always proceeds.
    end.max(start)
}

fn write_operand(program: &TemplateProgram, operand: TemplateOperand, out: &mut String) {
    // Writing to a `String` cannot fail.
    match operand {
        TemplateOperand::Reference(index) => {
            let _ = write!(out, "reference {index}");
        }
        TemplateOperand::Local(index) => {
            let _ = write!(out, "local {index}");
        }
        TemplateOperand::Expression(index) => {
            if let Some(expression) = program.expressions.get(index as usize) {
                write_expression(expression, out);
            }
        }
    }
}

/// Skips what the block iterates over, which only the checker needs; a run has the frames.
fn write_local(local: &LocalPath, out: &mut String) {
    let LocalPath { path, start, up, span: _, origin: _, each: _, guarded: _ } = local;
    let start = match start {
        LocalStart::This => "this",
        LocalStart::Index => "index",
        LocalStart::Key => "key",
        LocalStart::First => "first",
        LocalStart::Last => "last",
    };
    let _ = write!(out, " local {start} up {up}");
    write_path(path, out);
}

/// Writes the paths, without what guards them, which only the checker needs.
fn write_references(references: &[Reference], out: &mut String) {
    for reference in references {
        write_reference(reference, out);
    }
}

fn write_reference(reference: &Reference, out: &mut String) {
    let Reference { path, default, binding, span: _, guarded: _, denied: _, asked: _, operand: _ } = reference;
    let _ = write!(out, " reference from {} skip {}", binding.source, binding.skip);
    write_path(path, out);
    if let Some(default) = default {
        out.push_str(" default ");
        write_json_string(default, out);
    }
}

fn write_path(path: &[PathSegment], out: &mut String) {
    for segment in path {
        out.push(' ');
        write_json_string(&segment.name, out);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::{Condition, Policy, Template};

    fn template(text: &str, policy: &Policy) -> String {
        Template::parse(text, policy).unwrap().canonical_text()
    }

    #[test]
    fn the_text_lists_operations_and_paths() {
        let shown = [
            template("a {{x.y}} b", &Policy::AGNTZ),
            template("{{ x | default('?') }}", &Policy::SIRENSPEC),
            template("{{#each xs}}{{@index}} {{name}}, {{../z}}{{else}}none{{/each}}{{upper w}}", &Policy::AEGIS),
            template("{{#if a}}1{{else if b}}2{{else}}3{{/if}}{{#unless c}}4{{/unless}}", &Policy::AEGIS),
        ];
        expect![[r#"
            undefined empty null empty conditions braced "a " {reference 0} " b" reference from 0 skip 0 "x" "y"
            undefined error null word conditions python single {reference 0} reference from 0 skip 0 "x" default "?"
            undefined empty null empty conditions handlebars (each reference 0 {local 0} " " {local 1} ", " {reference 1} else "none") {{"call":["upper",[{"reference":2}]]}} local index up 0 local this up 0 "name" reference from 0 skip 0 "xs" reference from 0 skip 0 "z" reference from 0 skip 0 "w"
            undefined empty null empty conditions handlebars (if reference 0 "1" else (if reference 1 "2" else "3")) (unless reference 2 "4") reference from 0 skip 0 "a" reference from 0 skip 0 "b" reference from 0 skip 0 "c""#]].assert_eq(&shown.join("\n"));
    }

    #[test]
    fn templates_that_behave_differently_have_different_texts() {
        let all = [
            template("{{x}}", &Policy::AGNTZ),
            template("{{x}}", &Policy::SIRENSPEC),
            template("{{y}}", &Policy::AGNTZ),
            template("{{x.y}}", &Policy::AGNTZ),
            template("{{x}} ", &Policy::AGNTZ),
            template("{{#if x}}a{{/if}}", &Policy::AEGIS),
            template("{{#unless x}}a{{/unless}}", &Policy::AEGIS),
            template("{{#with x}}a{{/with}}", &Policy::AEGIS),
            template("{{#each x}}a{{/each}}", &Policy::AEGIS),
            template("{{#if x}}{{else}}a{{/if}}", &Policy::AEGIS),
            template("{{#if x}}a{{/if}}b", &Policy::AEGIS),
            template("{{#if x}}ab{{/if}}", &Policy::AEGIS),
            template("{{upper x}}", &Policy::AEGIS),
            template("{{default x 'a'}}", &Policy::AEGIS),
            template("{{default x 'b'}}", &Policy::AEGIS),
            template("{{ x | default('a') }}", &Policy::SIRENSPEC),
            template("{{ x | default('b') }}", &Policy::SIRENSPEC),
            template("{{ x | json_or_default('b') }}", &Policy::SIRENSPEC),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|other| other != one), "{one}");
        }
    }

    #[test]
    fn spaces_in_placeholders_do_not_change_the_text() {
        assert_eq!(template("{{x}}", &Policy::AGNTZ), template("{{  x }}", &Policy::AGNTZ));
        let condition = |text| Condition::parse(text, &Policy::AGNTZ).unwrap().canonical_text();
        assert_eq!(condition("{{x}} == 1"), condition("{{ x }}  ==  1"));
        assert_ne!(condition("{{x}} == 1"), condition("{{x}} == '1'"));
        assert_ne!(condition("{{x}} == 1"), condition("{{x}} != 1"));
    }
}
