//! A bare front to the engine, for measuring the engine itself:
//! `load URL CONNECTIONS THREADS (REQUESTS | SECONDS"s") [close] [warm] [h2=STREAMS] [rate=N] [poisson]`.
//! At a rate it tells how far the gaps between requests are from the intended ones.

use benchd_engine::{
    DriverChoice, Endpoint, HeaderDefaults, Plan, Progress, Rate, RequestPlan, Row, Stop,
    TlsOptions, run,
};
use benchd_model::spec::{Arrivals, Protocol};
use benchd_model::{Histogram, Tally};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, connections, threads, amount, rest @ ..] = arguments.as_slice() else {
        return Err(
            "load URL CONNECTIONS THREADS (REQUESTS | SECONDSs) [close] [warm] [h2=STREAMS] [rate=N] [poisson]"
                .into(),
        );
    };
    let url: url::Url = url.parse()?;
    let given = |word: &str| rest.iter().any(|argument| argument == word);
    let streams = rest.iter().find_map(|argument| argument.strip_prefix("h2="));
    let duration = amount.strip_suffix('s').map(str::parse::<f64>).transpose()?;
    let rate = rest.iter().find_map(|argument| argument.strip_prefix("rate="));
    let rate: Option<f64> = rate.map(str::parse).transpose()?;
    let plan = Plan {
        endpoints: url.socket_addrs(|| None)?.into_iter().map(Endpoint::from).collect(),
        source_addresses: Vec::new(),
        url,
        request: RequestPlan {
            method: "GET".into(),
            defaults: HeaderDefaults::Benchd,
            ..RequestPlan::default()
        },
        protocol: if streams.is_some() { Protocol::H2 } else { Protocol::Http1 },
        connections: connections.parse()?,
        streams: streams.map_or(Ok(1), str::parse)?,
        requests: if duration.is_some() { None } else { Some(amount.parse()?) },
        duration: duration.map(Duration::from_secs_f64),
        rate: rate.map(|per_second| Rate {
            per_second,
            arrivals: if given("poisson") { Arrivals::Poisson } else { Arrivals::Constant },
            max_queued: 1_000_000,
            seed: 1,
        }),
        keepalive: !given("close"),
        warmup: Duration::from_millis(if given("warm") { 500 } else { 0 }),
        timeout: Duration::from_secs(30),
        grace: Duration::from_secs(3),
        threads: threads.parse()?,
        preconnect: true,
        expect_status: vec!["2xx".into()],
        tls: TlsOptions { insecure: true, ..TlsOptions::default() },
        keep_rows: if rate.is_some() { 10_000_000 } else { 0 },
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
    if let Some(rate) = rate {
        println!("lateness {:?}", total.lateness.summary());
        println!("dispatch {:?}", total.dispatch.summary());
        tell_gaps(&run.rows);
        let achieved = total.begun as f64 / total.span_s();
        println!(
            "due={} begun={} dropped={} rate={achieved:.2} of {rate} ({:+.4} %)",
            total.due,
            total.begun,
            total.counts.dropped,
            (achieved / rate - 1.0) * 100.0
        );
    }
    let cpu_us = total.generator_cpu_us as f64 / total.counts.ok.max(1) as f64;
    println!(
        "seconds={:.3} rps={:.0} us_per_request={cpu_us:.2} kept={} wait_us={} busy={:.2}",
        total.span_s(),
        total.counts.ok as f64 / total.span_s(),
        total.kept_alive,
        total.generator_wait_us,
        total.generator_busiest_us as f64 / total.span_us.max(1) as f64
    );
    Ok(())
}

/// By how much the time between two requests differs from the intended one.
fn tell_gaps(rows: &[Row]) {
    let mut errors = Histogram::new();
    for pair in rows.windows(2) {
        // Both were as late as their requests took to go out.
        errors.record_us(u64::from(pair[0].connect_us.abs_diff(pair[1].connect_us)));
    }
    println!("inter-arrival error {:?}", errors.summary());
}
