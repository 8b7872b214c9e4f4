//! The providers that can be called according to a snapshot of the environment, and access to them.
//!
//! Addresses and keys come only from the operator's environment and settings, never from a manifest. Only
//! [`Registry::from_env`] reads the process's environment.

mod configured;
mod fallback;
#[cfg(feature = "http")]
mod probe;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::StepId;
use trefoil_runtime::{
    ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest,
    ports::{Admission, CallPause, CallSite, Secret},
};
use trefoil_syntax::suggest;

use crate::address::{Address, AddressError};
use crate::credential::Credential;
use crate::limits::Limits;
use crate::vendors::{Api, Protocol, VENDORS, Vendor, declare, vendor};

pub use configured::{Configured, SaidBy};
pub use fallback::{Fallbacks, ModelName};
#[cfg(feature = "http")]
pub use probe::{ANSWER_TOKENS, QUESTION};

/// Minimum length of a real key.
const SHORTEST_KEY: usize = 16;

/// The environment of all providers.
#[derive(Clone, Default)]
pub struct Registry {
    env: Arc<HashMap<String, String>>,
    /// The operator's files that set addresses, by provider.
    files: Arc<HashMap<&'static str, Arc<str>>>,
    /// The APIs chosen in files, by provider.
    apis: Arc<HashMap<&'static str, Api>>,
    /// The providers that the operator declares.
    declared: Arc<Vec<Vendor>>,
    /// Whether every provider counts as configured.
    to_read: bool,
    limits: Limits,
    #[cfg(feature = "http")]
    client: Arc<std::sync::OnceLock<crate::http::Client>>,
}

/// An address that is not the vendor's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// The provider.
    pub provider: &'static str,
    /// Scheme, host and port.
    pub address: String,
    /// The environment variable for the address.
    pub variable: &'static str,
    /// The operator's file that sets it, if the variable does not.
    pub file: Option<Arc<str>>,
    /// Whether the connection is unencrypted.
    pub open: bool,
}

impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is called at {} (from ", self.provider, self.address)?;
        match &self.file {
            Some(file) => write!(f, "`[providers.{}]` in `{file}`)", self.provider)?,
            None => write!(f, "`{}`)", self.variable)?,
        }
        if self.open { f.write_str("; the connection is not encrypted") } else { Ok(()) }
    }
}

/// Whether a provider can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// It can be called.
    Ready,
    /// None of these variables is set.
    NoKey {
        /// The variable for its key.
        variable: &'static str,
        /// The variable for its address, if that alone is enough.
        or: Option<&'static str>,
    },
    /// The address in this variable is invalid.
    BadAddress {
        /// The variable.
        variable: &'static str,
        /// Why it is invalid.
        why: AddressError,
    },
    /// The provider is unknown.
    Unknown,
}

impl Registry {
    /// Creates a registry from these variables; empty ones count as unset.
    pub fn new(env: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            env: Arc::new(env.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect()),
            ..Self::default()
        }
    }

    /// Creates a registry in which every provider counts as configured, to find out which models a run uses without
    /// calling them.
    pub fn to_read() -> Self {
        let every = Self::new(VENDORS.iter().flat_map(|vendor| {
            let base = vendor.base_url.unwrap_or("https://localhost");
            [(vendor.key_variable, "unused"), (vendor.base_url_variable, base)]
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
        }));
        Self { to_read: true, ..every }
    }

    /// Creates a registry from the current variables of this process.
    pub fn from_env() -> Self {
        Self::new(std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))))
    }

    /// Sets the operator's time limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets a provider's address from a file of the operator. The environment takes precedence.
    #[must_use]
    pub fn with_address(mut self, provider: &str, base_url: &str, file: &str) -> Self {
        if let Some(vendor) = vendor(provider)
            && !self.env.contains_key(vendor.base_url_variable)
        {
            Arc::make_mut(&mut self.env).insert(vendor.base_url_variable.to_owned(), base_url.to_owned());
            Arc::make_mut(&mut self.files).insert(vendor.name, file.into());
        }
        self
    }

    /// Selects the API for a provider. Has no effect if the provider has only one.
    #[must_use]
    pub fn with_api(mut self, provider: &str, api: Api) -> Self {
        if let Some(vendor) = self.vendor(provider).filter(|vendor| vendor.protocol.through(api).is_some()) {
            Arc::make_mut(&mut self.apis).insert(vendor.name, api);
        }
        self
    }

    /// Adds an OpenAI-compatible provider from a file of the operator. `key_variable`: the variable of its key; without
    /// one it gets no key. A known provider is not changed; a declared one is replaced.
    #[must_use]
    pub fn with_provider(mut self, name: &str, base_url: &str, key_variable: Option<&str>, file: &str) -> Self {
        if vendor(name).is_some() {
            return self;
        }
        let own = declare(name, key_variable);
        let declared = Arc::make_mut(&mut self.declared);
        declared.retain(|other| other.name != own.name);
        declared.push(own);
        // No variable of the process has precedence: its name is not a usual one.
        Arc::make_mut(&mut self.env).insert(own.base_url_variable.to_owned(), base_url.to_owned());
        Arc::make_mut(&mut self.files).insert(own.name, file.into());
        if self.to_read && !own.key_optional {
            Arc::make_mut(&mut self.env).insert(own.key_variable.to_owned(), "unused".to_owned());
        }
        self
    }

    /// All providers, in the order they are shown.
    fn vendors(&self) -> impl Iterator<Item = &Vendor> {
        VENDORS.iter().chain(self.declared.iter())
    }

    fn vendor(&self, name: &str) -> Option<Vendor> {
        self.vendors().find(|vendor| vendor.name == name).copied()
    }

    /// The names of all providers, known or declared, available or not.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.vendors().map(|vendor| vendor.name)
    }

    fn protocol(&self, vendor: &Vendor) -> Protocol {
        let chosen = self.apis.get(vendor.name).and_then(|api| vendor.protocol.through(*api));
        let said = self.env.get(vendor.base_url_variable).and_then(|text| Address::parse(text).ok());
        chosen.unwrap_or_else(|| said.map_or(vendor.protocol, |address| vendor.protocol.at(&address)))
    }

    /// The names of the known providers, available or not.
    pub fn known() -> impl Iterator<Item = &'static str> {
        VENDORS.iter().map(|v| v.name)
    }

    /// Whether this provider can be called.
    pub fn availability(&self, provider: &str) -> Availability {
        let Some(vendor) = self.vendor(provider) else { return Availability::Unknown };
        let set = |variable: &str| self.env.contains_key(variable);
        let addressed = set(vendor.base_url_variable);
        if let Some(Err(why)) = self.env.get(vendor.base_url_variable).map(|text| vendor.address(text)) {
            return Availability::BadAddress { variable: vendor.base_url_variable, why };
        }
        // A provider without a default address needs one, even if its key is set.
        let ready = match vendor.base_url {
            Some(_) => set(vendor.key_variable) || (vendor.key_optional && addressed),
            None => addressed && (vendor.key_optional || set(vendor.key_variable)),
        };
        if ready {
            Availability::Ready
        } else if vendor.base_url.is_none() && !addressed {
            Availability::NoKey { variable: vendor.base_url_variable, or: None }
        } else {
            let or = vendor.key_optional.then_some(vendor.base_url_variable);
            Availability::NoKey { variable: vendor.key_variable, or }
        }
    }

    /// The keys of all providers. Short ones are placeholders (`ollama`, `none`) that also occur in ordinary text, so
    /// they are not included.
    pub fn keys(&self) -> Vec<Secret> {
        let keys = self.vendors().filter_map(|vendor| self.env.get(vendor.key_variable));
        keys.map(|key| key.trim()).filter(|key| key.len() >= SHORTEST_KEY).filter_map(Secret::new).collect()
    }

    /// Whether any provider has a key or an address, even if this version cannot call it. Then the user wants real
    /// answers, and placeholders must be requested explicitly.
    pub fn is_configured(&self) -> bool {
        self.vendors().any(|v| self.env.contains_key(v.key_variable) || self.env.contains_key(v.base_url_variable))
    }

    /// A provider's address if it is not the vendor's default: it receives the prompts and the key.
    pub fn elsewhere(&self, provider: &str) -> Option<Elsewhere> {
        let vendor = self.vendor(provider)?;
        let address = Address::parse(self.env.get(vendor.base_url_variable)?).ok()?;
        let own = vendor.base_url.and_then(|own| Address::parse(own).ok());
        if own.is_some_and(|own| own.origin() == address.origin()) {
            return None;
        }
        Some(Elsewhere {
            provider: vendor.name,
            address: address.origin(),
            variable: vendor.base_url_variable,
            file: self.files.get(vendor.name).cloned(),
            open: address.is_open(),
        })
    }

    /// A provider that uses this model for every request.
    pub fn resolve(&self, provider: &str, model: &str) -> Result<Arc<dyn ModelProvider>, ModelError> {
        let inner = self.provider(provider)?;
        Ok(Arc::new(Fixed { inner, provider: provider.into(), model: model.into() }))
    }

    /// A provider that uses the model that each request names. A request without a provider is a setup error.
    pub fn by_name(&self) -> Arc<dyn ModelProvider> {
        Arc::new(ByName(self.clone()))
    }

    fn provider(&self, provider: &str) -> Result<Arc<dyn ModelProvider>, ModelError> {
        self.connect(&self.ready(provider)?)
    }

    /// Like [`Self::by_name`], with fallback models for some steps.
    pub fn by_step(&self, others: Fallbacks) -> Arc<dyn ModelProvider> {
        if others.is_empty() { self.by_name() } else { Arc::new(fallback::ByStep { registry: self.clone(), others }) }
    }

    /// Why a provider cannot be called.
    pub fn problem(&self, provider: &str) -> Option<String> {
        self.ready(provider).err().map(|error| error.message)
    }

    /// The provider, or why it cannot be called.
    fn ready(&self, provider: &str) -> Result<Vendor, ModelError> {
        let setup = |message: String| ModelError::new(ModelErrorKind::Setup, message);
        match (self.availability(provider), self.vendor(provider)) {
            (Availability::Ready, Some(vendor)) => Ok(vendor),
            (Availability::NoKey { variable, or: None }, _) => {
                Err(setup(format!("`{provider}` needs `{variable}` in the environment")))
            }
            (Availability::NoKey { variable, or: Some(other) }, _) => {
                Err(setup(format!("`{provider}` needs `{variable}` or `{other}` in the environment")))
            }
            (Availability::BadAddress { variable, why }, _) => Err(setup(format!("`{variable}` {why}"))),
            _ => Err(setup(unknown(provider, self.names()))),
        }
    }

    #[cfg(feature = "http")]
    fn connect(&self, vendor: &Vendor) -> Result<Arc<dyn ModelProvider>, ModelError> {
        Ok(Arc::new(self.http(vendor)?))
    }

    #[cfg(feature = "http")]
    fn http(&self, vendor: &Vendor) -> Result<crate::http::HttpModel, ModelError> {
        let read = |variable: &str| self.env.get(variable).map(String::as_str);
        let base = read(vendor.base_url_variable).or(vendor.base_url).unwrap_or("");
        let key = read(vendor.key_variable).and_then(Credential::new);
        let endpoint = crate::http::endpoint(vendor.name, self.protocol(vendor), base, key)?;
        let client = match self.client.get() {
            Some(client) => client.clone(),
            None => {
                let client = crate::http::Client::through(crate::http::proxy::proxies(&self.env)?)?;
                self.client.get_or_init(|| client).clone()
            }
        };
        Ok(crate::http::HttpModel::new(client, endpoint).limits(self.limits))
    }

    #[cfg(not(feature = "http"))]
    fn connect(&self, vendor: &Vendor) -> Result<Arc<dyn ModelProvider>, ModelError> {
        let key = self.env.get(vendor.key_variable).and_then(|k| Credential::new(k));
        let tail = if key.is_some() { "" } else { " client" };
        let message = format!("`{}` cannot be called, because this build has no HTTP{tail}", vendor.name);
        Err(ModelError::new(ModelErrorKind::Setup, message))
    }
}

/// The message for an unknown provider.
pub(crate) fn unknown<'n>(provider: &str, names: impl Iterator<Item = &'n str>) -> String {
    match suggest::nearest(provider, names) {
        Some(near) => format!("unknown provider `{provider}`; did you mean `{near}`?"),
        None => format!("unknown provider `{provider}`"),
    }
}

/// Uses one model for every request.
struct Fixed {
    inner: Arc<dyn ModelProvider>,
    provider: Arc<str>,
    model: Arc<str>,
}

impl Fixed {
    fn aimed(&self, request: &ModelRequest) -> ModelRequest {
        ModelRequest { provider: Some(self.provider.clone()), model: self.model.clone(), ..request.clone() }
    }
}

#[async_trait]
impl ModelProvider for Fixed {
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.inner.call(at, &self.aimed(request), delta).await
    }

    async fn admit(&self, step: StepId, request: &ModelRequest, tell: &(dyn Fn(CallPause) + Send + Sync)) -> Admission {
        self.inner.admit(step, &self.aimed(request), tell).await
    }

    fn pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        self.inner.pause(step, &self.aimed(request))
    }

    fn label(&self, request: &ModelRequest) -> String {
        self.inner.label(&self.aimed(request))
    }
}

/// Uses the model that each request names.
struct ByName(Registry);

impl ByName {
    fn named(&self, request: &ModelRequest) -> Option<Arc<dyn ModelProvider>> {
        self.0.provider(request.provider.as_deref()?).ok()
    }
}

#[async_trait]
impl ModelProvider for ByName {
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let Some(provider) = &request.provider else {
            let message = format!("`{}` is an alias without a provider", request.model);
            return Err(ModelError::new(ModelErrorKind::Setup, message));
        };
        self.0.provider(provider)?.call(at, request, delta).await
    }

    async fn admit(&self, step: StepId, request: &ModelRequest, tell: &(dyn Fn(CallPause) + Send + Sync)) -> Admission {
        match self.named(request) {
            Some(provider) => provider.admit(step, request, tell).await,
            // The call fails without a request.
            None => Admission::default(),
        }
    }

    fn pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        self.named(request)?.pause(step, request)
    }

    fn label(&self, request: &ModelRequest) -> String {
        match &request.provider {
            Some(provider) => format!("{provider}:{}", request.model),
            None => request.model.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn registry(env: &[(&str, &str)]) -> Registry {
        Registry::new(env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
    }

    #[test]
    fn a_key_makes_a_provider_available_and_an_empty_one_does_not() {
        let with = registry(&[("OPENAI_API_KEY", "sk"), ("ANTHROPIC_API_KEY", " ")]);
        assert_eq!(with.availability("openai"), Availability::Ready);
        assert_eq!(with.availability("anthropic"), Availability::NoKey { variable: "ANTHROPIC_API_KEY", or: None });
        assert_eq!(with.availability("gpt"), Availability::Unknown);
    }

    #[test]
    fn a_local_server_is_meant_where_it_is_named() {
        let ollama = |env: &[(&str, &str)]| registry(env).availability("ollama");
        assert_eq!(ollama(&[("OLLAMA_BASE_URL", "http://h:1")]), Availability::Ready);
        assert_eq!(ollama(&[("OLLAMA_API_KEY", "k")]), Availability::Ready);
        assert!(matches!(ollama(&[]), Availability::NoKey { or: Some("OLLAMA_BASE_URL"), .. }));
        let any = |env: &[(&str, &str)]| registry(env).availability("openai-compatible");
        assert_eq!(any(&[("OPENAI_COMPATIBLE_BASE_URL", "http://h:1")]), Availability::Ready);
        assert!(matches!(any(&[("OPENAI_COMPATIBLE_API_KEY", "k")]), Availability::NoKey { .. }));
    }

    #[test]
    fn each_reason_not_to_call_has_its_message() {
        let registry = registry(&[("AZURE_OPENAI_BASE_URL", "https://x.openai.azure.com")]);
        let message = |provider: &str| registry.resolve(provider, "m").err().map(|e| e.message).unwrap();
        assert_eq!(message("azure"), "`azure` needs `AZURE_OPENAI_API_KEY` in the environment");
        assert_eq!(message("openai"), "`openai` needs `OPENAI_API_KEY` in the environment");
        assert_eq!(message("ollama"), "`ollama` needs `OLLAMA_API_KEY` or `OLLAMA_BASE_URL` in the environment");
        expect!["unknown provider `opnai`; did you mean `openai`?"].assert_eq(&message("opnai"));
    }
}
