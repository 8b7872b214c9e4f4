//! The conformance suite for tool hosts.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use trefoil_template::Value;

use super::must;
use super::site::{TestCallSite, finish_in_time, poll_briefly};
use crate::ports::ToolHost;
use trefoil_machine::request::ToolRequest;

/// Calls to test a tool host with.
#[derive(Debug, Clone)]
pub struct ToolSample {
    /// A fast call that succeeds whenever and however often it is made, and its result. `None`: the host has no tools.
    pub works: Option<(ToolRequest, Value)>,
    /// A call of an offered tool that fails.
    pub fails: Option<ToolRequest>,
    /// A call of a tool that the host does not offer.
    pub unknown: ToolRequest,
    /// The names of the tools that the host lists for the kind of [`Self::works`].
    pub lists: Vec<&'static str>,
}

/// A tool host offers the tools that it can call, gives consistent answers, does not mix up concurrent calls, survives calls that
/// are dropped before they end, and fails instead of panicking.
pub async fn check_tools(host: Arc<dyn ToolHost>, sample: &ToolSample) -> Result<(), String> {
    let ToolSample { works, fails, unknown, lists } = sample;
    for _ in 0..2 {
        for (request, offered) in [(works.as_ref().map(|(works, _)| works), true), (fails.as_ref(), true)] {
            let Some(request) = request else { continue };
            must(host.offers_tool(&request.name, &request.kind) == offered, || {
                format!("it does not offer `{}`, which it can call", request.name)
            })?;
        }
        must(!host.offers_tool(&unknown.name, &unknown.kind), || {
            format!("it offers `{}`, which it cannot call", unknown.name)
        })?;
    }
    for request in works.iter().map(|(works, _)| works).chain(fails).chain([unknown]) {
        let says = [host.is_idempotent(request), host.is_idempotent(request)];
        must(says[0] == says[1], || format!("`{}` is idempotent from time to time", request.name))?;
    }
    check_failure(&*host, unknown).await?;
    if let Some(fails) = fails {
        check_failure(&*host, fails).await?;
    }
    let Some((request, result)) = works else { return Ok(()) };
    working(&*host, request, result).await?;
    listed(&*host, request, lists).await
}

async fn check_failure(host: &dyn ToolHost, request: &ToolRequest) -> Result<(), String> {
    let site = TestCallSite::new("run-a", "main/fails");
    match finish_in_time("a call that fails", host.call_tool(site.call_site(), request)).await? {
        Ok(value) => Err(format!("a call to `{}` gave {} instead of failing", request.name, value.to_text())),
        Err(error) => must(!error.to_string().trim().is_empty(), || format!("`{}` does not say why", request.name)),
    }
}

async fn working(host: &dyn ToolHost, request: &ToolRequest, result: &Value) -> Result<(), String> {
    // Sequential calls: the result is the same for the same activity and for another one.
    for (run, key) in [("run-a", "main/one"), ("run-a", "main/one"), ("run-a", "main/two"), ("run-b", "main/one")] {
        check_call(host, &TestCallSite::new(run, key), request, result).await?;
    }
    // A dropped call leaves the host unchanged, at whatever point it was stopped.
    for polls in [0, 1, 2, 8, 64] {
        let site = TestCallSite::new("run-a", "main/dropped");
        drop(poll_briefly(polls, host.call_tool(site.call_site(), request)).await);
        check_call(host, &site, request, result).await?;
    }
    // Concurrent calls of two runs: keys are unique only within a run.
    let sites: Vec<TestCallSite> = ["run-a", "run-b"]
        .into_iter()
        .flat_map(|run| (0..4).map(move |item| TestCallSite::new(run, &format!("main/all[{item}]/one"))))
        .collect();
    let calls = sites.iter().map(|site| check_call(host, site, request, result));
    join_all(calls).await.into_iter().collect()
}

async fn check_call(
    host: &dyn ToolHost,
    site: &TestCallSite,
    request: &ToolRequest,
    expected: &Value,
) -> Result<(), String> {
    match finish_in_time("a call", host.call_tool(site.call_site(), request)).await? {
        Ok(found) if found == *expected => Ok(()),
        Ok(found) => {
            let (name, found, expected) = (&request.name, found.to_text(), expected.to_text());
            Err(format!("`{name}` gave {found}, {expected} was expected"))
        }
        Err(error) => Err(format!("`{}` failed: {error}", request.name)),
    }
}

async fn listed(host: &dyn ToolHost, request: &ToolRequest, expected: &[&str]) -> Result<(), String> {
    let site = TestCallSite::new("run-a", "main/lists");
    let listed = finish_in_time("a list", host.list_tools(site.call_site(), &request.kind))
        .await?
        .map_err(|e| format!("its list: {e}"))?;
    let names: BTreeSet<&str> = listed.iter().map(|spec| &*spec.name).collect();
    must(names.len() == listed.len(), || "it lists two tools with the same name".to_owned())?;
    must(names == expected.iter().copied().collect(), || format!("it lists {names:?}, {expected:?} was expected"))?;
    for spec in &listed {
        must(host.offers_tool(&spec.name, &request.kind), || {
            format!("it lists `{}`, which it does not offer", spec.name)
        })?;
        must(spec.parameters.as_object().is_some(), || {
            format!("the schema of the arguments of `{}` is not an object", spec.name)
        })?;
        let call = ToolRequest { name: spec.name.clone(), ..request.clone() };
        must(host.is_idempotent(&call) == spec.effects.is_idempotent(), || {
            format!("whether `{}` may be called twice is not what its list says", spec.name)
        })?;
    }
    Ok(())
}
