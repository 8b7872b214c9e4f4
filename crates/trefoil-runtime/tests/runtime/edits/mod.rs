//! Edits of programs: a run of the edited program reuses results of the run before it, and does nothing twice unasked. (Random edits
//! of random programs are in the tests of the coordinator.)

mod acts;
mod budgets;
mod directed;
