//! The report of a panic: its location and a backtrace. The message of a panic may quote text such as a prompt with
//! environment values, so it is printed only if it is constant.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// Replaces the panic report of the standard library.
pub fn report_without_values() {
    std::panic::set_hook(Box::new(|panic| {
        // A failure to write to stderr cannot be reported.
        crate::output::print_part(report(panic, &Backtrace::capture()));
    }));
}

fn report(panic: &PanicHookInfo<'_>, trace: &Backtrace) -> String {
    let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let constant = panic.payload().downcast_ref::<&'static str>();
    let why = constant.copied().unwrap_or("the message is not shown, because it may contain values of the run");
    let how = match trace.status() {
        BacktraceStatus::Captured => format!("stack backtrace:\n{trace}"),
        _ => "set `RUST_BACKTRACE=1` for a backtrace\n".to_owned(),
    };
    format!("error: trefoil has a bug: it panicked at {place}: {why}\n{how}")
}

/// Adds a tool that panics with its arguments, to test the report. Only in debug builds.
#[cfg(debug_assertions)]
pub fn with_panicking_tool(engine: trefoil_host::engine::Engine) -> trefoil_host::engine::Engine {
    let Some(how) = std::env::var_os("TREFOIL_PANIC") else { return engine };
    let slice = how == "slice";
    engine.tool("panics", move |sent: serde_json::Value| async move {
        let text = sent.to_string();
        // Panics as a bug would: the message quotes the text.
        let cut = if slice { text.find(|c: char| !c.is_ascii()).map_or(0, |at| at + 1) } else { 0 };
        let (_, rest) = text.split_at(cut);
        #[allow(clippy::panic, reason = "what it is for")]
        if true {
            panic!("{rest}")
        }
        Ok(())
    })
}
