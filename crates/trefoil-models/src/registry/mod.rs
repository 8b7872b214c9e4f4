//! The providers that can be called according to a snapshot of the environment, and access to them.
//!
//! Addresses and keys come only from the operator's environment and settings, never from a manifest. Only
//! [`Registry::from_env`] reads the process's environment.

mod configuration;
mod fallback;
#[cfg(feature = "http")]
mod probe;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::StepId;
use trefoil_runtime::{
    ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest,
    ports::{CallAdmission, CallPause, CallSite, Secret},
};
use trefoil_syntax::suggestions;

use crate::address::{AddressError, ProviderAddress};
use crate::credential::ProviderCredential;
use crate::limits::ModelTimeLimits;
use crate::vendors::{VENDORS, Vendor, VendorApi, VendorProtocol, declare_vendor, find_vendor};

pub use configuration::{AddressSource, ProviderConfiguration};
pub use fallback::{ModelName, StepFallbacks};
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
    apis: Arc<HashMap<&'static str, VendorApi>>,
    /// The providers that the operator declares.
    declared: Arc<Vec<Vendor>>,
    /// Whether every provider counts as configured.
    to_read: bool,
    limits: ModelTimeLimits,
    #[cfg(feature = "http")]
    client: Arc<std::sync::OnceLock<crate::http::ModelHttpClient>>,
}

/// An address that is not the vendor's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonDefaultAddress {
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

impl std::fmt::Display for NonDefaultAddress {
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
pub enum ProviderAvailability {
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
        let mut env = Vec::new();
        for vendor in VENDORS {
            let base = vendor.base_url.unwrap_or("https://localhost");
            env.push((vendor.key_variable.to_owned(), "unused".to_owned()));
            env.push((vendor.base_url_variable.to_owned(), base.to_owned()));
        }
        Self { to_read: true, ..Self::new(env) }
    }

    /// Creates a registry from the current variables of this process.
    pub fn from_env() -> Self {
        Self::new(std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))))
    }

    /// Sets the operator's time limits.
    #[must_use]
    pub fn with_limits(self, limits: ModelTimeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets a provider's address from a file of the operator. The environment takes precedence.
    #[must_use]
    pub fn with_address(mut self, provider: &str, base_url: &str, file: &str) -> Self {
        if let Some(vendor) = find_vendor(provider)
            && !self.env.contains_key(vendor.base_url_variable)
        {
            Arc::make_mut(&mut self.env).insert(vendor.base_url_variable.to_owned(), base_url.to_owned());
            Arc::make_mut(&mut self.files).insert(vendor.name, file.into());
        }
        self
    }

    /// Selects the API for a provider. Has no effect if the provider has only one.
    #[must_use]
    pub fn with_api(mut self, provider: &str, api: VendorApi) -> Self {
        if let Some(vendor) = self.vendor(provider)
            && vendor.protocol.with_api(api).is_some()
        {
            Arc::make_mut(&mut self.apis).insert(vendor.name, api);
        }
        self
    }

    /// Adds an OpenAI-compatible provider from a file of the operator. `key_variable`: the variable of its key; without
    /// one it gets no key. A known provider is not changed; a declared one is replaced.
    #[must_use]
    pub fn with_provider(mut self, name: &str, base_url: &str, key_variable: Option<&str>, file: &str) -> Self {
        if find_vendor(name).is_some() {
            return self;
        }
        let own = declare_vendor(name, key_variable);
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
    pub fn provider_names(&self) -> impl Iterator<Item = &'static str> {
        self.vendors().map(|vendor| vendor.name)
    }

    fn protocol(&self, vendor: &Vendor) -> VendorProtocol {
        if let Some(api) = self.apis.get(vendor.name)
            && let Some(chosen) = vendor.protocol.with_api(*api)
        {
            return chosen;
        }
        if let Some(text) = self.env.get(vendor.base_url_variable)
            && let Ok(address) = ProviderAddress::parse(text)
        {
            return vendor.protocol.for_address(&address);
        }
        vendor.protocol
    }

    /// The names of the known providers, available or not.
    pub fn known_providers() -> impl Iterator<Item = &'static str> {
        VENDORS.iter().map(|v| v.name)
    }

    /// Whether this provider can be called.
    pub fn provider_availability(&self, provider: &str) -> ProviderAvailability {
        let Some(vendor) = self.vendor(provider) else { return ProviderAvailability::Unknown };
        let set = |variable: &str| self.env.contains_key(variable);
        let addressed = set(vendor.base_url_variable);
        if let Some(text) = self.env.get(vendor.base_url_variable)
            && let Err(why) = vendor.parse_address(text)
        {
            return ProviderAvailability::BadAddress { variable: vendor.base_url_variable, why };
        }
        // A provider without a default address needs one, even if its key is set.
        let ready = match vendor.base_url {
            Some(_) => set(vendor.key_variable) || (vendor.key_optional && addressed),
            None => addressed && (vendor.key_optional || set(vendor.key_variable)),
        };
        if ready {
            ProviderAvailability::Ready
        } else if vendor.base_url.is_none() && !addressed {
            ProviderAvailability::NoKey { variable: vendor.base_url_variable, or: None }
        } else {
            let or = if vendor.key_optional { Some(vendor.base_url_variable) } else { None };
            ProviderAvailability::NoKey { variable: vendor.key_variable, or }
        }
    }

    /// The keys of all providers. Short ones are placeholders (`ollama`, `none`) that also occur in ordinary text, so
    /// they are not included.
    pub fn keys(&self) -> Vec<Secret> {
        let mut keys = Vec::new();
        for vendor in self.vendors() {
            let Some(key) = self.env.get(vendor.key_variable) else { continue };
            if key.trim().len() >= SHORTEST_KEY {
                keys.extend(Secret::new(key.trim()));
            }
        }
        keys
    }

    /// Whether any provider has a key or an address, even if this version cannot call it. Then the user wants real
    /// answers, and placeholders must be requested explicitly.
    pub fn is_configured(&self) -> bool {
        self.vendors().any(|v| self.env.contains_key(v.key_variable) || self.env.contains_key(v.base_url_variable))
    }

    /// A provider's address if it is not the vendor's default: it receives the prompts and the key.
    pub fn non_default_address(&self, provider: &str) -> Option<NonDefaultAddress> {
        let vendor = self.vendor(provider)?;
        let address = ProviderAddress::parse(self.env.get(vendor.base_url_variable)?).ok()?;
        if let Some(base_url) = vendor.base_url
            && let Ok(default) = ProviderAddress::parse(base_url)
            && default.origin_text() == address.origin_text()
        {
            return None;
        }
        Some(NonDefaultAddress {
            provider: vendor.name,
            address: address.origin_text(),
            variable: vendor.base_url_variable,
            file: self.files.get(vendor.name).cloned(),
            open: address.is_open(),
        })
    }

    /// A provider that uses this model for every request.
    pub fn resolve_provider(&self, provider: &str, model: &str) -> Result<Arc<dyn ModelProvider>, ModelError> {
        let inner = self.provider(provider)?;
        Ok(Arc::new(FixedModelProvider { inner, provider: provider.into(), model: model.into() }))
    }

    /// A provider that uses the model that each request names. A request without a provider is a setup error.
    pub fn by_name(&self) -> Arc<dyn ModelProvider> {
        Arc::new(NamedModelProvider(self.clone()))
    }

    fn provider(&self, provider: &str) -> Result<Arc<dyn ModelProvider>, ModelError> {
        self.connect(&self.ready(provider)?)
    }

    /// Like [`Self::by_name`], with fallback models for some steps.
    pub fn by_step(&self, others: StepFallbacks) -> Arc<dyn ModelProvider> {
        if others.is_empty() {
            self.by_name()
        } else {
            Arc::new(fallback::StepFallbackProvider { registry: self.clone(), others })
        }
    }

    /// Why a provider cannot be called.
    pub fn provider_problem(&self, provider: &str) -> Option<String> {
        self.ready(provider).err().map(|error| error.message)
    }

    /// The provider, or why it cannot be called.
    fn ready(&self, provider: &str) -> Result<Vendor, ModelError> {
        let setup = |message: String| ModelError::new(ModelErrorKind::Setup, message);
        match (self.provider_availability(provider), self.vendor(provider)) {
            (ProviderAvailability::Ready, Some(vendor)) => Ok(vendor),
            (ProviderAvailability::NoKey { variable, or: None }, _) => {
                Err(setup(format!("`{provider}` needs `{variable}` in the environment")))
            }
            (ProviderAvailability::NoKey { variable, or: Some(other) }, _) => {
                Err(setup(format!("`{provider}` needs `{variable}` or `{other}` in the environment")))
            }
            (ProviderAvailability::BadAddress { variable, why }, _) => Err(setup(format!("`{variable}` {why}"))),
            _ => Err(setup(unknown_provider_message(provider, self.provider_names()))),
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
        let key = read(vendor.key_variable).and_then(ProviderCredential::new);
        let endpoint = crate::http::create_endpoint(vendor.name, self.protocol(vendor), base, key)?;
        let client = match self.client.get() {
            Some(client) => client.clone(),
            None => {
                let client = crate::http::ModelHttpClient::with_proxies(crate::http::proxy::read_proxies(&self.env)?)?;
                self.client.get_or_init(|| client).clone()
            }
        };
        Ok(crate::http::HttpModel::new(client, endpoint).with_limits(self.limits))
    }

    #[cfg(not(feature = "http"))]
    fn connect(&self, vendor: &Vendor) -> Result<Arc<dyn ModelProvider>, ModelError> {
        let key = self.env.get(vendor.key_variable).and_then(|k| ProviderCredential::new(k));
        let tail = if key.is_some() { "" } else { " client" };
        let message = format!("`{}` cannot be called, because this build has no HTTP{tail}", vendor.name);
        Err(ModelError::new(ModelErrorKind::Setup, message))
    }
}

/// The message for an unknown provider.
pub(crate) fn unknown_provider_message<'n>(provider: &str, names: impl Iterator<Item = &'n str>) -> String {
    match suggestions::nearest_name(provider, names) {
        Some(near) => format!("unknown provider `{provider}`; did you mean `{near}`?"),
        None => format!("unknown provider `{provider}`"),
    }
}

/// Uses one model for every request.
struct FixedModelProvider {
    inner: Arc<dyn ModelProvider>,
    provider: Arc<str>,
    model: Arc<str>,
}

impl FixedModelProvider {
    fn aim_request(&self, request: &ModelRequest) -> ModelRequest {
        ModelRequest { provider: Some(self.provider.clone()), model: self.model.clone(), ..request.clone() }
    }
}

#[async_trait]
impl ModelProvider for FixedModelProvider {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.inner.call_model(at, &self.aim_request(request), delta).await
    }

    async fn admit_call(
        &self,
        step: StepId,
        request: &ModelRequest,
        tell: &(dyn Fn(CallPause) + Send + Sync),
    ) -> CallAdmission {
        self.inner.admit_call(step, &self.aim_request(request), tell).await
    }

    fn call_pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        self.inner.call_pause(step, &self.aim_request(request))
    }

    fn label(&self, request: &ModelRequest) -> String {
        self.inner.label(&self.aim_request(request))
    }
}

/// Uses the model that each request names.
struct NamedModelProvider(Registry);

impl NamedModelProvider {
    fn find_provider(&self, request: &ModelRequest) -> Option<Arc<dyn ModelProvider>> {
        self.0.provider(request.provider.as_deref()?).ok()
    }
}

#[async_trait]
impl ModelProvider for NamedModelProvider {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let Some(provider) = &request.provider else {
            let message = format!("`{}` is an alias without a provider", request.model);
            return Err(ModelError::new(ModelErrorKind::Setup, message));
        };
        self.0.provider(provider)?.call_model(at, request, delta).await
    }

    async fn admit_call(
        &self,
        step: StepId,
        request: &ModelRequest,
        tell: &(dyn Fn(CallPause) + Send + Sync),
    ) -> CallAdmission {
        match self.find_provider(request) {
            Some(provider) => provider.admit_call(step, request, tell).await,
            // The call fails without a request.
            None => CallAdmission::default(),
        }
    }

    fn call_pause(&self, step: StepId, request: &ModelRequest) -> Option<CallPause> {
        self.find_provider(request)?.call_pause(step, request)
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
        assert_eq!(with.provider_availability("openai"), ProviderAvailability::Ready);
        assert_eq!(
            with.provider_availability("anthropic"),
            ProviderAvailability::NoKey { variable: "ANTHROPIC_API_KEY", or: None }
        );
        assert_eq!(with.provider_availability("gpt"), ProviderAvailability::Unknown);
    }

    #[test]
    fn a_local_server_is_meant_where_it_is_named() {
        let ollama = |env: &[(&str, &str)]| registry(env).provider_availability("ollama");
        assert_eq!(ollama(&[("OLLAMA_BASE_URL", "http://h:1")]), ProviderAvailability::Ready);
        assert_eq!(ollama(&[("OLLAMA_API_KEY", "k")]), ProviderAvailability::Ready);
        assert!(matches!(ollama(&[]), ProviderAvailability::NoKey { or: Some("OLLAMA_BASE_URL"), .. }));
        let any = |env: &[(&str, &str)]| registry(env).provider_availability("openai-compatible");
        assert_eq!(any(&[("OPENAI_COMPATIBLE_BASE_URL", "http://h:1")]), ProviderAvailability::Ready);
        assert!(matches!(any(&[("OPENAI_COMPATIBLE_API_KEY", "k")]), ProviderAvailability::NoKey { .. }));
    }

    #[test]
    fn each_reason_not_to_call_has_its_message() {
        let registry = registry(&[("AZURE_OPENAI_BASE_URL", "https://x.openai.azure.com")]);
        let message = |provider: &str| registry.resolve_provider(provider, "m").err().map(|e| e.message).unwrap();
        assert_eq!(message("azure"), "`azure` needs `AZURE_OPENAI_API_KEY` in the environment");
        assert_eq!(message("openai"), "`openai` needs `OPENAI_API_KEY` in the environment");
        assert_eq!(message("ollama"), "`ollama` needs `OLLAMA_API_KEY` or `OLLAMA_BASE_URL` in the environment");
        expect!["unknown provider `opnai`; did you mean `openai`?"].assert_eq(&message("opnai"));
    }
}
