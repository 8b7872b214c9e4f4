//! The conformance suite for limits that several processes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;

use super::must;
use super::site::finish_in_time;
use crate::limits::ProviderLimits;
use crate::limits::shared_limits::{MINUTE_MS, PermitUse, PermitWait, SharedLimits, SharedPermit};

/// Processes that share limits.
type Processes = [Arc<dyn SharedLimits>; 2];

/// Two processes share limits: together they never have more permits than one of them may have, nobody is overtaken, and what is
/// given back, also by whoever stops waiting, is there for others. Time may pass as it likes, but less than a minute.
pub async fn check_shared_limits(processes: &Processes) -> Result<(), String> {
    check_in_flight(processes).await?;
    check_queue(processes).await?;
    check_no_place(processes).await?;
    check_requests(processes).await?;
    check_tokens(processes).await?;
    check_crowd(processes).await
}

fn in_flight(calls: u32) -> ProviderLimits {
    ProviderLimits { in_flight: Some(calls), ..ProviderLimits::default() }
}

fn permit(process: &Arc<dyn SharedLimits>, subject: &str, limits: ProviderLimits, tokens: u64) -> SharedPermit {
    SharedPermit::for_subject(process.clone(), format!("suite:{subject}"), limits, tokens)
}

/// Takes a permit that must be granted at once.
async fn granted(mut permit: SharedPermit, what: &str) -> Result<SharedPermit, String> {
    match finish_in_time("asking", permit.try_take()).await? {
        None => Ok(permit),
        Some(wait) => Err(format!("{what} waits for `{}`", wait.limit)),
    }
}

/// Asks for a permit that must wait.
async fn refused(permit: &mut SharedPermit, limit: &str, what: &str) -> Result<PermitWait, String> {
    match finish_in_time("asking", permit.try_take()).await? {
        None => Err(format!("{what} is granted")),
        Some(wait) if wait.limit == limit => Ok(wait),
        Some(wait) => Err(format!("{what} waits for `{}`", wait.limit)),
    }
}

/// Waits until a permit is granted.
async fn patient(mut permit: SharedPermit) -> SharedPermit {
    while let Some(wait) = permit.try_take().await {
        permit.wait_for_return(&wait).await;
    }
    permit
}

async fn check_in_flight([one, other]: &Processes) -> Result<(), String> {
    let new = |process| permit(process, "flight", in_flight(2), 0);
    let first = granted(new(one), "the first of two").await?;
    let second = granted(new(other), "the second of two").await?;
    let elsewhere = permit(other, "another", in_flight(2), 0);
    drop(granted(elsewhere, "a permit of another subject").await?);
    let mut third = new(one);
    let wait = refused(&mut third, "in_flight", "a third of two").await?;
    must(wait.wait_ms.is_none() && wait.ahead == 0, || format!("nobody knows how long it waits: {wait:?}"))?;
    let (third, ()) = finish_in_time("a wait for what the other process gives back", async {
        tokio::join!(patient(third), async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            drop(second);
        })
    })
    .await?;
    drop((first, third));
    finish_in_time("a wait for what this process gives back", patient(new(one))).await?;
    Ok(())
}

async fn check_queue([one, other]: &Processes) -> Result<(), String> {
    let new = |process| permit(process, "queue", in_flight(1), 0);
    let held = granted(new(one), "the only one").await?;
    let (mut first, mut second) = (new(other), new(one));
    refused(&mut first, "in_flight", "a second of one").await?;
    let wait = refused(&mut second, "in_flight", "a third of one").await?;
    must(wait.ahead == 1, || format!("it does not know who is before it: {wait:?}"))?;
    drop(held);
    // However often it asks.
    for _ in 0..20 {
        refused(&mut second, "in_flight", "one that overtakes").await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let first = finish_in_time("the first in the queue", patient(first)).await?;
    refused(&mut second, "in_flight", "a second of one").await?;
    // Whoever stops waiting does not stop others.
    let mut third = new(other);
    refused(&mut third, "in_flight", "a third of one").await?;
    drop((second, first));
    finish_in_time("a wait after others have left", patient(third)).await?;
    Ok(())
}

async fn check_no_place([one, other]: &Processes) -> Result<(), String> {
    let take =
        |process: &Arc<dyn SharedLimits>| SharedPermit::take_now(process.clone(), "suite:now".to_owned(), in_flight(1));
    let held = finish_in_time("asking", take(one)).await?.map_err(|wait| format!("the only one waits: {wait:?}"))?;
    let Err(wait) = finish_in_time("asking", take(other)).await? else { return Err("a second of one".to_owned()) };
    must(wait.limit == "in_flight", || format!("it waits for `{}`", wait.limit))?;
    drop(held);
    let next = permit(one, "now", in_flight(1), 0);
    finish_in_time("a wait for somebody who left no place", patient(next)).await?;
    Ok(())
}

async fn check_requests([one, other]: &Processes) -> Result<(), String> {
    let limits = ProviderLimits { requests_per_minute: Some(2), ..ProviderLimits::default() };
    let new = |process| permit(process, "requests", limits, 0);
    drop(granted(new(one), "the first of two").await?);
    let mut second = granted(new(other), "the second of two").await?;
    let mut third = new(one);
    let wait = refused(&mut third, "requests_per_minute", "a third of two, although they have ended").await?;
    must(wait.wait_ms.is_some_and(|ms| ms > 0 && ms <= MINUTE_MS), || {
        format!("the first of them is less than a minute ago: {wait:?}")
    })?;
    second.set_used(PermitUse::Unused);
    drop(second);
    finish_in_time("a wait for a call that was not made", patient(third)).await?;
    Ok(())
}

async fn check_tokens([one, other]: &Processes) -> Result<(), String> {
    let limits = ProviderLimits { tokens_per_minute: Some(100), ..ProviderLimits::default() };
    let new = |process, tokens| permit(process, "tokens", limits, tokens);
    let mut first = granted(new(one, 1_000), "one that is larger than the limit, alone,").await?;
    let mut second = new(other, 60);
    refused(&mut second, "tokens_per_minute", "a call after one that is larger than the limit").await?;
    first.set_used(PermitUse::Tokens(40));
    drop(first);
    let second = finish_in_time("a wait for a call that used less", patient(second)).await?;
    let mut third = new(one, 1);
    refused(&mut third, "tokens_per_minute", "one token more").await?;
    let mut fourth = new(other, 0);
    refused(&mut fourth, "tokens_per_minute", "a small call that overtakes a large one").await?;
    drop(third);
    finish_in_time("a wait for one that has left", patient(fourth)).await?;
    drop(second);
    Ok(())
}

/// Many calls at once.
async fn check_crowd(processes: &Processes) -> Result<(), String> {
    const MOST: u32 = 3;
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let call = |process: &Arc<dyn SharedLimits>| {
        let asked = permit(process, "crowd", in_flight(MOST), 0);
        let (now, most) = (&now, &most);
        async move {
            let permit = patient(asked).await;
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            drop(permit);
        }
    };
    let mut calls = Vec::new();
    for process in processes.iter().cycle().take(24) {
        calls.push(call(process));
    }
    finish_in_time("a crowd", join_all(calls)).await?;
    let most = most.load(Ordering::SeqCst);
    must(most <= MOST as usize, || format!("{most} calls at once, where {MOST} are allowed"))
}
