// Starts `trefoil lsp` for YAML files. Everything else is the server's.

"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function start() {
  const command = workspace.getConfiguration("trefoil").get("path") || "trefoil";
  const run = { command, args: ["lsp"], transport: TransportKind.stdio };
  const schemes = ["file", "untitled"];
  const options = { documentSelector: schemes.map((scheme) => ({ scheme, language: "yaml" })) };
  client = new LanguageClient("trefoil", "Trefoil", { run, debug: run }, options);
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
    workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("trefoil.path")) {
        await restart();
      }
    })
  );
  await start();
}

module.exports = { activate, deactivate: stop };
