//! `auth` of an HTTP tool: how to get a token, and how to use it.

use std::time::Duration;

use trefoil_runtime::ToolError;
use trefoil_template::{Value, ValueObject, read_json};

use super::request::{build_request, with_query};
use crate::guard::{GuardedRequest, HttpAnswer};

/// How long a token is kept in seconds, if the server does not say when it expires.
const TTL: u64 = 3_000;
/// The maximum of such a time: a year.
const LONGEST_TTL: f64 = 31_536_000.0;
/// How many seconds before its expiry a token is replaced.
const EARLY: u64 = 30;

/// How to get and use a token.
pub struct TokenAuth {
    /// Requests with the same key may share a token. Contains secrets and is never shown.
    pub key: String,
    get: GuardedRequest,
    token: TokenExtraction,
    expires: Option<TokenPath>,
    apply: TokenTarget,
    ttl: Option<Duration>,
    refresh_on: Vec<u64>,
}

enum TokenExtraction {
    Text,
    Json(TokenPath),
}

enum TokenTarget {
    Header { name: String, format: String },
    Query { name: String, format: String },
}

impl TokenAuth {
    /// Parses `type: oauth2_client_credentials` (RFC 6749, 4.4) or `type: token_exchange`.
    pub fn from_settings(all: &ValueObject) -> Result<Self, ToolError> {
        let (get, token, expires, apply) = match setting_text(all, "type").as_deref() {
            Some("oauth2_client_credentials") => client_credentials(all)?,
            Some("token_exchange") => exchange(all)?,
            _ => {
                let help = "set it to `oauth2_client_credentials` or `token_exchange`";
                return Err(ToolError::with_advice("`auth` has an unknown `type`", help));
            }
        };
        let ttl = match all.get("cache_ttl").and_then(Value::as_f64) {
            // Longer than this, no token is kept.
            Some(seconds) if seconds.is_finite() && seconds > 0.0 => {
                Some(Duration::from_secs_f64(seconds.min(LONGEST_TTL)))
            }
            _ => None,
        };
        let refresh_on = match all.get("refresh_on").and_then(Value::as_list) {
            Some(statuses) => statuses.iter().filter_map(Value::as_f64).map(|status| status as u64).collect(),
            None => vec![401],
        };
        Ok(Self { key: Value::from(all.clone()).to_text().to_string(), get, token, expires, apply, ttl, refresh_on })
    }

    /// The request that gets a token.
    pub fn token_request(&self) -> GuardedRequest {
        self.get.clone()
    }

    /// Reads the token and its lifetime from the response.
    pub fn read_token(&self, answer: &HttpAnswer) -> Result<(String, Duration), ToolError> {
        if !answer.status.is_success() {
            // The response may contain the credentials, so it is not quoted.
            let why = format!("the request for a token failed with {}", answer.status.as_u16());
            let help = if answer.status.is_client_error() {
                "check the credentials and the address in `auth` of the tool"
            } else {
                "the server of the token has problems; try again later"
            };
            return Err(ToolError::with_advice(why, help));
        }
        let text = String::from_utf8_lossy(&answer.body);
        let json: Option<Value> = read_json(&text).ok();
        let token = match (&self.token, &json) {
            (TokenExtraction::Text, _) => text.trim().to_owned(),
            (TokenExtraction::Json(path), Some(json)) => match path.find(json) {
                Some(token) => token.to_text().to_string(),
                None => String::new(),
            },
            (TokenExtraction::Json(_), None) => String::new(),
        };
        if token.is_empty() {
            let help = "check the address for tokens in `auth` of the tool, and `extract` if it has one";
            return Err(ToolError::with_advice("the answer to the request for a token has none", help));
        }
        let ttl = match self.ttl {
            Some(ttl) => ttl,
            None => Duration::from_secs(self.told_lifetime(json.as_ref()).unwrap_or(TTL)),
        };
        Ok((token, ttl.saturating_sub(Duration::from_secs(EARLY.min(ttl.as_secs() / 2)))))
    }

    /// The lifetime of a token in seconds, as the response says.
    fn told_lifetime(&self, response: Option<&Value>) -> Option<u64> {
        let told = self.expires.as_ref()?.find(response?)?;
        let seconds = match told.as_f64() {
            Some(seconds) => seconds,
            None => told.to_text().parse().ok()?,
        };
        if (0.0..1e9).contains(&seconds) { Some(seconds as u64) } else { None }
    }

    /// Adds a token to a request.
    pub fn apply_token(&self, mut to: GuardedRequest, token: &str) -> GuardedRequest {
        match &self.apply {
            TokenTarget::Header { name, format } => {
                to.headers.retain(|(have, _)| !have.eq_ignore_ascii_case(name));
                to.headers.push((name.clone(), format.replace("{token}", token)));
            }
            TokenTarget::Query { name, format } => {
                let value = Value::from(format.replace("{token}", token));
                to.url = with_query(&to.url, [(name.as_str(), &value)]);
            }
        }
        to
    }

    /// Whether this status means that the token is no longer valid.
    pub fn refreshes_on(&self, status: u16) -> bool {
        self.refresh_on.contains(&u64::from(status))
    }
}

fn missing(what: &str) -> ToolError {
    ToolError::with_advice(what, "add it to `auth` of the tool")
}

/// A setting as text, if it has a value.
fn setting_text(all: &ValueObject, key: &str) -> Option<String> {
    match all.get(key)? {
        Value::Null => None,
        value => Some(value.to_text().to_string()),
    }
}

/// The request for a token, where its response has the token and its lifetime, and where the token is sent.
type TokenSteps = (GuardedRequest, TokenExtraction, Option<TokenPath>, TokenTarget);

fn client_credentials(all: &ValueObject) -> Result<TokenSteps, ToolError> {
    let need = |key: &str| setting_text(all, key).ok_or_else(|| missing(&format!("`auth` has no `{key}`")));
    let (id, secret) = (need("client_id")?, need("client_secret")?);
    let mut form = vec![("grant_type", "client_credentials".to_owned())];
    if let Some(scope) = setting_text(all, "scope") {
        form.push(("scope", scope));
    }
    let mut headers = Vec::new();
    if setting_text(all, "creds_location").as_deref() == Some("body") {
        form.extend([("client_id", id), ("client_secret", secret)]);
    } else {
        headers.push(("authorization".to_owned(), basic(&id, &secret)));
    }
    headers.push(("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
    headers.push(("accept".to_owned(), "application/json".to_owned()));
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let get = GuardedRequest {
        method: reqwest::Method::POST,
        headers,
        body: Some(body.into_bytes()),
        ..GuardedRequest::for_get(need("token_url")?)
    };
    let token = TokenExtraction::Json(TokenPath::parse_path("$.access_token"));
    let expires = Some(TokenPath::parse_path("$.expires_in"));
    let bearer = TokenTarget::Header { name: "authorization".to_owned(), format: "Bearer {token}".to_owned() };
    Ok((get, token, expires, bearer))
}

fn exchange(all: &ValueObject) -> Result<TokenSteps, ToolError> {
    let empty = ValueObject::default();
    let part = |key: &str| all.get(key).and_then(Value::as_object).unwrap_or(&empty);
    let (request, extract, apply) = (part("request"), part("extract"), part("apply"));
    let Some(url) = request.get("url") else { return Err(missing("`auth.request` has no `url`")) };
    let mut get = build_request(request, url.to_text().to_string())?;
    if request.get("method").is_none() {
        get.method = reqwest::Method::POST;
    }
    let text = |settings: &ValueObject, key: &str| Some(settings.get(key)?.as_str()?.to_owned());
    let token = match text(extract, "response_format").as_deref() {
        Some("text") => TokenExtraction::Text,
        _ => {
            let path = text(extract, "token_path");
            TokenExtraction::Json(TokenPath::parse_path(path.as_deref().unwrap_or("$.access_token")))
        }
    };
    let expires = text(extract, "expires_path").map(|path| TokenPath::parse_path(&path));
    let name = text(apply, "name");
    let apply = match text(apply, "location").as_deref() {
        Some("query") => TokenTarget::Query {
            name: name.ok_or_else(|| missing("`auth.apply` has no `name`"))?,
            format: text(apply, "format").unwrap_or_else(|| "{token}".to_owned()),
        },
        _ => TokenTarget::Header {
            name: name.unwrap_or_else(|| "Authorization".to_owned()),
            format: text(apply, "format").unwrap_or_else(|| "Bearer {token}".to_owned()),
        },
    };
    Ok((get, token, expires, apply))
}

/// RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
fn basic(id: &str, secret: &str) -> String {
    use base64::Engine as _;
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(id), encode(secret));
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

/// A path such as `$.data[0].token`.
struct TokenPath(Vec<String>);

impl TokenPath {
    fn parse_path(text: &str) -> Self {
        let mut names = Vec::new();
        for name in text.trim_start_matches('$').split(['.', '[', ']']) {
            if !name.is_empty() {
                names.push(name.trim_matches(['\'', '"']).to_owned());
            }
        }
        Self(names)
    }
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let mut found = value;
        for name in &self.0 {
            found = match found {
                Value::List(items) => items.get(name.parse::<usize>().ok()?)?,
                value => value.as_object()?.get(name.as_str())?,
            };
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_seconds_is_a_time() {
        for ttl in [f64::MIN_POSITIVE, 1e-9, 0.5, 3_000.0, 1e20, f64::MAX] {
            let members: [(&str, Value); 5] = [
                ("type", "oauth2_client_credentials".into()),
                ("token_url", "https://id.example.com/token".into()),
                ("client_id", "me".into()),
                ("client_secret", "hush".into()),
                ("cache_ttl", ttl.into()),
            ];
            let all: Value = members.into_iter().collect();
            let auth = TokenAuth::from_settings(all.as_object().unwrap()).map_err(|why| why.to_string()).unwrap();
            assert!(auth.ttl.unwrap() <= Duration::from_secs_f64(LONGEST_TTL), "{ttl}");
        }
    }
}
