//! `trefoil doctor [TARGET]`: tests what a run needs. Programs are searched, not started. Paid calls are announced, and made only if the user agrees.

use std::io::BufRead as _;

use clap::Args;
use serde_json::{Value as Json, json};
use trefoil::models::{ProviderAvailability, Registry};
use trefoil::store::{Store as _, StoreError};
use trefoil::{Engine, Flow};
use trefoil_ir::Program;
use trefoil_ir::prices::{DollarAmount, ModelPrice, estimate};
use trefoil_machine::RunSpec;
use trefoil_models::registry::{ANSWER_TOKENS, QUESTION};
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::secrets::probe_sources;
use trefoil_syntax::suggestions::nearest_name;
use trefoil_syntax::{Diagnostic, FindingSeverity, SourceFiles};
use trefoil_template::Value;

use crate::args::{LimitArgs, ModelArgs, OptionalTargetArgs, PermissionArgs, ReportFormat, StoreArgs};
use crate::model_catalog::ModelCatalog;
use crate::obstacles::{self, too_many_calls};
use crate::refusal::store_advice;
use crate::run::input::{self, InputRejection};
use crate::store::block_on;
use crate::terminal_text::escape_line;
use crate::words::count_of;
use crate::{exit, output};
use trefoil_host::command::{PrintedCommand, RunOptions};

/// Test settings, store, secrets, programs of tools, providers, and (if you agree to the calls) models
#[derive(Args)]
#[command(mut_arg("max_calls", |arg| arg.help("Maximum number of model calls, as for `run`")))]
#[command(mut_arg("max_cost", |arg| arg.help("Maximum cost in dollars, as for `run`")))]
pub struct DoctorCommandArgs {
    #[command(flatten)]
    place: OptionalTargetArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Call the models without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    permissions: PermissionArgs,
    /// Input to judge, as for `run` (without it, inputs are not judged)
    #[arg(long = "input", short, value_name = "TEXT|KEY=VALUE", allow_hyphen_values = true)]
    inputs: Vec<String>,
    /// The same as JSON; `@FILE` reads a file, `-` reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input_json: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,
}

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckupResult {
    Fine,
    /// It works, but possibly not as intended.
    Doubtful,
    Wrong,
    /// It was not tested.
    Skipped,
}

impl CheckupResult {
    const fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Doubtful => "warning",
            Self::Wrong => "error",
            Self::Skipped => "skipped",
        }
    }
}

struct DoctorFinding {
    what: String,
    found: CheckupResult,
    says: String,
    help: Option<String>,
}

/// Exit code 0: no problems; 1: problems; 2: the path cannot be read.
pub fn run(args: &DoctorCommandArgs) -> Result<u8, u8> {
    let offer = ModelCatalog::for_target(&args.place, &args.models)?;
    let mut report = DoctorReport { text: args.format == ReportFormat::Text, all: Vec::new() };
    settings(&offer, &mut report);
    report.add(store(&args.store)?);
    secrets(&offer, &mut report);
    programs(&offer, &mut report);
    flows(args, &mut report)?;
    block_on(async {
        providers(&offer, &mut report).await;
        models(args, &offer, &mut report).await;
    })?;
    Ok(report.end())
}

struct DoctorReport {
    text: bool,
    all: Vec<DoctorFinding>,
}

impl DoctorReport {
    /// Prints each line at once, because a provider may take long to respond.
    fn add(&mut self, finding: DoctorFinding) {
        if self.text {
            let line =
                format!("{:8} {}: {}", finding.found.word(), escape_line(&finding.what), escape_line(&finding.says));
            let help = match &finding.help {
                Some(help) => format!("\n{:8} {}", "", escape_line(help)),
                None => String::new(),
            };
            // A failure to write is reported at the end.
            let _ = output::write_result(format!("{line}{help}\n"));
        }
        self.all.push(finding);
    }

    fn end(&self) -> u8 {
        let wrong = self.all.iter().filter(|one| one.found == CheckupResult::Wrong).count() as u64;
        let code = if wrong == 0 { exit::OK } else { exit::FAILED };
        let written = match self.text {
            true => {
                let doubtful = self.all.iter().filter(|one| one.found == CheckupResult::Doubtful).count() as u64;
                output::write_result(match (wrong, doubtful) {
                    (0, 0) => "nothing is wrong\n".to_owned(),
                    (0, n) => format!("{} found\n", count_of(n, "warning")),
                    (n, 0) => format!("{} found\n", count_of(n, "problem")),
                    (n, m) => format!("{} and {} found\n", count_of(n, "problem"), count_of(m, "warning")),
                })
            }
            false => output::json_result(&format_args!("{:#}", self.json())),
        };
        written.max(code)
    }

    fn json(&self) -> Json {
        let one = |one: &DoctorFinding| json!({"what": one.what, "result": one.found.word(), "message": one.says, "help": one.help});
        json!({"version": 1, "checks": self.all.iter().map(one).collect::<Vec<_>>()})
    }
}

fn finding(what: impl Into<String>, found: CheckupResult, says: impl Into<String>) -> DoctorFinding {
    DoctorFinding { what: what.into(), found, says: says.into(), help: None }
}

/// Findings about the settings; they were already printed with their excerpts.
fn settings(offer: &ModelCatalog, report: &mut DoctorReport) {
    stops(&offer.found.findings, &offer.found.files, "settings", report);
    if offer.found.findings.is_empty() {
        report.add(finding("settings", CheckupResult::Fine, "can be read and apply"));
    }
}

fn store(args: &StoreArgs) -> Result<DoctorFinding, u8> {
    let wrong = |error: &StoreError| DoctorFinding {
        help: store_advice(error),
        ..finding("store", CheckupResult::Wrong, error.to_string())
    };
    let store = match args.try_open_to_read() {
        Ok(store) => store,
        Err(StoreError::Missing { path }) => {
            return Ok(finding(
                "store",
                CheckupResult::Fine,
                format!("no runs yet; `{}` will be created", path.display()),
            ));
        }
        Err(error) => return Ok(wrong(&error)),
    };
    let path = store.display_location();
    Ok(match block_on(store.check_integrity())? {
        Ok(health) if health.problems.is_empty() => {
            finding("store", CheckupResult::Fine, format!("{} in `{path}`", count_of(health.runs, "run")))
        }
        Ok(health) => DoctorFinding {
            help: Some(format!(
                "run `{}`",
                RunOptions::of_store(args.store_option()).render_command(PrintedCommand::CheckStore)
            )),
            ..finding(
                "store",
                CheckupResult::Wrong,
                format!("{} in `{path}`", count_of(health.problems.len() as u64, "problem")),
            )
        },
        Err(error) => wrong(&error),
    })
}

fn secrets(offer: &ModelCatalog, report: &mut DoctorReport) {
    let sources = probe_sources(&offer.found.settings.secrets);
    if sources.is_empty() {
        report.add(finding("secrets", CheckupResult::Fine, "none are set"));
    }
    for source in sources {
        let what = format!("secrets ({})", source.name);
        report.add(match source.says {
            Ok(says) => finding(what, CheckupResult::Fine, says),
            Err(why) => finding(what, CheckupResult::Wrong, why),
        });
    }
}

/// Searches for the programs of tools and MCP servers, without starting them.
fn programs(offer: &ModelCatalog, report: &mut DoctorReport) {
    for one in offer.found.settings.declared_programs() {
        let what = format!("[{}]", one.table);
        report.add(match one.missing {
            None => finding(what, CheckupResult::Fine, format!("`{}` is installed; it was not started", one.program)),
            Some(why) => DoctorFinding {
                help: Some(format!("install it, or correct `command` of [{}]", one.table)),
                ..finding(what, CheckupResult::Wrong, why)
            },
        });
    }
}

/// Looks for what would stop a run of the flows, with the words of `run`.
fn flows(args: &DoctorCommandArgs, report: &mut DoctorReport) -> Result<(), u8> {
    let options = LoadOptions { checks: Some(CheckOptions::default()), ..args.place.load_options() };
    let all = obstacles::flows_at(&args.place.parse_target(), &options, args.place.read.no_config);
    let programs: Vec<&Program> = all.iter().flatten().map(|(flow, _)| &*flow.loaded_target().program).collect();
    let has_input = !args.inputs.is_empty() || args.input_json.is_some();
    for one in &all {
        let (flow, own) = match one {
            Ok(flow) => flow,
            Err(unloaded) => {
                stops(&unloaded.diagnostics, &unloaded.files, "flow", report);
                continue;
            }
        };
        let models = args.models.of_program(&flow.loaded_target().program, &programs);
        // Placeholder answers are not what somebody tests for.
        let engine =
            obstacles::build_engine(&args.permissions.host_args(&models), &own.settings).allow_placeholders(false);
        let engine = engine.run_spec(RunSpec { limits: args.limits.run_limits(), ..RunSpec::NONE });
        if let Some(why) = too_many_calls(&engine.model_calls(&flow.loaded_target().program), args.limits.max_calls) {
            report.add(finding(flow.name(), CheckupResult::Wrong, why));
        }
        let input = if has_input { read_input(args, flow, report) } else { None };
        for found in obstacles::flow_obstacles(&engine, own, flow, input.as_ref())? {
            stops(found.found_diagnostics(), found.source_files(), flow.name(), report);
        }
    }
    Ok(())
}

/// The input for a flow, unless it cannot be read, which is reported.
fn read_input(args: &DoctorCommandArgs, flow: &Flow, report: &mut DoctorReport) -> Option<Option<Value>> {
    match input::read_input(flow.loaded_target(), &args.inputs, args.input_json.as_deref()) {
        Ok(input) => return Some(input),
        Err(InputRejection::Error(error)) => {
            stops(&[error.to_diagnostic()], &flow.loaded_target().files, flow.name(), report);
        }
        Err(InputRejection::Findings(files, found)) => stops(&found, &files, flow.name(), report),
    }
    None
}

/// Reports what stops a run. `name`: what it is called if it has no place.
fn stops(found: &[Diagnostic], files: &SourceFiles, name: &str, report: &mut DoctorReport) {
    for d in found {
        if d.severity != FindingSeverity::Error {
            continue;
        }
        let place = obstacles::finding_location(d, files).unwrap_or_else(|| name.to_owned());
        let finding = DoctorFinding { help: d.help.clone(), ..finding(place, CheckupResult::Wrong, d.message.clone()) };
        // Flows may have files in common.
        if !report.all.iter().any(|one| (&one.what, &one.says) == (&finding.what, &finding.says)) {
            report.add(finding);
        }
    }
}

/// Requests the list of models of each configured provider, with its key. This is free.
async fn providers(offer: &ModelCatalog, report: &mut DoctorReport) {
    for one in &offer.providers {
        if !offer.is_of_interest(one) {
            continue;
        }
        let what = one.provider;
        if one.availability != ProviderAvailability::Ready {
            // A run that needs it does not start, which is reported for the flow.
            report.add(finding(
                what,
                CheckupResult::Skipped,
                offer.registry.provider_problem(what).unwrap_or_default(),
            ));
            continue;
        }
        let address = one.address.as_deref().unwrap_or_default();
        let accepts = if one.has_key { "accepts the key" } else { "answers" };
        let list = match offer.registry.list_models(what).await {
            Ok(Some(list)) => list,
            Ok(None) => {
                report.add(finding(
                    what,
                    CheckupResult::Fine,
                    format!("{address} answers, but does not list its models"),
                ));
                continue;
            }
            Err(error) => {
                let help = error.help.clone().or_else(|| help_for(&error.kind, one.key_variable));
                report.add(DoctorFinding { help, ..finding(what, CheckupResult::Wrong, error.message) });
                continue;
            }
        };
        report.add(finding(
            what,
            CheckupResult::Fine,
            format!("{address} {accepts} and offers {}", count_of(list.len() as u64, "model")),
        ));
        // Azure deployments have their own names, which are in no list.
        for model in &offer.models {
            if what == "azure" || model.provider() != Some(what) {
                continue;
            }
            let (_, name) = model.name.split_once(':').unwrap_or_default();
            // Ollama lists names with tags.
            let is = |known: &str| known == name || known.strip_suffix(":latest") == Some(name);
            if list.iter().any(|known| is(known)) || list.is_empty() {
                continue;
            }
            let near = nearest_name(name, list.iter().map(String::as_str));
            let help = near.map(|near| format!("did you mean `{what}:{near}`?"));
            let says = format!("`{what}` does not list it");
            report.add(DoctorFinding { help, ..finding(model.name.clone(), CheckupResult::Doubtful, says) });
        }
    }
}

fn help_for(kind: &trefoil::ports::ModelErrorKind, variable: Option<&str>) -> Option<String> {
    use trefoil::ports::ModelErrorKind as Kind;
    match kind {
        Kind::Status(401 | 403) => Some(match variable {
            Some(variable) => format!("check the key in `{variable}`"),
            None => "if it needs a key, name its variable with `key_env` in the settings of the provider".to_owned(),
        }),
        Kind::Network | Kind::Timeout => {
            Some("check the address and the network; proxies come from `HTTPS_PROXY`".to_owned())
        }
        _ => None,
    }
}

/// Calls each model once, if the user agrees.
async fn models(args: &DoctorCommandArgs, offer: &ModelCatalog, report: &mut DoctorReport) {
    let all = wanted(args, offer);
    if all.is_empty() {
        return;
    }
    let (mut most_cost, mut unknown) = (0, 0);
    let mut names = Vec::new();
    for (provider, model, price) in &all {
        match price {
            Some(price) => most_cost += most(price),
            None => unknown += 1,
        }
        names.push(format!("`{}`", escape_line(&format!("{provider}:{model}"))));
    }
    let cost = match unknown {
        0 => format!("at most {}", DollarAmount(most_cost)),
        n => format!("at most {}, and {} without a known price", DollarAmount(most_cost), count_of(n, "call")),
    };
    let calls = count_of(all.len() as u64, "call");
    output::print_note(format!(
        "{calls} to test {}: `{QUESTION}`, {ANSWER_TOKENS} tokens for the answer; {cost}",
        names.join(", ")
    ));
    if !(args.yes || agreed()) {
        for (provider, model, _) in all {
            let says = "not called; add `--yes` to call the models";
            report.add(finding(format!("{provider}:{model}"), CheckupResult::Skipped, says));
        }
        return;
    }
    for (provider, model, price) in all {
        report.add(called(&offer.registry, &provider, &model, price.as_ref()).await);
    }
}

async fn called(registry: &Registry, provider: &str, model: &str, price: Option<&ModelPrice>) -> DoctorFinding {
    let what = format!("{provider}:{model}");
    let began = std::time::Instant::now();
    match registry.probe_model(provider, model).await {
        Ok(answer) => {
            let usage = answer.usage.with_price(price);
            let cost = match (usage.is_known(), usage.cost_micro) {
                (true, cost) if price.is_some() => DollarAmount(cost).to_string(),
                _ => "cost unknown".to_owned(),
            };
            let by = match answer.model {
                Some(by) if by != model => format!(" as `{by}`"),
                _ => String::new(),
            };
            let seconds = began.elapsed().as_secs_f64();
            finding(what, CheckupResult::Fine, format!("answers{by} in {seconds:.1}s ({cost})"))
        }
        Err(error) => DoctorFinding { help: error.help, ..finding(what, CheckupResult::Wrong, error.message) },
    }
}

/// The models to test, each once, with their prices.
fn wanted(args: &DoctorCommandArgs, offer: &ModelCatalog) -> Vec<(String, String, Option<ModelPrice>)> {
    if !args.models.is_real() {
        return Vec::new();
    }
    let mut wanted = Vec::new();
    // Without any workflow, too.
    if args.models.every_call_models().next().is_some() {
        let engine = Engine::new().settings(offer.found.settings.clone());
        for (provider, model) in args.models.every_call_models() {
            let price = engine.model_price(&format!("{provider}:{model}"));
            wanted.push((provider.to_owned(), model.to_owned(), price));
        }
        return wanted;
    }
    for model in &offer.models {
        if model.problem.is_none()
            && let Some((provider, name)) = model.name.split_once(':')
        {
            wanted.push((provider.to_owned(), name.to_owned(), model.price.clone()));
        }
    }
    wanted
}

/// The maximum cost of the call.
fn most(price: &ModelPrice) -> u64 {
    price.at_most(QUESTION.len() as u64 + estimate::MESSAGE, u64::from(ANSWER_TOKENS))
}

fn agreed() -> bool {
    if !output::is_interactive() {
        return false;
    }
    output::print_part("call? [y/N] ");
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}
