//! `trefoil lsp`: the language server, on standard input and output.

use clap::Args;

/// Run the language server for editors, on standard input and output
#[derive(Args)]
pub struct LspCommandArgs {
    /// Accepted for compatibility with editors; there is no other transport
    #[arg(long, hide = true)]
    stdio: bool,
}

/// The exit code of the protocol: 0 after `shutdown` and `exit`, otherwise 1.
pub fn run(args: &LspCommandArgs) -> u8 {
    let LspCommandArgs { stdio: _ } = args;
    trefoil_lsp::server::run()
}
