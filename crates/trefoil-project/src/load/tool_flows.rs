//! What a check knows of the flows that are tools of a project.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_check::semantic::call_bounds::CallBounds;
use trefoil_ir::Program;
use trefoil_ir::types::ValueType;
use trefoil_syntax::SourceFiles;
use trefoil_template::Value;

/// What one call of each tool does that is a flow.
pub(super) type CallsOfTools = BTreeMap<Arc<str>, CallBounds>;

/// A flow that is a tool, as a check has to know it.
pub(super) struct FlowOfTool {
    /// The JSON Schema of what it takes.
    pub parameters: Value,
    /// The type of what it returns.
    pub result: Option<ValueType>,
    /// Its program.
    pub program: Arc<Program>,
    /// Its files.
    pub files: SourceFiles,
}
