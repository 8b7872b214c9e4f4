//! The description of the API in OpenAPI 3.1, made of the handlers' own types.

use axum::Json as JsonResponse;
use serde_json::Value as Json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, Content, Ref, RefOr, Response};
use utoipa::{Modify, OpenApi};

use super::published_schemas::{RunTrace, add_published};
use super::{
    callers, event_stream, file_save, flow_files, flow_history, flows, keys, questions, run_actions, run_forks,
    run_list, run_prompts, run_start, run_traces, secrets,
};
use crate::language_server;
use crate::problem::Problem;

#[derive(OpenApi)]
#[openapi(
    info(title = "Trefoil", description = "Agent workflows in YAML: start, follow, answer and repair their runs."),
    modifiers(&CommonAnswers),
    components(schemas(Problem, RunTrace)),
    paths(
        openapi_document,
        callers::show_caller,
        flows::list_flows,
        flows::show_flow,
        flows::remove_flow,
        flows::flow_schema,
        flows::flow_checks,
        flows::flow_plan,
        flows::flow_graph,
        flow_files::flow_files,
        flow_files::run_files,
        file_save::save_file,
        language_server::open_language_server,
        flow_history::flow_history,
        flow_history::list_costs,
        run_list::list_runs,
        run_list::show_run,
        run_traces::run_state,
        run_traces::run_trace,
        run_start::start_run,
        event_stream::run_events,
        run_actions::answer_question,
        run_actions::cancel_run,
        run_actions::resume_run,
        run_actions::delete_run,
        run_forks::fork_run,
        run_prompts::run_prompts,
        run_forks::diff_runs,
        questions::list_questions,
        keys::show_rule,
        keys::set_rule,
        keys::add_key,
        keys::list_keys,
        keys::revoke_key,
        secrets::list_secrets,
        secrets::set_secret,
        secrets::remove_secret,
    )
)]
struct ApiDocument;

/// The content type of problems.
const PROBLEM: &str = "application/problem+json";
/// What every operation may answer, whatever its handler does.
const COMMON: [(&str, &str); 7] = [
    ("400", "The request is wrong"),
    ("401", "The key is missing or unknown"),
    ("403", "The key lacks a scope, or a page of another site has sent the request"),
    ("421", "The server is not called by this name"),
    ("429", "A limit of the key or the flow"),
    ("500", "A fault of the server"),
    ("503", "The store is away, or the server is stopping"),
];
/// What every operation with a body may answer.
const WITH_BODY: [(&str, &str); 2] = [("408", "The body is too slow"), ("413", "The body is too large")];
/// What every operation may answer that names something in its path.
const WITH_NAME: [(&str, &str); 1] = [("404", "There is nothing with this name for the caller")];
/// The name of the scheme of keys.
const KEY_SCHEME: &str = "key";

/// What the router and its guards answer to any request.
struct CommonAnswers;

impl Modify for CommonAnswers {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for (path, item) in &mut openapi.paths.paths {
            let is_named = path.contains('{');
            let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
            for operation in operations.into_iter().flatten() {
                add_common(operation, is_named);
            }
        }
        let mut key = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        key.description = Some("A key of `trefoil keys add`. On loopback, none is needed.".to_owned());
        let components = openapi.components.get_or_insert_with(Components::new);
        components.add_security_scheme(KEY_SCHEME, SecurityScheme::Http(key));
        let scopes: [&str; 0] = [];
        openapi.security = Some(vec![SecurityRequirement::default(), SecurityRequirement::new(KEY_SCHEME, scopes)]);
    }
}

fn add_common(operation: &mut Operation, is_named: bool) {
    let is_with_body = operation.request_body.is_some();
    let responses = &mut operation.responses.responses;
    for (status, response) in responses.iter_mut() {
        let RefOr::T(response) = response else { continue };
        if status.starts_with(['4', '5']) {
            *response = problem_response(&response.description);
        } else if response.description.is_empty() {
            // OpenAPI wants one, and what it is says the operation.
            response.description = "What was asked for".to_owned();
        }
    }
    let with_body: &[_] = if is_with_body { &WITH_BODY } else { &[] };
    let with_name: &[_] = if is_named { &WITH_NAME } else { &[] };
    for (status, description) in COMMON.iter().chain(with_body).chain(with_name) {
        responses.entry((*status).to_owned()).or_insert_with(|| problem_response(description).into());
    }
}

fn problem_response(description: &str) -> Response {
    let mut response = Response::new(description);
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    response.content.insert(PROBLEM.to_owned(), content.into());
    response
}

/// The description of the API, as JSON.
pub fn describe_api() -> Json {
    let mut document = serde_json::to_value(ApiDocument::openapi()).unwrap_or_default();
    if let Some(Json::Object(schemas)) = document.pointer_mut("/components/schemas") {
        add_published(schemas);
    }
    document
}

/// The description of the API in OpenAPI 3.1.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "openapi", responses((status = 200, body = Object)))]
pub async fn openapi_document() -> JsonResponse<Json> {
    JsonResponse(describe_api())
}
