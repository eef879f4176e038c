//! A bare front to the engine, for measuring the engine itself:
//! `load URL CONNECTIONS THREADS (REQUESTS | SECONDS"s") [close] [warm]`.

use benchd_engine::{
    DriverChoice, Endpoint, HeaderDefaults, Plan, Progress, RequestPlan, Stop, TlsOptions, run,
};
use benchd_model::Tally;
use benchd_model::spec::Protocol;
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, connections, threads, amount, rest @ ..] = arguments.as_slice() else {
        return Err("load URL CONNECTIONS THREADS (REQUESTS | SECONDSs) [close] [warm]".into());
    };
    let url: url::Url = url.parse()?;
    let given = |word: &str| rest.iter().any(|argument| argument == word);
    let duration = amount.strip_suffix('s').map(str::parse::<f64>).transpose()?;
    let plan = Plan {
        endpoints: url.socket_addrs(|| None)?.into_iter().map(Endpoint::from).collect(),
        source_addresses: Vec::new(),
        url,
        request: RequestPlan {
            method: "GET".into(),
            defaults: HeaderDefaults::Benchd,
            ..RequestPlan::default()
        },
        protocol: Protocol::Http1,
        connections: connections.parse()?,
        requests: if duration.is_some() { None } else { Some(amount.parse()?) },
        duration: duration.map(Duration::from_secs_f64),
        keepalive: !given("close"),
        warmup: Duration::from_millis(if given("warm") { 500 } else { 0 }),
        timeout: Duration::from_secs(30),
        grace: Duration::from_secs(3),
        threads: threads.parse()?,
        preconnect: true,
        expect_status: vec!["2xx".into()],
        tls: TlsOptions { insecure: true, ..TlsOptions::default() },
        keep_rows: 0,
        driver: DriverChoice::from_environment()?,
    };
    let mut total = Tally::default();
    let run = run(&plan, &Stop::default(), &mut |progress| {
        if let Progress::Second(second) = progress {
            total.merge(&second.tally);
        }
    })?;
    println!("{:?}", total.counts);
    println!("{:?} {:?} {:?}", total.status_codes, total.bytes, total.connections);
    println!("latency {:?}", total.latency.summary());
    println!("connect {:?}", total.connect.summary());
    println!("{:?}", run.end);
    let cpu_us = total.generator_cpu_us as f64 / total.counts.ok.max(1) as f64;
    println!(
        "seconds={:.3} rps={:.0} us_per_request={cpu_us:.2} kept={} wait_us={}",
        total.span_s(),
        total.counts.ok as f64 / total.span_s(),
        total.kept_alive,
        total.generator_wait_us
    );
    Ok(())
}
