//! What happens to the target while it is measured: somebody else loads it, or
//! its nginx is restarted or reloaded.

use crate::support::{Bench, bounded, nginx, nginx_spec};
use benchd_model::{RunResult, Verdict};
use benchd_tuning::ManagedNginx;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use tokio_util::sync::CancellationToken;

/// What a slow load measures while `disturb` is done to its nginx.
async fn measured(disturb: fn(&mut ManagedNginx)) -> RunResult {
    let (bench, mut nginx) = (Bench::new().await, nginx());
    let load = json!({"connections": 4, "rate": 50, "duration": "6s"});
    let job = bench.post(&nginx_spec(&nginx, load)).await;
    let worker = bench.worker();
    let running = tokio::spawn(async move { worker.run_one(job, CancellationToken::new()).await });
    bench.until_measured(job).await;
    let disturbed = tokio::task::spawn_blocking(move || {
        disturb(&mut nginx);
        nginx
    });
    let _nginx = bounded(disturbed).await.unwrap();
    bounded(running).await.unwrap().unwrap();
    bench.result(job).await
}

fn tells(reasons: &[String], part: &str) -> bool {
    reasons.iter().any(|reason| reason.contains(part))
}

#[tokio::test]
async fn a_second_client_makes_the_figures_invalid() {
    let result = measured(|nginx| {
        let url = nginx.url("/");
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        for _ in 0..20 {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
            client.read_to_end(&mut Vec::new()).unwrap();
        }
    })
    .await;
    assert_eq!(result.verdict, Verdict::Invalid);
    assert_eq!(result.validity.reconciled, Some(false));
    let reasons = &result.validity.reasons;
    assert!(tells(reasons, "20 requests that are not ours"), "{reasons:?}");
}

#[tokio::test]
async fn an_nginx_that_is_restarted_makes_the_figures_invalid() {
    let result = measured(|nginx| nginx.restart().unwrap()).await;
    assert_eq!(result.verdict, Verdict::Invalid);
    assert_eq!(result.validity.reconciled, Some(false));
    let reasons = &result.validity.reasons;
    assert!(tells(reasons, "nginx was restarted during the run"), "{reasons:?}");
}

#[tokio::test]
async fn an_nginx_that_is_reloaded_counts_on_and_that_is_noted() {
    // By hand: `reload` asks until it is answered anew, which counts as well.
    let result = measured(|nginx| {
        let master = nginx.master_pid().unwrap().to_string();
        let sent = Command::new("kill").args(["-HUP", &master]).status().unwrap();
        assert!(sent.success());
    })
    .await;
    assert_eq!(result.validity.reconciled, Some(true), "{:?}", result.validity.reasons);
    assert_eq!(result.server.stub_status.as_ref().unwrap().restarts, 0);
    assert!(!tells(&result.validity.reasons, "restarted"), "{:?}", result.validity.reasons);
    assert!(tells(&result.notes, "it was reloaded"), "{:?}", result.notes);
}
