//! placeholder
/// x
pub struct Scripted;
/// x
pub struct ScriptError;
