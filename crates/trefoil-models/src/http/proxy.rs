//! The proxies named by the operator's environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in upper or
//! lower case.

use std::collections::HashMap;

use reqwest::{NoProxy, Proxy, Url};
use trefoil_runtime::{ModelError, ModelErrorKind};

/// Never use a proxy for these: it would look for the server on its own machine.
const HERE: &str = "localhost,127.0.0.0/8,::1";

/// Creates a proxy from an address.
type ProxyConstructor = fn(Url) -> reqwest::Result<Proxy>;

/// The proxies for both schemes.
pub fn read_proxies(env: &HashMap<String, String>) -> Result<Vec<Proxy>, ModelError> {
    let read = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, env.get(*name)?.trim())));
    let except = match read(&["NO_PROXY", "no_proxy"]) {
        Some((_, hosts)) => hosts,
        None => "",
    };
    let makes: [(&[&'static str], ProxyConstructor); 2] = [
        (&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"], |url| Proxy::https(url)),
        (&["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"], |url| Proxy::http(url)),
    ];
    let mut all = Vec::new();
    for (names, make) in makes {
        let Some((name, text)) = read(names) else { continue };
        // Does not repeat the address, which may contain a password.
        let wrong = || {
            let message = format!("`{name}` is not the http or https URL of a proxy");
            ModelError::new(ModelErrorKind::Setup, message)
        };
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
            _ => return Err(wrong()),
        };
        let proxy = make(url).map_err(|_| wrong())?;
        all.push(proxy.no_proxy(NoProxy::from_string(&format!("{HERE},{except}"))));
    }
    Ok(all)
}
