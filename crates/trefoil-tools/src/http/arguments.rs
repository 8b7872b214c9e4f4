//! Reads the arguments of an HTTP tool.

use trefoil_runtime::ToolError;
use trefoil_template::{Value, ValueObject};

use super::auth::TokenAuth;
use super::{placeholders, request};
use crate::guard::GuardedRequest;

/// The request described by these arguments, and how to get its token.
pub fn read_request(arguments: &Value) -> Result<(GuardedRequest, Option<TokenAuth>), ToolError> {
    let empty = ValueObject::default();
    let all = arguments.as_object().unwrap_or(&empty);
    let params = all.get("params").and_then(Value::as_object).unwrap_or(&empty);
    let url = match all.get("url") {
        None | Some(Value::Null) => {
            return Err(ToolError::with_advice("the request has no URL", "set `url` of the tool"));
        }
        Some(url) => placeholders::fill_url(&url.to_text(), params)?,
    };
    let call = request::build_request(all, url)?;
    let auth = match all.get("auth").and_then(Value::as_object) {
        Some(settings) => Some(TokenAuth::from_settings(settings)?),
        None => None,
    };
    Ok((call, auth))
}
