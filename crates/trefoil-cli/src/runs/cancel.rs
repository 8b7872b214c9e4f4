//! `trefoil runs cancel RUN`

use clap::Args;
use trefoil::store::{Letter, LetterKind, Store as _, StoreError};
use trefoil_host::durable::cancel;
use trefoil_template::Value;

use crate::args::StoreArgs;
use crate::refusal::refuse_store;
use crate::store::{await_store, block_on, full_id};
use crate::{exit, output};

/// Stop a run permanently
#[derive(Args)]
pub struct Cancel {
    /// The run's id, its first characters, or `last`
    run: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &Cancel) -> Result<u8, u8> {
    let store = args.store.change()?;
    let run = await_store(full_id(&*store, &args.run))?;
    let record = await_store(store.record(&run))?;
    if record.status.is_end() {
        return Err(refuse_store(&StoreError::Ended { run }));
    }
    match block_on(cancel(store.clone(), &run))? {
        Ok(_) => output::note(format!("cancelled {run}")),
        // Another process works on the run and must stop it.
        Err(StoreError::Held { owner, .. }) => {
            let letter = Letter {
                kind: LetterKind::Cancel,
                key: String::new(),
                value: Value::Null,
                at: store.clock().wall_ms(),
                as_of: 0,
            };
            await_store(store.post(&run, letter))?;
            output::note(format!("asked the process that is running {run} ({owner}) to stop"));
        }
        Err(error) => return Err(refuse_store(&error)),
    }
    Ok(exit::OK)
}
