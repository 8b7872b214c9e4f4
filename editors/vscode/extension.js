// Starts `trefoil lsp` for YAML files. Everything else is the server's.

"use strict";

const { ShellExecution, Task, TaskScope, Uri, commands, tasks, window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

const program = () => workspace.getConfiguration("trefoil").get("path") || "trefoil";

// The commands of the code lenses. They are run in a terminal, where a person sees them and can answer.
const VERBS = ["run", "plan"];

function carryOut(verb) {
  return async (uri) => {
    const file = uri ? Uri.parse(uri) : window.activeTextEditor?.document.uri;
    if (file?.scheme !== "file") {
      window.showWarningMessage("Trefoil: save the file first.");
      return;
    }
    await workspace.save(file);
    const quoted = { value: file.fsPath, quoting: 2 };
    const execution = new ShellExecution({ value: program(), quoting: 2 }, [verb, quoted]);
    const scope = workspace.getWorkspaceFolder(file) ?? TaskScope.Workspace;
    const task = new Task({ type: "trefoil", verb }, scope, `${verb} ${file.path.split("/").pop()}`, "trefoil", execution);
    await tasks.executeTask(task);
  };
}

// Tells the server which commands there are.
const withCommands = {
  fillClientCapabilities: (capabilities) => {
    const names = VERBS.map((verb) => `trefoil.${verb}`);
    capabilities.experimental = { ...capabilities.experimental, commands: { commands: names } };
  },
  initialize: () => {},
  getState: () => ({ kind: "static" }),
  clear: () => {},
};

async function start() {
  const command = program();
  const run = { command, args: ["lsp"], transport: TransportKind.stdio };
  const schemes = ["file", "untitled"];
  const options = { documentSelector: schemes.map((scheme) => ({ scheme, language: "yaml" })) };
  client = new LanguageClient("trefoil", "Trefoil", { run, debug: run }, options);
  client.registerFeature(withCommands);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const chosen = await window.showErrorMessage(
      `Trefoil: \`${command} lsp\` could not be started (${error.message ?? error}). Is it installed?`,
      "Open settings"
    );
    if (chosen) {
      await commands.executeCommand("workbench.action.openSettings", "trefoil.path");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    commands.registerCommand("trefoil.restart", restart),
    ...VERBS.map((verb) => commands.registerCommand(`trefoil.${verb}`, carryOut(verb))),
    workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("trefoil.path")) {
        await restart();
      }
    })
  );
  await start();
}

module.exports = { activate, deactivate: stop };
