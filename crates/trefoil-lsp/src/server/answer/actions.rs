//! Code actions and commands.

use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, Notification};
use serde_json::{Value, json};
use trefoil_syntax::Span;

use super::LspRequestError;
use crate::server::converter::ProtocolConverter;
use crate::server::position::LineIndex;
use crate::server::session::EditorSession;
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
    let wanted = |kind: &str| {
        params.context.only.as_ref().is_none_or(|only| {
            only.iter()
                .map(|k| String::from(k.clone()))
                .any(|k| k.is_empty() || kind == k || kind.starts_with(&format!("{k}.")))
        })
    };
    let by_itself =
        params.context.trigger_kind == Some(lsp::CodeActionTriggerKind::Automatic) && params.context.only.is_none();
    let mut out = Vec::new();
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    for action in code_action::list_actions(&place.analysis, place.file, span) {
        let kind = match action.kind {
            code_action::ActionKind::Quick => lsp::CodeActionKind::QuickFix,
            code_action::ActionKind::All => lsp::CodeActionKind::SourceFixAll,
        };
        if !wanted(&String::from(kind.clone())) {
            continue;
        }
        let edits = match action.kind {
            code_action::ActionKind::Quick => action.edits,
            // Moving the cursor requests actions automatically, and testing the fixes takes as long as a check.
            code_action::ActionKind::All if by_itself => continue,
            code_action::ActionKind::All => code_action::proven_edits(&place.analysis, place.file, &mut |edits| {
                let text = rename::apply_edits(place.analysis.file_text(place.file), edits);
                session.workspace.analysis_with(&place.path, &text).map(|(analysis, _)| analysis)
            }),
        };
        if edits.is_empty() {
            continue;
        }
        out.push(lsp::CodeAction {
            title: action.title,
            kind: Some(kind),
            diagnostics: action.diagnostic.map(|d| vec![converter.convert_diagnostic(d)]),
            is_preferred: action.preferred.then_some(true),
            edit: Some(converter.convert_edits(&edits)),
            ..Default::default()
        });
    }
    if wanted(&String::from(lsp::CodeActionKind::QuickFix)) {
        for made in creation::list_creations(&place.analysis, place.file, span) {
            // Actions with new files are offered only to clients that can create files.
            if made.files.is_empty() || session.creates {
                let edit = converter.convert_creation(&made);
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

/// The commands of lenses, for a client without its own: the plan, or how to start a run, is shown as a message.
/// Nothing is run here.
pub fn execute_command(
    session: &mut EditorSession,
    params: lsp::ExecuteCommandParams,
) -> Result<Value, LspRequestError> {
    let Some(does) = lens::LensAction::ALL.into_iter().find(|d| d.command_name() == params.command) else {
        return Err(LspRequestError::new(ErrorCode::InvalidParams, format!("unknown command `{}`", params.command)));
    };
    let named = params.arguments.as_deref().unwrap_or_default().first().and_then(Value::as_str);
    let uri = named.map(|uri| lsp::Uri(uri.to_owned()));
    let place = uri.and_then(|uri| session.find_document(&uri));
    let Some(place) = place else {
        return Err(LspRequestError::new(ErrorCode::InvalidParams, "the argument must be the URI of an open file"));
    };
    let path = place.path.to_string_lossy().into_owned();
    let said = match does {
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
            let said = session.last_runs.explain_edit(&place.path, names, options);
            said.map_err(|why| LspRequestError::new(ErrorCode::RequestFailed, why))?
        }
        lens::LensAction::Plan => {
            let options = LoadOptions {
                checks: None::<CheckOptions>,
                overlay: session.workspace.text_overlay(),
                ..LoadOptions::default()
            };
            let target = LoadTarget { path: place.path.clone(), id: None };
            let loaded = trefoil_project::load::load_target(&target, &options).map_err(|report| {
                let errors =
                    report.diagnostics.iter().filter(|d| d.severity == trefoil_syntax::FindingSeverity::Error).count();
                LspRequestError::new(
                    ErrorCode::RequestFailed,
                    format!("no plan, because the file does not load ({errors} errors)"),
                )
            })?;
            let settings = trefoil_project::settings::find_settings(&place.path, false).settings;
            let called = Engine::new().settings(settings).callable_flows(&loaded.program);
            Plan::with_flows(&loaded.program, &loaded.files, &called).render_text()
        }
    };
    let message = json!({ "type": 3, "message": &said });
    session.outgoing.push(Notification::new("window/showMessage".to_owned(), message).into());
    Ok(said.into())
}
