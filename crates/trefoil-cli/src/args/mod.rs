//! The arguments that several commands share.

mod host;
mod levels;
mod limits;
mod models;
#[cfg(feature = "server")]
mod server;
mod show;
mod store;
mod target;

pub use host::{HostArgs, PermissionArgs, UnknownArg};
pub use levels::LevelArgs;
pub use limits::{LimitArgs, SpecArgs, or_none, parse_dollars};
pub use models::ModelArgs;
#[cfg(feature = "server")]
pub use server::{SERVER, ServerArg, server_of_environment};
pub use show::{EventFormat, OutputFormat, ReportFormat, ShowArgs};
pub use store::{ContentArg, DurabilityArg, LabelArgs, StoreArgs, parse_label_arg};
#[cfg(feature = "mcp")]
pub use target::ReadArgs;
pub use target::{
    DialectArg, NamedDialect, OptionalTargetArgs, PathArgs, TargetArgs, TextArgs, dialect_names, parse_dialect,
};
