//! Reads the arguments of an HTTP tool.

use trefoil_runtime::ToolError;
use trefoil_template::{Object, Value};

use super::auth::Auth;
use super::{placeholders, request};
use crate::guard::Call;

/// The request described by these arguments, and how to get its token.
pub fn read_request(arguments: &Value) -> Result<(Call, Option<Auth>), ToolError> {
    let empty = Object::default();
    let all = arguments.as_object().unwrap_or(&empty);
    let params = all.get("params").and_then(Value::as_object).unwrap_or(&empty);
    let url = all
        .get("url")
        .filter(|v| !v.is_null())
        .ok_or_else(|| ToolError::advised("the request has no URL", "set `url` of the tool"))?;
    let url = placeholders::fill(&url.to_text(), params)?;
    let call = request::call(all, url)?;
    let auth = all.get("auth").and_then(Value::as_object).map(Auth::of).transpose()?;
    Ok((call, auth))
}
