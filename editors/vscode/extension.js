// Starts `trefoil lsp` for YAML files. Everything else is the server's.

"use strict";

const { ShellExecution, Task, TaskScope, Uri, commands, tasks, window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

const program = () => workspace.getConfiguration("trefoil").get("path") || "trefoil";
// The store of the terminal and of the server; empty: the user's.
const store = () => workspace.getConfiguration("trefoil").get("store") || "";

// The commands of the code lenses. They are run in a terminal, where a person sees them and can answer.
const VERBS = ["run", "plan", "dev", "resume"];

// Saves the YAML documents of a file's folder: a flow also reads the files that it calls. Returns whether all are saved.
async function saveAll(file) {
  const folder = workspace.getWorkspaceFolder(file)?.uri.toString();
  const isPart = ({ uri, languageId }) =>
    uri.scheme === "file" && languageId === "yaml" && workspace.getWorkspaceFolder(uri)?.uri.toString() === folder;
  const unsaved = workspace.textDocuments.filter((document) => document.isDirty && isPart(document));
  const saved = await Promise.all(unsaved.map((document) => document.save()));
  return saved.every(Boolean);
}

function carryOut(verb) {
  // `run`: the id of the run that is continued with the edited files, `target`: what it started with, `command`: all of it.
  return async (uri, run, target, command) => {
    const file = uri ? Uri.parse(uri) : window.activeTextEditor?.document.uri;
    if (file?.scheme !== "file") {
      window.showWarningMessage("Trefoil: save the file first.");
      return;
    }
    if (!(await saveAll(file))) {
      window.showWarningMessage("Trefoil: not all files were saved.");
      return;
    }
    const value = verb === "resume" && target ? target : file.fsPath;
    const quoted = { value, quoting: 2 };
    if (verb === "resume" && !run) {
      window.showWarningMessage("Trefoil: there is no stored run of this file.");
      return;
    }
    if (verb === "resume" && command) {
      // A store grants nothing: a person sees what the run would be allowed, and presses Enter.
      const env = store() ? { TREFOIL_STORE: store() } : {};
      const terminal = window.createTerminal({ name: `resume ${run}`, cwd: workspace.getWorkspaceFolder(file)?.uri, env });
      terminal.show();
      terminal.sendText(program() === "trefoil" ? command : command.replace(/^trefoil/, `'${program()}'`), false);
      return;
    }
    const args = verb === "resume" ? [verb, run, "--with", quoted] : [verb, quoted];
    const env = store() ? { TREFOIL_STORE: store() } : {};
    const execution = new ShellExecution({ value: program(), quoting: 2 }, args, { env });
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
  const options = {
    documentSelector: schemes.map((scheme) => ({ scheme, language: "yaml" })),
    initializationOptions: {
      lastRun: workspace.getConfiguration("trefoil").get("lastRun") !== false,
      ...(store() && { store: store() }),
    },
  };
  client = new LanguageClient("trefoil", "Trefoil", { run, debug: run }, options);
  client.registerFeature(withCommands);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const chosen = await window.showErrorMessage(
      `Trefoil: \`${command} lsp\` did not start (${error.message ?? error}). Is it installed?`,
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
      if (["path", "lastRun", "store"].some((name) => change.affectsConfiguration(`trefoil.${name}`))) {
        await restart();
      }
    })
  );
  await start();
}

module.exports = { activate, deactivate: stop };
