//! `trefoil trace RUN --server URL`: the trace of a run as the server has it.

use serde_json::{Value as Json, json};
use trefoil_host::command::RunOptions;
use trefoil_host::durable::call_run_id;
use trefoil_machine::Key;

use super::client::ServerClient;
use super::run_events::read_error;
use super::run_lookup::find_detail;
use super::waits::{RemoteWait, next_commands, run_status};
use crate::store::block_on;

/// The traces of the runs of a server.
pub struct ServerTraces(ServerClient);

impl ServerTraces {
    /// Those of the server at this address. Nothing is sent.
    ///
    /// # Errors
    ///
    /// The exit code, after the address or the key was refused.
    pub fn for_address(address: &str) -> Result<Self, u8> {
        Ok(Self(ServerClient::for_address(address)?))
    }

    /// The options of commands about these runs.
    pub fn run_options(&self) -> &RunOptions {
        self.0.run_options()
    }

    /// The id of the run whose id starts with this text, or of the last one, and its trace.
    ///
    /// # Errors
    ///
    /// The exit code, after the reason was printed.
    pub fn read_trace(&self, start: &str) -> Result<(String, Json), u8> {
        block_on(self.request_trace(start))?
    }

    async fn request_trace(&self, start: &str) -> Result<(String, Json), u8> {
        let client = &self.0;
        let detail = find_detail(client, start).await?;
        let run = detail.summary.run.clone();
        let read = client.get_json(&["runs", &run, "trace"], &[]).await;
        let mut trace: Json = read.map_err(|failure| client.report_failure(&failure))?;
        let wait = RemoteWait::of_members(&detail.wait);
        let error = trace.get("error").or(trace.get("stopped")).map(read_error);
        let raise = error.and_then(|error| error.raise);
        let next = next_commands(&detail, &wait, raise, client.run_options());
        if let Some(members) = trace.as_object_mut() {
            if !run_status(&detail.summary).is_end() {
                members.insert("status".to_owned(), json!(detail.summary.status));
                members.extend(detail.wait);
            }
            if !next.is_empty() {
                members.insert("next".to_owned(), json!(next));
            }
        }
        Ok((run, trace))
    }

    /// The run that a call of a run has started. `None`: there is none, or its result was kept from another run.
    ///
    /// # Errors
    ///
    /// The exit code, after the reason was printed.
    pub fn run_of_call(&self, run: &str, key: &Key) -> Result<Option<String>, u8> {
        block_on(self.request_call(run, key))?
    }

    async fn request_call(&self, run: &str, key: &Key) -> Result<Option<String>, u8> {
        let mut found = None;
        for nth in 0u32.. {
            let id = call_run_id(run, key, nth);
            let read: Result<Json, _> = self.0.get_json(&["runs", &id], &[]).await;
            match read {
                Ok(_) => found = Some(id),
                Err(failure) if failure.problem_code() == "RUN_NOT_FOUND" => break,
                Err(failure) => return Err(self.0.report_failure(&failure)),
            }
        }
        Ok(found)
    }
}
