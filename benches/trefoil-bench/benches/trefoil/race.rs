//! A race: contestants that do the same work, interleaved.
//!
//! Criterion measures one thing after the other, so on a shared machine it compares different moments. Here every round
//! runs every contestant once, so a ratio compares measurements that are close in time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::table;

/// A contestant.
pub struct Lane<'a> {
    /// Its name in the table.
    pub name: String,
    work: Box<dyn FnMut() + 'a>,
}

/// Contestants that do the same work. The others are compared with the first one.
pub struct Race<'a> {
    /// Its name in the table.
    pub name: String,
    /// The unit of work; the time is divided by the number of units.
    pub unit: &'static str,
    units: f64,
    budget: Option<&'static str>,
    lanes: Vec<Lane<'a>>,
}

/// The result of a lane: nanoseconds for each unit, or another figure of the table.
pub struct Finish {
    /// Its name.
    pub name: String,
    /// The minimum of all rounds.
    pub min: f64,
    /// The median of all rounds.
    pub median: f64,
}

/// A finished race.
pub struct Standing {
    /// Its name.
    pub name: String,
    /// The unit of work.
    pub unit: &'static str,
    /// The goal as text, if there is one.
    pub budget: Option<&'static str>,
    /// The lanes, in the order in which they were added.
    pub lanes: Vec<Finish>,
    /// How a figure is formatted.
    pub show: fn(f64) -> String,
}

impl Standing {
    /// Creates a standing from figures that were measured once.
    pub fn figures(name: &str, unit: &'static str, goal: &'static str, lanes: &[(&str, f64)]) -> Self {
        let lanes = lanes.iter().map(|(name, n)| Finish { name: (*name).to_owned(), min: *n, median: *n }).collect();
        Self { name: name.to_owned(), unit, budget: Some(goal), lanes, show: table::time }
    }
    /// Sets how its figures are formatted.
    #[must_use]
    pub fn shown_as(mut self, show: fn(f64) -> String) -> Self {
        self.show = show;
        self
    }
}

impl<'a> Race<'a> {
    /// A race whose work consists of `units` units of `unit`.
    pub fn new(name: impl Into<String>, unit: &'static str, units: usize) -> Self {
        Self { name: name.into(), unit, units: units as f64, budget: None, lanes: Vec::new() }
    }
    /// Sets the goal as text.
    #[must_use]
    pub fn goal(mut self, goal: &'static str) -> Self {
        self.budget = Some(goal);
        self
    }
    /// Adds a contestant.
    #[must_use]
    pub fn lane<T>(mut self, name: impl Into<String>, mut work: impl FnMut() -> T + 'a) -> Self {
        self.lanes.push(Lane { name: name.into(), work: Box::new(move || drop(black_box(work()))) });
        self
    }
    /// Runs the race: calibrates each lane to `slice`, then runs `rounds` interleaved rounds.
    pub fn run(mut self, rounds: usize, slice: Duration) -> Standing {
        let repeats: Vec<u32> = self.lanes.iter_mut().map(|lane| calibrate(lane, slice)).collect();
        let mut times = vec![Vec::with_capacity(rounds); self.lanes.len()];
        for _ in 0..rounds {
            for ((lane, repeats), times) in self.lanes.iter_mut().zip(&repeats).zip(&mut times) {
                let begin = Instant::now();
                for _ in 0..*repeats {
                    (lane.work)();
                }
                times.push(begin.elapsed().as_nanos() as f64 / f64::from(*repeats) / self.units);
            }
        }
        let lanes = self
            .lanes
            .iter()
            .zip(times)
            .map(|(lane, mut times)| {
                times.sort_by(f64::total_cmp);
                let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
                Finish { name: lane.name.clone(), min: times.first().copied().unwrap_or(f64::NAN), median }
            })
            .collect();
        Standing { name: self.name, unit: self.unit, budget: self.budget, lanes, show: table::time }
    }
}

/// How often a lane can run in about `slice`.
fn calibrate(lane: &mut Lane<'_>, slice: Duration) -> u32 {
    let mut repeats = 1u32;
    loop {
        let begin = Instant::now();
        for _ in 0..repeats {
            (lane.work)();
        }
        let took = begin.elapsed();
        if took >= slice || repeats >= 1 << 24 {
            return repeats;
        }
        let grow = (slice.as_secs_f64() / took.as_secs_f64().max(1e-9)).clamp(2.0, 16.0);
        repeats = (f64::from(repeats) * grow) as u32;
    }
}
