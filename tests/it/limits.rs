//! Was it us? One nginx, loaded by a generator that keeps up with it, by one
//! that gets little of a processor, and by one that is too slow for it.

use crate::support::command::{Ended, benchd, command};
use crate::support::nginx;
use benchd_tuning::{ManagedNginx, NginxOptions};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a run is made again that this machine disturbed: others use its
/// processors, too, and a server that gets none of them is no fast one.
const ATTEMPTS: usize = 5;

const GENERATOR: &str = "generator was the limit";

fn arguments<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut line = vec!["run", url, "-d", "2s", "--format", "json", "-q"];
    line.extend(more);
    line
}

/// The first result that is `wanted`, or the last one made.
fn until(wanted: impl Fn(&Value) -> bool, run: impl Fn() -> Ended) -> Ended {
    let mut attempts = (1..=ATTEMPTS).map(|_| run());
    let mut ended = attempts.next().unwrap();
    while !wanted(&ended.json())
        && let Some(next) = attempts.next()
    {
        ended = next;
    }
    ended
}

pub(crate) fn is_the_generator(result: &Value) -> bool {
    result["validity"]["limited_by"] == "generator"
}

fn reason(result: &Value) -> String {
    result["validity"]["reasons"][0].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_ordinary_run_is_valid_and_nginx_is_its_limit() {
    let nginx = nginx::start();
    let url = nginx.url("/");
    for driver in ["tokio", "auto"] {
        let ended = until(
            |result| result["validity"]["limited_by"] == "server",
            || {
                let folder = tempfile::tempdir().unwrap();
                let mut command = command(folder.path());
                command.args(arguments(&url, &["-c", "64"])).env("BENCHD_DRIVER", driver);
                command.output().unwrap().into()
            },
        );
        let result = ended.json();
        assert_eq!(result["validity"]["limited_by"], "server", "{driver}: {result:#}");
        assert_eq!((ended.code, &result["validity"]["valid"]), (0, &Value::Bool(true)));
        assert_eq!(result["environment"]["same_host"], true);
        let busy = result["validity"]["generator_busy_ratio"].as_f64().unwrap();
        assert!(busy > 0.0 && busy < 0.95, "{busy}");
        assert!(result["kernel"]["tcp_segments"].as_u64().unwrap() > 0, "{result:#}");
    }
}

#[test]
fn a_generator_that_gets_little_of_a_processor_is_invalid_and_says_why() {
    let nginx = nginx::start();
    let url = nginx.url("/");
    let ended = until(is_the_generator, || confined(&arguments(&url, &["-c", "64"])));
    let result = ended.json();
    assert_eq!((ended.code, &result["verdict"]), (125, &Value::from("invalid")), "{result:#}");
    assert!(is_the_generator(&result), "{result:#}");
    let reason = reason(&result);
    assert!(reason.contains(GENERATOR) && reason.contains("keep other programs off"), "{reason}");
}

#[test]
fn one_thread_against_a_faster_server_is_invalid_and_says_what_to_do() {
    let nginx = faster_than_one_thread();
    let url = nginx.url("/nothing");
    let ended = until(is_the_generator, || {
        let folder = tempfile::tempdir().unwrap();
        let more = ["-c", "200", "--no-keepalive", "--threads", "1", "--expect-status", "204"];
        benchd(folder.path(), &arguments(&url, &more))
    });
    let result = ended.json();
    assert_eq!((ended.code, &result["verdict"]), (125, &Value::from("invalid")), "{result:#}");
    let reason = reason(&result);
    assert!(reason.contains(GENERATOR), "{reason}");
    assert!(reason.contains("; give it ") || reason.contains("; keep "), "{reason}");
}

/// Connections of one request each cost a client several times what they cost
/// a server that has nothing to send.
fn faster_than_one_thread() -> ManagedNginx {
    nginx::start_with(NginxOptions {
        workers: 4,
        server_extra: "location = /nothing { return 204; }".to_owned(),
        ..NginxOptions::default()
    })
}

/// Runs `benchd` on one processor, behind others that want all of it: what a
/// small quota does, without the right to set one.
fn confined(args: &[&str]) -> Ended {
    let over = AtomicBool::new(false);
    let processor = first_processor();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                sched_setaffinity(None, &processor).unwrap();
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Affinity and priority are a thread's; a process begins with those of
        // the thread that starts it.
        let run = scope.spawn(|| {
            sched_setaffinity(None, &processor).unwrap();
            setpriority_process(None, 10).unwrap();
            let folder = tempfile::tempdir().unwrap();
            benchd(folder.path(), args)
        });
        let ended = run.join();
        over.store(true, Ordering::Relaxed);
        ended.unwrap()
    })
}

fn first_processor() -> CpuSet {
    let all = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(first);
    one
}
