//! Methods of texts in `when`: a closed list.

use super::{DeepExpression, PythonParser, SYNTAX, UNSUPPORTED, list};
use crate::expression::{BuiltinFunction, ConditionExpression};
use crate::scope::PathSegment;
use crate::value::Value;

/// The methods with the least and the largest number of arguments.
const METHODS: [(&str, BuiltinFunction, usize, usize); 8] = [
    ("lower", BuiltinFunction::Lower, 0, 0),
    ("upper", BuiltinFunction::Upper, 0, 0),
    ("strip", BuiltinFunction::Trim, 0, 1),
    ("lstrip", BuiltinFunction::TrimStart, 0, 1),
    ("rstrip", BuiltinFunction::TrimEnd, 0, 1),
    ("startswith", BuiltinFunction::StartsWith, 1, 1),
    ("endswith", BuiltinFunction::EndsWith, 1, 1),
    ("replace", BuiltinFunction::Replace, 2, 2),
];

impl PythonParser<'_, '_> {
    /// The call of a method of a value; the next token opens its arguments.
    pub(super) fn parse_method(&mut self, (text, depth): DeepExpression, name: &PathSegment) -> Option<DeepExpression> {
        let span = name.span.start as usize..name.span.end as usize;
        self.at += 1;
        let is_tuple = self.is_sign("(");
        let (mut arguments, arguments_depth, _) = self.items(")")?;
        let Some((word, function, least, most)) = METHODS.iter().find(|(word, ..)| **word == *name.name) else {
            let words = METHODS.map(|(word, ..)| word);
            let suggestion = crate::suggestion::closest_name(&name.name, &words);
            let message =
                format!("the method `{}` is not supported in {}", name.name, self.b.policy.words.condition_name());
            let noted = self.b.mistakes.add_mistake(UNSUPPORTED, span, message);
            if let Some(meant) = suggestion {
                noted.set_replacement(meant);
            }
            noted.set_help(match suggestion {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    format!("the methods of a text are {}; compare with `in`, or have a node compute it", list(&words))
                }
            });
            return Some((ConditionExpression::from_value(Value::Null), 1));
        };
        if !(*least..=*most).contains(&arguments.len()) {
            let wanted = match (least, most) {
                (0, 0) => "no argument".to_owned(),
                (0, most) => format!("at most {most} argument"),
                (1, 1) => "one argument".to_owned(),
                (least, _) => format!("{least} arguments"),
            };
            self.b.mistakes.add_mistake(SYNTAX, span, format!("`{word}` needs {wanted}"));
        }
        let depth = depth.max(arguments_depth);
        // `x.startswith(("a", "b"))`: any of them.
        let starts = matches!(function, BuiltinFunction::StartsWith | BuiltinFunction::EndsWith) && is_tuple;
        if let (true, [ConditionExpression::List(_)]) = (starts, arguments.as_slice())
            && let Some(ConditionExpression::List(parts)) = arguments.pop()
        {
            let each =
                parts.into_iter().map(|part| ConditionExpression::Call(*function, vec![text.clone(), part])).collect();
            return self.node(ConditionExpression::Or(each), depth);
        }
        arguments.insert(0, text);
        self.node(ConditionExpression::Call(*function, arguments), depth)
    }
}
