//! Methods of texts in `when`: a closed list.

use super::{DeepExpression, Parser, SYNTAX, UNSUPPORTED, list};
use crate::expression::{Expression, Function};
use crate::scope::Segment;
use crate::value::Value;

/// The methods with the least and the largest number of arguments.
const METHODS: [(&str, Function, usize, usize); 8] = [
    ("lower", Function::Lower, 0, 0),
    ("upper", Function::Upper, 0, 0),
    ("strip", Function::Trim, 0, 1),
    ("lstrip", Function::TrimStart, 0, 1),
    ("rstrip", Function::TrimEnd, 0, 1),
    ("startswith", Function::StartsWith, 1, 1),
    ("endswith", Function::EndsWith, 1, 1),
    ("replace", Function::Replace, 2, 2),
];

impl Parser<'_, '_> {
    /// The call of a method of a value; the next token opens its arguments.
    pub(super) fn method(&mut self, (text, depth): DeepExpression, name: &Segment) -> Option<DeepExpression> {
        let span = name.span.start as usize..name.span.end as usize;
        self.at += 1;
        let is_tuple = self.is_sign("(");
        let (mut arguments, arguments_depth, _) = self.items(")")?;
        let Some((word, function, least, most)) = METHODS.iter().find(|(word, ..)| **word == *name.name) else {
            let words = METHODS.map(|(word, ..)| word);
            let suggestion = crate::suggest::closest(&name.name, &words);
            let message = format!("the method `{}` is not supported in {}", name.name, self.b.policy.words.condition());
            let noted = self.b.mistakes.add(UNSUPPORTED, span, message);
            if let Some(meant) = suggestion {
                noted.meant(meant);
            }
            noted.help(match suggestion {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    format!("the methods of a text are {}; compare with `in`, or have a node compute it", list(&words))
                }
            });
            return Some((Expression::value(Value::Null), 1));
        };
        if !(*least..=*most).contains(&arguments.len()) {
            let wanted = match (least, most) {
                (0, 0) => "no argument".to_owned(),
                (0, most) => format!("at most {most} argument"),
                (1, 1) => "one argument".to_owned(),
                (least, _) => format!("{least} arguments"),
            };
            self.b.mistakes.add(SYNTAX, span, format!("`{word}` needs {wanted}"));
        }
        let depth = depth.max(arguments_depth);
        // `x.startswith(("a", "b"))`: any of them.
        let starts = matches!(function, Function::StartsWith | Function::EndsWith) && is_tuple;
        if let (true, [Expression::List(_)]) = (starts, arguments.as_slice())
            && let Some(Expression::List(parts)) = arguments.pop()
        {
            let each = parts.into_iter().map(|part| Expression::Call(*function, vec![text.clone(), part])).collect();
            return self.node(Expression::Or(each), depth);
        }
        arguments.insert(0, text);
        self.node(Expression::Call(*function, arguments), depth)
    }
}
