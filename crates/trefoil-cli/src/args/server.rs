//! The server whose runs a command is about.

use clap::Args;

use super::StoreArgs;

/// The variable with the address of a server.
pub const SERVER: &str = "TREFOIL_SERVER";

/// `--server`
#[derive(Args)]
pub struct ServerArg {
    /// Server that runs the flows and keeps the runs (`trefoil serve`): `https://HOST` (default: `$TREFOIL_SERVER`; its key is in
    /// `$TREFOIL_API_KEY`)
    #[arg(long = "server", value_name = "URL")]
    server: Option<String>,
}

impl ServerArg {
    /// The address, if the command is about a server. A store that is named on the command line counts more than the variable.
    pub fn chosen_address(&self, store: &StoreArgs) -> Option<String> {
        if self.server.is_some() || store.is_named() {
            return self.server.clone();
        }
        server_of_environment()
    }
}

/// The server of the environment.
pub fn server_of_environment() -> Option<String> {
    match std::env::var(SERVER) {
        Ok(address) if !address.is_empty() => Some(address),
        _ => None,
    }
}
