//! Verdicts: the answer of a judge, `{score, confidence, reasoning}`.

use trefoil_template::Value;

use crate::answer::find_json;

/// A judge's default confidence.
const CONFIDENCE: f64 = 0.8;

/// A verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeVerdict {
    /// The score, 0 to 1.
    pub score: f64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The reasoning; may be empty.
    pub reasoning: String,
    /// The weight.
    pub weight: f64,
    /// The whole answer.
    pub answer: Value,
}

/// Reads an answer as a verdict: an object, or text that contains one. The error is a message.
pub fn parse_verdict(answer: &Value, weight: f64) -> Result<JudgeVerdict, String> {
    let is_object = |value: &Value| if value.as_object().is_some() { Ok(()) } else { Err(String::new()) };
    let answer = match answer.as_str().and_then(|text| find_json(text, &is_object).ok()) {
        Some(object) => object,
        None => answer.clone(),
    };
    let Some(object) = answer.as_object() else { return Err("the answer is not a verdict".to_owned()) };
    let score = match object.get("score") {
        None | Some(Value::Null) => return Err("the verdict has no `score`".to_owned()),
        Some(score) => unit("score", score)?,
    };
    let confidence = match object.get("confidence") {
        None | Some(Value::Null) => CONFIDENCE,
        Some(confidence) => unit("confidence", confidence)?,
    };
    let reasoning = ["reasoning", "feedback"].iter().find_map(|key| object.get(*key)?.as_str()).unwrap_or_default();
    Ok(JudgeVerdict { score, confidence, reasoning: reasoning.to_owned(), weight, answer: answer.clone() })
}

/// The object with a score in a text, whatever else is in it.
pub fn find_verdict(text: &str) -> Option<Value> {
    let scored = |value: &Value| {
        let is_scored = value.get("score").is_some() || value.get("confidence").is_some();
        if is_scored { Ok(()) } else { Err(String::new()) }
    };
    find_json(text, &scored).ok()
}

fn unit(name: &str, value: &Value) -> Result<f64, String> {
    value.as_share().ok_or_else(|| format!("the verdict's `{name}` is not a number from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_verdict_is_read_from_an_object_or_from_text_in_a_fence() {
        let verdict = parse_verdict(&"```json\n{\"score\": 0.5, \"reasoning\": \"thin\"}\n```".into(), 2.0).unwrap();
        assert_eq!((verdict.score, verdict.confidence, verdict.weight), (0.5, 0.8, 2.0));
        assert_eq!(verdict.reasoning, "thin");
        let object: Value = [("score", 1), ("confidence", 0)].into_iter().collect();
        assert_eq!(parse_verdict(&object, 1.0).unwrap().confidence, 0.0);
    }

    #[test]
    fn what_is_no_verdict_says_why() {
        expect!["the answer is not a verdict"].assert_eq(&parse_verdict(&"fine".into(), 1.0).unwrap_err());
        expect!["the verdict has no `score`"].assert_eq(&parse_verdict(&"{}".into(), 1.0).unwrap_err());
        let why = parse_verdict(&"{\"score\": 85}".into(), 1.0).unwrap_err();
        expect!["the verdict's `score` is not a number from 0 to 1"].assert_eq(&why);
    }
}
