//! Limits of a provider hold for all workers of a store together: the provider counts.

use std::time::{Duration, Instant};

use super::{LIMIT, Scene, Worker};

/// How long the provider takes for an answer.
const ANSWER: Duration = Duration::from_millis(120);

impl Scene {
    /// The user's settings.
    fn limit(&self, limits: &str) {
        self.folder.write("config/config.toml", format!("[limits.openai]\n{limits}\n"));
    }

    /// Waits until this many calls were made.
    fn until_asked(&self, calls: usize) {
        let began = Instant::now();
        while self.provider.asked().len() < calls {
            assert!(began.elapsed() < LIMIT, "{} calls: {}", self.provider.asked().len(), self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Some runs with some workers, who may make four calls at a time together.
    fn work_together(&self, workers: usize, runs: usize) {
        self.provider.wait_before_answers(ANSWER);
        self.limit("in_flight = 4");
        self.submit(runs, "run ");
        let began = Instant::now();
        let all: Vec<Worker> = (0..workers).map(|_| self.worker(&["--once"])).collect();
        for mut worker in all {
            assert!(worker.0.wait().unwrap().success(), "{}", self.log());
        }
        let took = began.elapsed();
        let (counts, calls) = (self.counts(), self.provider.asked().len());
        assert_eq!((counts["completed"], calls), (runs as u64, runs * 3), "{counts:?}: {}", self.log());
        assert_eq!(self.provider.most_at_once(), 4, "{workers} workers, with 8 runs each");
        let least = ANSWER * u32::try_from(calls / 4).unwrap();
        eprintln!("{workers} workers, 4 calls at a time: {calls} calls in {took:?}, at least {least:?}");
    }

    /// A worker is killed while it makes all calls that may be made at a time. Another one goes on. Returns how long that takes.
    fn kill_one(&self, lease: &str) -> Duration {
        self.limit("in_flight = 2");
        self.submit(3, "hang ");
        let mut first = self.worker(&["--lease", lease]);
        self.until_asked(2);
        let second = self.worker(&["--lease", lease]);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(self.provider.asked().len(), 2, "the second has to wait");
        self.provider.hang(false);
        first.kill();
        let began = Instant::now();
        while self.counts()["completed"] < 3 {
            assert!(began.elapsed() < LIMIT / 4, "{:?}: {}", self.counts(), self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(second);
        began.elapsed()
    }
}

#[test]
fn workers_with_a_file_make_no_more_calls_at_a_time_than_the_provider_allows() {
    Scene::in_file().work_together(3, 8);
}

#[test]
fn workers_together_begin_no_more_calls_in_a_minute_than_the_provider_allows() {
    let scene = Scene::in_file();
    scene.limit("requests_per_minute = 5");
    scene.submit(4, "run ");
    let workers = [scene.worker(&[]), scene.worker(&[])];
    scene.until_asked(5);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(scene.provider.asked().len(), 5, "the sixth has to wait for the minute to end");
    drop(workers);
}

#[test]
fn the_calls_of_a_killed_worker_do_not_count_with_a_file() {
    let took = Scene::in_file().kill_one("600");
    eprintln!("with a file, the calls of a killed worker were made by another one within {took:?}");
}

/// What takes longer, with Postgres.
mod hunt {
    use super::*;
    use crate::server;

    #[test]
    fn workers_make_no_more_calls_at_a_time_than_the_provider_allows() {
        for workers in [2, 4] {
            let Some(server) = server() else { return };
            Scene::new(server).work_together(workers, 16);
        }
    }

    #[test]
    fn the_calls_of_a_killed_worker_do_not_count_when_its_lease_has_expired() {
        let Some(server) = server() else { return };
        let took = Scene::new(server).kill_one("2");
        eprintln!(
            "with Postgres and leases of 2 s, the calls of a killed worker were made by another one within {took:?}"
        );
    }

    #[test]
    fn workers_begin_no_more_calls_in_a_minute_than_the_provider_allows() {
        let Some(server) = server() else { return };
        let scene = Scene::new(server);
        scene.limit("requests_per_minute = 5\ntokens_per_minute = 1000000");
        scene.submit(4, "run ");
        let workers = [scene.worker(&[]), scene.worker(&[]), scene.worker(&[])];
        let began = Instant::now();
        scene.until_asked(5);
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(scene.provider.asked().len(), 5, "the sixth has to wait for the minute to end");
        scene.until_asked(10);
        assert!(began.elapsed() > Duration::from_secs(55), "{:?}", began.elapsed());
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(scene.provider.asked().len(), 10);
        drop(workers);
    }
}
