//! Code actions and commands.

use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, Notification};
use serde_json::{Value, json};
use trefoil_syntax::{Diagnostic, FindingSeverity, Span};

use super::LspRequestError;
use crate::server::converter::ProtocolConverter;
use crate::server::position::LineIndex;
use crate::server::session::{EditorSession, RequestPosition};
use crate::{code_action, creation, lens, rename};
use trefoil::Engine;
use trefoil::plan::Plan;
use trefoil_host::command::PrintedCommand;
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::target::LoadTarget;

pub fn code_actions(
    session: &mut EditorSession,
    params: lsp::CodeActionParams,
) -> Result<Option<Vec<lsp::CodeAction>>, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(None) };
    let lines = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding());
    let span = Span::new(lines.offset_at(params.range.start), lines.offset_at(params.range.end));
    let only = params.context.only.as_deref();
    let by_itself = params.context.trigger_kind == Some(lsp::CodeActionTriggerKind::Automatic) && only.is_none();
    let mut out = Vec::new();
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    for action in code_action::list_actions(&place.analysis, place.file, span) {
        let kind = match action.kind {
            code_action::ActionKind::Quick => lsp::CodeActionKind::QuickFix,
            code_action::ActionKind::All => lsp::CodeActionKind::SourceFixAll,
        };
        if !is_wanted(only, &kind) {
            continue;
        }
        let edits = match action.kind {
            code_action::ActionKind::Quick => action.edits,
            // Moving the cursor requests actions automatically, and testing the fixes takes as long as a check.
            code_action::ActionKind::All if by_itself => continue,
            code_action::ActionKind::All => code_action::proven_edits(&place.analysis, place.file, &mut |edits| {
                let text = rename::apply_edits(place.analysis.file_text(place.file), edits);
                let (analysis, _) = session.workspace.analysis_with(&place.path, &text)?;
                Some(analysis)
            }),
        };
        if edits.is_empty() {
            continue;
        }
        let Some(edit) = converter.convert_edits(&edits) else { continue };
        out.push(lsp::CodeAction {
            title: action.title,
            kind: Some(kind),
            diagnostics: action.diagnostic.map(|d| vec![converter.convert_diagnostic(d)]),
            is_preferred: if action.preferred { Some(true) } else { None },
            edit: Some(edit),
            ..Default::default()
        });
    }
    if is_wanted(only, &lsp::CodeActionKind::QuickFix) {
        for made in creation::list_creations(&place.analysis, place.file, span) {
            // Actions with new files are offered only to clients that can create files.
            if (made.files.is_empty() || session.creates)
                && let Some(edit) = converter.convert_creation(&made)
            {
                out.push(lsp::CodeAction {
                    title: made.title,
                    kind: Some(lsp::CodeActionKind::QuickFix),
                    edit: Some(edit),
                    ..Default::default()
                });
            }
        }
    }
    Ok(Some(out))
}

/// Whether a client that asks for `only` these kinds of actions wants those of a kind.
fn is_wanted(only: Option<&[lsp::CodeActionKind]>, kind: &lsp::CodeActionKind) -> bool {
    let Some(only) = only else { return true };
    let kind = String::from(kind.clone());
    for wanted in only {
        let wanted = String::from(wanted.clone());
        if wanted.is_empty() || kind == wanted || kind.starts_with(&format!("{wanted}.")) {
            return true;
        }
    }
    false
}

/// The commands of lenses, for a client without its own: the plan, or how to start a run, is shown as a message.
/// Nothing is run here.
pub fn execute_command(
    session: &mut EditorSession,
    params: lsp::ExecuteCommandParams,
) -> Result<Value, LspRequestError> {
    let Some(action) = lens::LensAction::ALL.into_iter().find(|action| action.command_name() == params.command) else {
        return Err(LspRequestError::new(ErrorCode::InvalidParams, format!("unknown command `{}`", params.command)));
    };
    let arguments = params.arguments.as_deref().unwrap_or_default();
    let Some(place) = command_document(session, arguments) else {
        return Err(LspRequestError::new(ErrorCode::InvalidParams, "the argument must be the URI of an open file"));
    };
    let path = place.path.to_string_lossy().into_owned();
    let text = match action {
        lens::LensAction::Run => session.last_runs.store_options().render_command(PrintedCommand::Run(&path)),
        lens::LensAction::Dev => session.last_runs.store_options().render_command(PrintedCommand::Dev(&path)),
        lens::LensAction::Resume => match session.last_run(&place) {
            Some(last) => last.resume_command(&place.path),
            None => return Err(LspRequestError::new(ErrorCode::RequestFailed, "there is no stored run of this file")),
        },
        lens::LensAction::Why => {
            let supplied =
                trefoil_project::settings::find_settings(&place.path, false).settings.supplied_declarations();
            let options = LoadOptions { overlay: session.workspace.text_overlay(), supplied, ..LoadOptions::default() };
            let names = lens::flow_names(&place.analysis, place.file);
            let explanation = session.last_runs.explain_edit(&place.path, names, options);
            explanation.map_err(|why| LspRequestError::new(ErrorCode::RequestFailed, why))?
        }
        lens::LensAction::Plan => render_plan(session, &place)?,
    };
    let message = json!({ "type": 3, "message": &text });
    session.outgoing.push(Notification::new("window/showMessage".to_owned(), message).into());
    Ok(text.into())
}

/// The document that the first argument of a command names.
fn command_document(session: &mut EditorSession, arguments: &[Value]) -> Option<RequestPosition> {
    let uri = arguments.first()?.as_str()?;
    session.find_document(&lsp::Uri(uri.to_owned()))
}

/// The plan of a file with unsaved changes.
fn render_plan(session: &EditorSession, place: &RequestPosition) -> Result<String, LspRequestError> {
    let options = LoadOptions {
        checks: None::<CheckOptions>,
        overlay: session.workspace.text_overlay(),
        ..LoadOptions::default()
    };
    let target = LoadTarget { path: place.path.clone(), id: None };
    let loaded = match trefoil_project::load::load_target(&target, &options) {
        Ok(loaded) => loaded,
        Err(report) => {
            let is_error = |d: &&Diagnostic| d.severity == FindingSeverity::Error;
            let errors = report.diagnostics.iter().filter(is_error).count();
            let message = format!("no plan, because the file does not load ({errors} errors)");
            return Err(LspRequestError::new(ErrorCode::RequestFailed, message));
        }
    };
    let settings = trefoil_project::settings::find_settings(&place.path, false).settings;
    let called = Engine::new().settings(settings).callable_flows(&loaded.program);
    Ok(Plan::with_flows(&loaded.program, &loaded.files, &called).render_text())
}
