//! The formats, each with a flow whose step has an effect, perhaps after a question.

use crate::world::Folder;

/// A format.
pub struct Format {
    pub name: &'static str,
    /// The flow, with the names of its step and of its question.
    flow: fn(step: &str, question: Option<&str>) -> String,
    config: &'static str,
    /// The kind of the step in the journal.
    pub sort: &'static str,
    /// The step that a person answers: the question itself, or a step of the flow that it calls.
    pub asks: &'static str,
}

/// The effect: a line in the file `done`. It fails while `broken` exists, and lasts while `hold` exists, so that a process can be
/// killed in the middle of it.
const EFFECT: &str = "[ -e broken ] && exit 1\necho paid >>done\nwhile [ -e hold ]; do sleep 0.01; done\nprintf paid\n";

const SHOP: &str = "\
import os, time

def pay():
    if os.path.exists('broken'):
        raise RuntimeError('broken')
    with open('done', 'a') as done:
        done.write('paid\\n')
    while os.path.exists('hold'):
        time.sleep(0.01)
    return 'paid'
";

/// An agntz flow asks people only through the flows that it calls.
const CONFIRM: &str = "\
version: \"0.1\"
agents: {}
input: { message: go }
nodes:
  approve: { type: human, prompt: \"Pay?\", writes: output.approved }
";

pub const FORMATS: &[Format] = &[
    Format {
        name: "agntz",
        flow: |step, question| {
            let tool = |id: &str, name: &str| {
                format!("  - agent: {{ id: {id}, kind: tool, name: {name}, tool: {{ kind: local, name: {name} }} }}\n")
            };
            let question = question.map(|question| tool(question, "confirm")).unwrap_or_default();
            format!("id: flow\nkind: sequential\nsteps:\n{question}{}", tool(step, "pay"))
        },
        config: "[tools.pay]\nfolder = \"..\"\ncommand = [\"sh\", \"pay.sh\"]\n[tools.confirm]\nflow = \"../confirm.yaml\"\n",
        sort: "tool",
        asks: "approve",
    },
    Format {
        name: "AEGIS",
        flow: |step, question| {
            let asks = question.map(|question| {
                let then = format!("[{{ condition: input_equals_yes, target: {step} }}]");
                format!("    {question}: {{ kind: Human, prompt: \"Pay?\", transitions: {then} }}\n")
            });
            format!(
                "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  initial_state: {}\n  states:\n\
                 {}    {step}: {{ kind: System, command: \"sh pay.sh\" }}\n",
                question.unwrap_or(step),
                asks.unwrap_or_default()
            )
        },
        config: "",
        sort: "command",
        asks: "ASK",
    },
    Format {
        name: "SirenSpec",
        flow: |step, question| {
            let asks = question
                .map(|question| format!("  {question}: {{ type: human, prompt: \"Pay?\", writes: output.asked }}\n"));
            let edges = question.map(|question| format!("edges:\n  - {{ from: {question}, to: {step} }}\n"));
            format!(
                "version: \"0.1\"\nagents: {{}}\ninput: {{ message: go }}\nnodes:\n{}  {step}: {{ type: tool, tool: python, config: {{ module: shop, function: pay }}, \
                 output_key: paid }}\n{}",
                asks.unwrap_or_default(),
                edges.unwrap_or_default()
            )
        },
        config: "[python]\npath = [\"..\"]\n",
        sort: "tool",
        asks: "ASK",
    },
];

impl Format {
    /// Writes the flow, and the same with other names. `asks`: with a question before the effect.
    pub fn put(&self, folder: &Folder, asks: bool) {
        folder.write("flow.yaml", (self.flow)("PAY", asks.then_some("ASK")));
        folder.write("renamed.yaml", (self.flow)("SEND", asks.then_some("QUERY")));
        folder.write("config/config.toml", self.config);
        folder.write("pay.sh", EFFECT).write("shop.py", SHOP).write("confirm.yaml", CONFIRM);
    }
}
