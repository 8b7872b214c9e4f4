//! Permits of limits that all processes share.

use std::sync::Arc;

use trefoil_runtime::conformance::check_shared_limits;
use trefoil_runtime::limits::ProviderLimits;
use trefoil_runtime::limits::shared_limits::{
    MINUTE_MS, PermitAnswer, PermitLease, PermitRequest, PermitUse, PermitWait, ReturnedPermit, SharedLimits,
};

use super::{equal, expect, require_success};
use crate::owner::{Owner, StoreLimits};
use crate::port::Store;

/// A time long before any real one.
const AT: u64 = 3_000_000;
/// How long a permit is held without being renewed.
const LEASE_MS: u64 = 10_000;

pub async fn check_shared_permits(store: &Arc<dyn Store>) -> Result<(), String> {
    let processes = ["permits-one", "permits-other"].map(|name| {
        let owner = Owner::new(store.clone(), name, store.clock());
        Arc::new(StoreLimits::new(owner)) as Arc<dyn SharedLimits>
    });
    check_shared_limits(&processes).await?;
    let store = &**store;
    expired(store).await?;
    places(store).await?;
    window(store).await?;
    corrections(store).await?;
    repeated(store).await
}

fn in_flight(calls: u32) -> ProviderLimits {
    ProviderLimits { in_flight: Some(calls), ..ProviderLimits::default() }
}

fn request(id: u64, subject: &str, limits: ProviderLimits, tokens: u64) -> PermitRequest {
    PermitRequest { id, subject: subject.to_owned(), limits, tokens, asked: None, waits: true }
}

async fn ask(store: &dyn Store, request: &PermitRequest, now: u64) -> Result<PermitAnswer, String> {
    let lease = PermitLease { holder: format!("holder {}\0", request.id), now, until: now + LEASE_MS };
    require_success(store.take_shared_permit(request, lease, Vec::new()).await, "asking for a permit")
}

/// Asks for a permit that must be granted. Returns when it counts as begun.
async fn take(store: &dyn Store, request: &PermitRequest, now: u64) -> Result<Option<u64>, String> {
    match ask(store, request, now).await? {
        PermitAnswer::Granted { begun } => Ok(begun),
        answer => Err(format!("{} of `{}` at {now} is not granted: {answer:?}", request.id, request.subject)),
    }
}

/// Asks for a permit that must wait.
async fn wait(store: &dyn Store, request: &PermitRequest, now: u64) -> Result<PermitWait, String> {
    match ask(store, request, now).await? {
        PermitAnswer::Wait(wait) => Ok(wait),
        answer => Err(format!("{} of `{}` at {now} does not wait: {answer:?}", request.id, request.subject)),
    }
}

async fn give_back(
    store: &dyn Store,
    request: &PermitRequest,
    begun: Option<u64>,
    used: PermitUse,
) -> Result<(), String> {
    let subject = request.subject.clone();
    let returned = ReturnedPermit { id: request.id, subject, begun, tokens: request.tokens, used };
    let done = store.return_shared_permits(&request.subject, vec![returned]).await;
    require_success(done, "giving a permit back")
}

/// What is not renewed comes back. A store may count the time that passes meanwhile, so nothing here depends on a moment.
async fn expired(store: &dyn Store) -> Result<(), String> {
    let new = |id| request(id, "expires", in_flight(1), 0);
    let (first, second) = (new(101), new(102));
    take(store, &first, AT).await?;
    wait(store, &second, AT + LEASE_MS / 2).await?;
    require_success(store.renew_shared_permits("expires", vec![101, 999], AT + 60_000).await, "renewing")?;
    wait(store, &second, AT + 40_000).await?;
    take(store, &second, AT + 80_000).await?;
    // Too late: somebody else has it.
    require_success(store.renew_shared_permits("expires", vec![101], AT + 90_000).await, "renewing what is gone")?;
    give_back(store, &second, None, PermitUse::Unknown).await?;
    take(store, &new(103), AT + 80_001).await?;
    give_back(store, &new(103), None, PermitUse::Unknown).await
}

/// A place that nobody asks about does not keep others waiting, and is still there for whoever asks again.
async fn places(store: &dyn Store) -> Result<(), String> {
    let new = |id| request(id, "places", in_flight(1), 0);
    let held = new(201);
    take(store, &held, AT).await?;
    require_success(store.renew_shared_permits("places", vec![201], AT + 90_000).await, "renewing")?;
    let mut first = new(202);
    first.asked = Some(wait(store, &first, AT + 1).await?.asked);
    let mut second = new(203);
    let place = wait(store, &second, AT + 1_000).await?;
    equal(&place.ahead, &1, "requests before it")?;
    expect(place.asked >= AT + 1_000, "its place is the time at which it was asked for first")?;
    second.asked = Some(place.asked);
    let now = AT + 20_000;
    equal(&wait(store, &second, now).await?.ahead, &0, "requests before it that somebody asks about")?;
    let place = wait(store, &first, now + 1).await?;
    equal(
        &(place.ahead, Some(place.asked)),
        &(0, first.asked),
        "what is before a request that is back, and its place",
    )?;
    // The clock of a server decides about the last milliseconds.
    expect(place.waited_ms + 1_000 >= now - AT, "it has waited since it was asked for first")?;
    equal(&wait(store, &second, now + 2).await?.ahead, &1, "requests before it when one is back")?;
    give_back(store, &held, None, PermitUse::Unknown).await?;
    wait(store, &second, now + 3).await?;
    take(store, &first, now + 4).await?;
    // Whoever does not wait leaves no place.
    let hurried = PermitRequest { waits: false, ..new(204) };
    wait(store, &hurried, now + 5).await?;
    equal(&wait(store, &new(205), now + 1_000).await?.ahead, &1, "requests before one that comes later")?;
    for request in [&first, &second, &new(205)] {
        give_back(store, request, None, PermitUse::Unused).await?;
    }
    take(store, &new(206), now + 1_001).await?;
    give_back(store, &new(206), None, PermitUse::Unused).await
}

/// Within any minute, no more is begun than the limit allows.
async fn window(store: &dyn Store) -> Result<(), String> {
    let limits = ProviderLimits { requests_per_minute: Some(3), ..ProviderLimits::default() };
    let (mut now, mut begun, mut id) = (AT, Vec::new(), 300);
    while begun.len() < 12 {
        let one = PermitRequest { waits: false, ..request(id, "window", limits, 0) };
        match ask(store, &one, now).await? {
            PermitAnswer::Granted { begun: Some(at) } if at >= now => {
                begun.push(at);
                id += 1;
                now += 700 * (id % 4);
            }
            PermitAnswer::Wait(PermitWait { limit: "requests_per_minute", wait_ms: Some(ms), .. }) if ms > 0 => {
                now += ms
            }
            answer => return Err(format!("a fourth call in a minute is answered with {answer:?}")),
        }
    }
    for calls in begun.windows(4) {
        let (Some(first), Some(last)) = (calls.first(), calls.last()) else { continue };
        expect(last - first >= MINUTE_MS, &format!("four calls take more than a minute: {begun:?}"))?;
    }
    // Calls of one second leave the window together.
    expect(now < AT + 4 * (MINUTE_MS + 4_000), &format!("nobody waits much longer than a minute: {begun:?}"))
}

/// What was expected counts until it is known what was used.
async fn corrections(store: &dyn Store) -> Result<(), String> {
    const LATER: u64 = AT + 40_000;
    let limits = ProviderLimits { tokens_per_minute: Some(100), requests_per_minute: Some(4), in_flight: None };
    let new = |id, tokens| PermitRequest { waits: false, ..request(id, "tokens", limits, tokens) };
    let large = new(401, 500);
    let first_begun = take(store, &large, AT).await?;
    equal(&wait(store, &new(402, 1), LATER).await?.limit, &"tokens_per_minute", "the limit")?;
    give_back(store, &large, first_begun, PermitUse::Tokens(30)).await?;
    let second = new(403, 50);
    let begun = take(store, &second, LATER).await?;
    wait(store, &new(404, 21), LATER).await?;
    // More than expected.
    give_back(store, &second, begun, PermitUse::Tokens(70)).await?;
    wait(store, &new(405, 1), LATER).await?;
    let third = new(406, 0);
    let begun = take(store, &third, LATER).await?;
    take(store, &new(407, 0), LATER).await?;
    equal(&wait(store, &new(408, 0), LATER).await?.limit, &"requests_per_minute", "the limit")?;
    give_back(store, &third, begun, PermitUse::Unused).await?;
    take(store, &new(409, 0), LATER).await?;
    // The first call leaves the window, and what it has used.
    wait(store, &new(410, 30), AT + MINUTE_MS - 10_000).await?;
    take(store, &new(411, 30), AT + MINUTE_MS + 20_000).await?;
    // What is corrected after that changes nothing else.
    give_back(store, &large, first_begun, PermitUse::Unused).await?;
    equal(&wait(store, &new(412, 0), AT + MINUTE_MS + 20_000).await?.limit, &"requests_per_minute", "the limit")?;
    Ok(())
}

/// Somebody who did not get the answer may ask again.
async fn repeated(store: &dyn Store) -> Result<(), String> {
    let limits = ProviderLimits { in_flight: Some(1), requests_per_minute: Some(2), tokens_per_minute: None };
    let new = |id| request(id, "repeated", limits, 0);
    let first = new(501);
    for now in [AT, AT + 1, AT + 2] {
        take(store, &first, now).await?;
    }
    wait(store, &new(502), AT + 3).await?;
    give_back(store, &first, Some(AT), PermitUse::Unknown).await?;
    take(store, &new(502), AT + 4).await?;
    give_back(store, &new(502), Some(AT), PermitUse::Unknown).await?;
    equal(&wait(store, &new(503), AT + 5).await?.limit, &"requests_per_minute", "the limit after two calls")?;
    give_back(store, &new(503), None, PermitUse::Unused).await
}
