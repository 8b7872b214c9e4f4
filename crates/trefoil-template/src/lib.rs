//! The template and condition languages of the three dialects, and the values they work on.
//!
//! One family of parsers and three [`Policy`] constants. A text is parsed once into a flat program; rendering is a loop
//! over it. Knows nothing about YAML, workflows or IO. Data is never code: an inserted value is not scanned again.
//!
//! ```
//! use trefoil_template::{Condition, Policy, Template, Value};
//!
//! let state: Value = serde_json::from_str(r#"{"name": "Ada", "issues": [{"line": 3}], "n": 2}"#)?;
//! let prompt = Template::parse("{{name}}:{{#each issues}} line {{this.line}}{{/each}}", &Policy::AEGIS).unwrap();
//! assert_eq!(prompt.render_text(&state), Ok("Ada: line 3".into()));
//!
//! let when = Condition::parse("{{n}} >= 2 && {{name}} != Bob", &Policy::AGNTZ).unwrap();
//! assert_eq!(when.evaluate_in(&state), Ok(true));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # The languages
//!
//! Common to all: `{{path}}` prints a value. Text prints as it is, numbers as in JavaScript (`1.0` is `1`), lists and
//! objects as compact JSON. Nothing is escaped for HTML. Lone `}}` and single braces are text. Quoted text in a tag may
//! contain `}}`. A segment of digits indexes a list: `{{list.0}}`. All mistakes are found at load time, each with its
//! bytes, a rule name and advice.
//!
//! | | agntz | AEGIS | SirenSpec |
//! |---|---|---|---|
//! | missing | empty text, null as a value | empty text | `InterpolationError` |
//! | null | empty | empty | `null` |
//! | blocks | `{{#if path}}`, `{{#if path == literal}}`, `!=` | `if`, `unless`, `else`, `else if`, `each`, `with` | none |
//! | fallback | - | `{{default path 'text'}}` | <code>{{ path \| default('text') }}</code>, <code>{{ path \| json_or_default('[]') }}</code> |
//! | literal braces | none | `\{{` | none |
//! | whitespace | kept | lines with only a block tag go; `{{~ ~}}` trims | kept |
//! | comments | none | `{{! }}`, `{{!-- --}}` | none |
//!
//! **agntz.** A literal is quoted text (no escapes), `true`, `false`, `null`, a number, or bare text. Conditions
//! (`when`, `until`) compare `{{path}}` and literals with `== != < > <= >=`, joined with `&&` (binds tighter) and `||`;
//! no parentheses, no negation. `==` never converts; `<` and similar operators compare numbers and text that is a
//! number, and are otherwise false. Falsy values are null, `false`, `0`, `""`, `[]`, `{}`.
//!
//! **AEGIS.** Handlebars paths: `this`, `./a`, `../a`, `a/b`, `a.[0]`, `@root.a`; in loops `@index`, `@key`, `@first`,
//! `@last` and `as |item index|`. In a loop, a plain name is a property of the item. Helpers, also as subexpressions
//! `(eq a b)`: `json keys length len default lookup upper lower trim first_line eq ne gt gte lt lte and or not`. A name
//! without arguments is always a path. `{{#if n includeZero=true}}` treats 0 as true. Conditions (`custom`) are paths,
//! helper calls and comparisons with `== != < > <= >= && || !` and parentheses; braces around any part are optional.
//!
//! **SirenSpec.** One filter, at the end; its text is in single or double quotes, without escapes. `default` applies to
//! a missing path and to empty text, `json_or_default` also to text that is not JSON. Conditions (`when`) look like
//! Python: `working`, `output`, `_budget`, literals, lists, members `.a`, items `[0]`, comparisons (also chained),
//! `in`, `is`, `and`, `or`, `not`, `+ - * / %`, `len str int float bool abs min max`. If a part fails to evaluate, the
//! whole condition is false.
//!
//! # The environment and secrets
//!
//! A reference bound to [`SourceValue::Opaque`] renders as a hole ([`Value::Masked`], shown as `***`) that the driver fills
//! with [`Value::fill_holes`]. A condition on a hole returns [`EvalError::Undecided`] with a [`HoleQuestion`], in which
//! everything known is already evaluated. The driver answers it with [`HoleQuestion::answer_with`], and the scope then knows the
//! answer in the next evaluation.
//!
//! # Limits
//!
//! Size, depth, output and work are bounded, see [`limits`].

mod canonical_form;
pub mod condition;
pub mod error;
mod evaluation;
pub mod expression;
mod handlebars;
pub mod limits;
mod lookup;
mod path;
pub mod policy;
pub mod scope;
pub mod state;
mod suggestion;
pub mod template;
pub mod value;

pub use condition::Condition;
pub use error::{BrokenText, EvalError, HoleQuestion, NodeThroughWorking, SyntaxError};
pub use expression::{ArithmeticOperator, BuiltinFunction, ComparisonOperator, ConditionExpression, LiteralIndex};
pub use handlebars::is_helper;
pub use policy::{ConditionGrammar, DialectWords, Policy, TransitionWords};
pub use scope::{MissingCause, PathSegment, Reference, ReferenceBinding, SourceValue, ValueScope};
pub use template::{BlockSubject, LocalPath, LocalStart, PartOrigin, ReferenceProvenance, RenderedPart, Template};
pub use value::foreign_json::{
    HalfJoiner, join_halves, json_text, read_json, read_json_bytes, read_own_json, read_piece,
};
pub use value::{
    Hole, HoleKind, Masked, MaskedPiece, NameMap, NodeCounter, Value, ValueNumber, ValueObject, has_too_many_nodes,
    json_nodes,
};
pub use value::{foreign_json, wire};
