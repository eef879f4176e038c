//! Which driver runs: io_uring where the kernel grants it; where it is refused,
//! as containers do it by seccomp, tokio and a note, or an error to those who
//! asked for nothing else.

#![expect(clippy::unwrap_used, reason = "a step that fails must end the test")]

use benchd_engine::{DriverChoice, Endpoint, EngineError, Plan, Run, Stop, run};
use benchd_model::JobSpec;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

const IO_URING_SETUP: i64 = 425;
const IO_URING_REGISTER: i64 = 427;

/// A run without requests.
fn run_nothing(scheme: &str, driver: DriverChoice) -> Result<Run, EngineError> {
    let document = serde_json::json!({
        "target": {"url": format!("{scheme}://127.0.0.1:9/")},
        "load": {"connections": 2, "threads": 2, "requests": 1, "keepalive": false},
    });
    let spec = JobSpec::parse(&document, &|_| None).unwrap();
    let plan = Plan::from_spec(&spec, vec![Endpoint::Tcp("127.0.0.1:9".parse().unwrap())]).unwrap();
    run(&Plan { driver, requests: Some(0), ..plan }, &Stop::default(), &mut |_| {})
}

/// Lets `work` run on a thread, and threads of its own, that may not make the
/// system call of that number.
fn without<T: Send>(call: i64, work: impl FnOnce() -> T + Send) -> T {
    let filter = SeccompFilter::new(
        [(call, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(1),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            apply_filter(&filter).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn io_uring_runs_where_it_is_granted_and_nothing_is_said() {
    for scheme in ["http", "https"] {
        let auto = run_nothing(scheme, DriverChoice::Auto).unwrap().end;
        match run_nothing(scheme, DriverChoice::Uring) {
            Ok(asked) => {
                assert_eq!(
                    (auto.driver.as_str(), asked.end.driver.as_str()),
                    ("io_uring", "io_uring")
                );
                assert!(auto.notes.is_empty(), "{:?}", auto.notes);
            }
            // This kernel, or the container around this test, has none.
            Err(error) => {
                assert!(matches!(error, EngineError::Driver(_)), "{error}");
                assert_eq!((auto.driver.as_str(), auto.notes.len()), ("tokio", 1));
            }
        }
    }
}

#[test]
fn tokio_steps_in_where_it_is_refused_and_the_result_says_so() {
    for call in [IO_URING_SETUP, IO_URING_REGISTER] {
        let end = without(call, || run_nothing("http", DriverChoice::Auto)).unwrap().end;
        assert_eq!(end.driver, "tokio");
        let said = ["io_uring is not granted here", "the tokio driver ran"];
        assert!(said.iter().all(|words| end.notes[0].contains(words)), "{:?}", end.notes);
    }
}

#[test]
fn who_asks_for_io_uring_alone_is_told_why_there_is_none() {
    let error = without(IO_URING_SETUP, || run_nothing("http", DriverChoice::Uring)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, EngineError::Driver(_)), "{text}");
    assert!(text.contains("io_uring") && text.contains("os error 1)"), "{text}");
}
