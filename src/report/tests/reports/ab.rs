//! ab's report against what the real ab 2.4.71 printed (`golden/`).

use crate::sample::{Sample, answer, spec_of};
use benchd_model::recording::FirstResponse;
use benchd_model::{Histogram, Outcome, Tally, TrialEnd};
use benchd_report::ab::{AbReport, AbRow};
use benchd_report::{Format, render};
use serde_json::{Value, json};

/// Reads `Label:   value rest` out of a golden report.
fn value<'a>(golden: &'a str, label: &str) -> &'a str {
    let line = golden.lines().find(|line| line.starts_with(label)).unwrap_or_default();
    line.get(24..).unwrap_or_default()
}

fn number(golden: &str, label: &str) -> u64 {
    let text = value(golden, label).split(' ').next().unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// A report over the counts that a golden report shows.
fn report_like(golden: &str, spec: Value, rows: &[AbRow]) -> AbReport {
    let complete = number(golden, "Complete requests:");
    let rate: f64 =
        value(golden, "Requests per second:").split(' ').next().unwrap().parse().unwrap();
    let mut tally = Tally {
        // ab prints the rate with more digits than the time.
        span_us: (complete as f64 / rate * 1e6).round() as u64,
        kept_alive: number(golden, "Keep-Alive requests:"),
        length_differs: number(golden, "Failed requests:"),
        ..Tally::default()
    };
    tally.counts.issued = complete;
    tally.counts.ok = complete;
    let odd = number(golden, "Non-2xx responses:");
    tally.status_codes.insert(404, odd);
    tally.status_codes.insert(200, complete - odd);
    tally.bytes.received = number(golden, "Total transferred:");
    tally.bytes.body = number(golden, "HTML transferred:");
    tally.bytes.sent = number(golden, "Total body sent:");
    let tls = value(golden, "SSL/TLS Protocol:");
    let first = FirstResponse {
        software: Some(value(golden, "Server Software:").to_owned()),
        document_bytes: number(golden, "Document Length:"),
        tls: (!tls.is_empty()).then(|| tls.to_owned()),
    };
    let end = TrialEnd { first_response: Some(first), ..TrialEnd::default() };
    AbReport::new(&spec_of(&spec), &tally, &[end], Some(rows))
}

fn spec(url: &str, connections: u32, requests: u64, keepalive: bool) -> Value {
    json!({"target": {"url": url, "insecure": url.starts_with("https")},
           "load": {"connections": connections, "requests": requests, "keepalive": keepalive}})
}

/// The report without what differs on purpose: the banner, and one TLS line.
fn comparable(text: &str) -> Vec<String> {
    let body = text.find("Benchmarking").map_or(text, |at| &text[at..]);
    let kept = |line: &&str| !line.starts_with("Server Temp Key:");
    body.lines().filter(kept).map(str::to_owned).collect()
}

/// In the lines of times, figures become `9` at the column where they end.
fn without_times(lines: Vec<String>) -> Vec<String> {
    let timed = ["Connect:", "Processing:", "Waiting:", "Total: ", "  ", " 100%"];
    let remark = ["ERROR:", "WARNING:", "       deviation", "        These"];
    let starts = |line: &String, with: &[&str]| with.iter().any(|w| line.starts_with(w));
    let shape = |line: String| {
        let figures = starts(&line, &timed) && line.contains(|c: char| c.is_ascii_digit());
        if !figures || line.contains('[') || line.contains("kb/s") || line.contains("(Connect") {
            return line;
        }
        let mut shaped = String::new();
        for (at, c) in line.char_indices() {
            let ends = !line[at + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '.');
            shaped.push(match c {
                '0'..='9' if at > 5 => {
                    if ends {
                        '9'
                    } else {
                        ' '
                    }
                }
                '.' => ' ',
                other => other,
            });
        }
        shaped
    };
    lines.into_iter().filter(|line| !starts(line, &remark)).map(shape).collect()
}

#[test]
fn every_line_stands_where_ab_puts_it() {
    let post = json!({"target": {"url": "http://127.0.0.1:18123/post"},
        "request": {"method": "POST", "body": "abc\n"},
        "load": {"connections": 2, "requests": 10, "keepalive": false}});
    let get = |url: &str, c, n, k| spec(url, c, n, k);
    let cases = [
        (include_str!("../golden/get.txt"), get("http://127.0.0.1:18123/", 4, 200, false)),
        (
            include_str!("../golden/keepalive-404.txt"),
            get("http://127.0.0.1:18123/nope?a=1", 2, 10, true),
        ),
        (include_str!("../golden/post.txt"), post),
        (include_str!("../golden/head-ipv6.txt"), get("http://[::1]:18123/", 2, 10, false)),
        (include_str!("../golden/tls.txt"), get("https://localhost:18124/", 2, 3, false)),
        (include_str!("../golden/single.txt"), get("http://127.0.0.1:18123/", 1, 1, false)),
    ];
    for (golden, spec) in cases {
        let complete = number(golden, "Complete requests:") as usize;
        let mut report = report_like(golden, spec, &vec![AbRow::default(); complete]);
        report.variable_length = golden.contains("Variable");
        report.percentiles = !golden.contains("TLS Server Name");
        report.confidence = report.percentiles;
        let (ours, abs) = (report.to_text(), comparable(golden));
        assert_eq!(without_times(comparable(&ours)), without_times(abs), "{ours}");
    }
}

#[test]
fn rows_give_abs_figures_to_the_last_digit() {
    for (golden, csv) in [
        (include_str!("../golden/slow.txt"), include_str!("../golden/slow.csv")),
        (include_str!("../golden/slow-l.txt"), include_str!("../golden/slow-l.csv")),
    ] {
        // With 100 rows, row i of ab's -e file is the i-th smallest total.
        let total = |line: &str| -> f64 { line.split_once(',').unwrap().1.parse().unwrap() };
        let totals = csv.lines().skip(1).take(100).map(total);
        let mut rows: Vec<AbRow> = totals
            .map(|ms| AbRow { total_us: (ms * 1000.0).round() as u64, ..AbRow::default() })
            .collect();
        rows.reverse();
        let mut report = report_like(golden, spec("http://127.0.0.1:18199/", 5, 100, false), &rows);
        report.variable_length = golden.contains("Variable");
        report.confidence = !report.variable_length;
        let known = |text: &str| -> Vec<String> {
            let others = ["Connect:", "Processing:", "Waiting:"];
            let lines = comparable(text).into_iter();
            lines.filter(|line| !others.iter().any(|label| line.starts_with(label))).collect()
        };
        let ours = report.to_text();
        assert_eq!(known(&ours), known(golden), "{ours}");
        assert_eq!(report.csv(), csv);
    }
}

#[test]
fn a_run_without_any_answer_shows_no_rate_and_no_time() {
    let recordings = Vec::new();
    let none = Sample::new(spec("http://127.0.0.1:18123/", 4, 200, true), recordings);
    let text = render(Format::Ab, &none.report());
    assert_eq!(text.split_once('\n').unwrap().1, include_str!("../golden/none.txt"));
    assert!(text.starts_with("This is benchd "), "{text}");
    assert!(!text.contains("ApacheBench"), "{text}");
}

#[test]
fn failures_count_requests_and_each_has_one_class() {
    let mut tally = Tally { span_us: 2_000_000, ..Tally::default() };
    let times = [
        (Outcome::Connect, 1),
        (Outcome::Tls, 2),
        (Outcome::Local, 4),
        (Outcome::Reset, 8),
        (Outcome::Timeout, 16),
        (Outcome::Truncated, 32),
        (Outcome::Protocol, 64),
        (Outcome::Send, 128),
        (Outcome::Aborted, 1000),
    ];
    for (outcome, times) in times {
        (0..times).for_each(|_| tally.counts.add(outcome));
    }
    let spec = spec_of(&spec("http://127.0.0.1:1/", 1, 255, false));
    let mut report = AbReport::new(&spec, &tally, &[], None);
    assert_eq!(report.failed(), tally.counts.failures());
    let text = report.to_text();
    assert!(text.contains("Complete requests:      0\nFailed requests:        255\n"), "{text}");
    assert!(text.contains("   (Connect: 7, Receive: 24, Length: 32, Exceptions: 192)\n"), "{text}");
    assert!(text.ends_with("HTML transferred:       0 bytes\n"), "{text}");

    (0..3).for_each(|_| answer(&mut tally, 200, 1000));
    tally.length_differs = 2;
    report = AbReport::new(&spec, &tally, &[], None);
    assert_eq!(report.failed_length(), 34);
    report.variable_length = true;
    assert_eq!(report.failed_length(), 32);
}

#[test]
fn counters_beyond_32_bits_and_times_of_an_hour_stay_figures() {
    let mut latency = Histogram::new();
    latency.record_us(3_600_000_000);
    latency.record_us(1);
    for _ in 0..32 {
        let copy = latency.clone();
        latency.merge(&copy);
    }
    let mut tally = Tally { span_us: 86_400_000_000, ..Tally::default() };
    tally.counts.issued = latency.len() + 5_000_000_000;
    tally.counts.ok = latency.len();
    tally.counts.reset = 5_000_000_000;
    tally.bytes.received = u64::MAX / 4;
    tally.service = latency.clone();
    tally.latency = latency;
    let spec = spec_of(&spec("http://127.0.0.1/", 10_000, 10_000_000_000, true));
    let text = AbReport::new(&spec, &tally, &[], None).to_text();
    assert!(
        text.contains("Complete requests:      8589934592\nFailed requests:        5000000000\n")
    );
    assert!(text.contains("Total:          0 1800000 1800000.0 3600000 3600000\n"), "{text}");
    assert!(text.contains("Connect:        0    0   0.0      0       0\n"), "{text}");
    assert!(text.contains("  50%  3600000\n"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn rows_that_are_not_all_rows_are_no_base_for_percentiles() {
    let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
    (0..10).for_each(|_| answer(&mut tally, 200, 8_000));
    let row = AbRow { total_us: 1_000, ..AbRow::default() };
    let spec = spec_of(&spec("http://127.0.0.1/", 1, 10, true));
    let text = AbReport::new(&spec, &tally, &[], Some(&[row; 9])).to_text();
    assert!(text.contains("  50%      8\n"), "{text}");
    let text = AbReport::new(&spec, &tally, &[], Some(&[row; 10])).to_text();
    assert!(text.contains("  50%      1\n"), "{text}");
}

#[test]
fn connecting_counts_for_no_time_on_reused_connections() {
    let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
    (0..4).for_each(|_| answer(&mut tally, 200, 10_000));
    tally.connect.record_us(8_000);
    tally.tls.record_us(12_000);
    let spec = spec_of(&spec("https://localhost/", 1, 4, true));
    let text = AbReport::new(&spec, &tally, &[], None).to_text();
    assert!(text.contains("Connect:        0    5  10.0      0      20\n"), "{text}");
}

#[test]
fn the_files_hold_every_row_and_nothing_else() {
    let row =
        |start_us, connect_us, wait_us, total_us| AbRow { start_us, connect_us, wait_us, total_us };
    let rows = [row(1_500_000, 400, 1_200, 3_000), row(0, 0, 900, 1_499)];
    let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
    (0..2).for_each(|_| answer(&mut tally, 200, 1_000));
    let spec = spec_of(&spec("http://127.0.0.1/", 1, 2, true));
    let mut report = AbReport::new(&spec, &tally, &[], Some(&rows));
    report.started_us = 1_796_054_859_000_000;
    assert_eq!(
        report.gnuplot(),
        "starttime\tseconds\tctime\tdtime\tttime\twait\n\
         Mon Nov 30 16:07:39 2026\t1796054859\t0\t1\t1\t1\n\
         Mon Nov 30 16:07:40 2026\t1796054860\t0\t3\t3\t1\n"
    );
    let csv = report.csv();
    assert_eq!(csv.lines().count(), 102);
    assert!(csv.ends_with("99,3.000\n100,3.000\n"), "{csv}");

    // A quarter of two rows is rounded up to the second.
    assert!(csv.contains("\n24,1.499\n25,3.000\n"), "{csv}");

    let empty = AbReport::new(&spec, &Tally::default(), &[], Some(&[]));
    assert_eq!(empty.csv(), "Percentage served,Time in ms\n");
    assert_eq!(empty.gnuplot().lines().count(), 1);
}

#[test]
fn rounded_mean_and_median_are_weighed_against_the_deviation() {
    let error = "ERROR: The median and mean for the total time are more than twice the standard\n       \
                 deviation apart. These results are NOT reliable.\n";
    let warning = "WARNING: The median and mean for the total time are not within a normal deviation\n        \
                   These results are probably not that reliable.\n";
    for (totals, said) in [
        ([10_000, 20_000, 30_000, 40_000], None),
        // Mean 1, median 2, deviation 0.5.
        ([700, 700, 1_600, 1_600], Some(warning)),
        // Mean 1, median 2, deviation 0.2.
        ([1_300, 1_300, 1_600, 1_600], Some(error)),
    ] {
        let rows = totals.map(|total_us| AbRow { total_us, ..AbRow::default() });
        let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
        totals.iter().for_each(|total| answer(&mut tally, 200, *total));
        let spec = spec_of(&spec("http://127.0.0.1/", 1, 4, false));
        let text = AbReport::new(&spec, &tally, &[], Some(&rows)).to_text();
        assert!(!text.contains("initial connection") && !text.contains("waiting time"), "{text}");
        for known in [error, warning] {
            assert_eq!(text.contains(known), said == Some(known), "{text}");
        }
    }
}

#[test]
fn a_server_cannot_steer_the_terminal() {
    let first =
        FirstResponse { software: Some("evil\u{1b}[2J\n".into()), ..FirstResponse::default() };
    let end = TrialEnd { first_response: Some(first), ..TrialEnd::default() };
    let spec = spec_of(&spec("http://127.0.0.1/", 1, 2, true));
    let text = AbReport::new(&spec, &Tally::default(), &[end], None).to_text();
    assert!(text.contains("Server Software:        evil?[2J?\n"), "{text}");
}
