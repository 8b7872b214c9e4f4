//! Queries with labels. A label is repeated and not a list, because its value may have any character.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use http::Uri;
use http::request::Parts;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::problem::{ApiResult, Problem};

/// The labels of a query, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LabelParam {
    /// Only those of runs with this label: `KEY:VALUE`. Repeatable: with all of them.
    #[allow(dead_code, reason = "read by hand")]
    label: Option<Vec<String>>,
}

/// A query, and the labels in it.
pub struct LabelledQuery<T> {
    /// The rest of it.
    pub query: T,
    /// The labels.
    pub labels: Vec<(String, String)>,
}

impl<T, S> FromRequestParts<S> for LabelledQuery<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let (mut labels, mut rest) = (Vec::new(), Vec::new());
        for pair in parts.uri.query().unwrap_or_default().split('&') {
            match pair.starts_with("label=") {
                true => labels.push(pair),
                false => rest.push(pair),
            }
        }
        let named: Vec<(String, String)> = read_pairs(&labels)?;
        let mut labels = Vec::new();
        for (_, label) in named {
            labels.push(parse_filter_label(&label)?);
        }
        Ok(Self { query: read_pairs(&rest)?, labels })
    }
}

fn read_pairs<T: DeserializeOwned>(pairs: &[&str]) -> ApiResult<T> {
    let wrong = |why: String| Problem::bad_request(format!("the query cannot be read: {why}"));
    let uri: Uri = format!("/?{}", pairs.join("&")).parse().map_err(|why| wrong(format!("{why}")))?;
    let Query(read) = Query::try_from_uri(&uri).map_err(|rejection| wrong(describe_rejection(&rejection)))?;
    Ok(read)
}

/// Why a query is refused. The framework does not know of labels.
fn describe_rejection(rejection: &QueryRejection) -> String {
    let text = rejection.body_text();
    let why = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
    why.replace("expected one of ", "expected one of `label`, ").replace("expected `", "expected `label` or `")
}

/// A label in a query: `KEY:VALUE`. No key has a colon.
fn parse_filter_label(label: &str) -> ApiResult<(String, String)> {
    match label.split_once(':') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(Problem::bad_request(format!("`{label}` is not a label")).with_help("write KEY:VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    async fn read(query: &str) -> Option<(BTreeMap<String, u32>, Vec<(String, String)>)> {
        let (mut parts, ()) = http::Request::get(format!("/runs?{query}")).body(()).ok()?.into_parts();
        let read = LabelledQuery::from_request_parts(&mut parts, &()).await.ok()?;
        Some((read.query, read.labels))
    }

    #[tokio::test]
    async fn a_value_may_have_any_character() {
        let (query, labels) = read("a=1&label=k%3Ax,y%26z&b=2&label=n:v:%20w").await.unwrap();
        assert_eq!(query, BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
        let expected = [("k", "x,y&z"), ("n", "v: w")];
        assert_eq!(labels, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(read("").await.unwrap().1, []);
        assert!(read("label=k").await.is_none());
        assert!(read("a=x").await.is_none());
    }
}
