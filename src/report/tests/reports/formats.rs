//! The other formats, over results assembled from recordings.

use crate::sample::{Sample, trial};
use benchd_model::spec::LoadSpec;
use benchd_model::{Outcome, RunResult, TimelineRow, timeline};
use benchd_report::{Format, render, render_table, timeline_table};
use serde_json::{Value, json};

fn spec() -> Value {
    json!({"project": "shop", "scenario": "home page",
           "target": {"url": "http://127.0.0.1:8088/index.html",
                      "stub_status": "http://127.0.0.1:8088/nginx_status"},
           "load": {"connections": 2, "duration": "3s"},
           "criteria": ["latency_p50_ms < 500"], "labels": {"branch": "main"}})
}

/// Two trials, in the second of which requests fail and answers are odd.
fn troubled() -> Sample {
    let mut second = trial(1, 3);
    let tally = &mut second.seconds[1].tally;
    (0..7).for_each(|_| tally.counts.add(Outcome::Reset));
    (0..2).for_each(|_| tally.failed.record_us(3_600_000_000));
    crate::sample::answer(tally, 503, 20_000);
    let end = second.end.as_mut().unwrap();
    end.failure_reasons
        .insert("reset: the server closed the connection before it answered".into(), 7);
    end.notes.push("descriptor limit 64: ".to_owned() + &"long ".repeat(40));
    let mut spec = spec();
    spec["trials"] = json!(2);
    Sample::new(spec, vec![trial(0, 3), second])
}

#[test]
fn format_names_are_read_back_and_unknown_ones_refused() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    let refusal = "xml".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        refusal,
        "\"xml\" is no report format: one of json, ab, csv, markdown, junit, openmetrics, load_performance, hdr, table"
    );
}

#[test]
fn json_is_the_result_itself() {
    let sample = troubled();
    let text = render(Format::Json, &sample.report());
    assert!(text.starts_with("{\n  \"job_id\""), "{text}");
    let compact = serde_json::to_string(&sample.result).unwrap();
    let value = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    assert_eq!(value(&text), value(&compact));
    assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap().counts, sample.result.counts);
}

#[test]
fn csv_has_the_timelines_keys_and_an_empty_field_for_no_figure() {
    let mut recording = trial(0, 3);
    recording.polls.clear();
    let sample = Sample::new(spec(), vec![recording.clone()]);
    let text = render(Format::Csv, &sample.report());
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<TimelineRow> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows, timeline::all(&[recording], &sample.report().job.spec.load));
    assert!(text.starts_with("time,elapsed_s,trial,issued,ok,errors,rps,"), "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with(",,,,,,,,,"), "{text}");
    assert!(text.contains("2026-11-30T16:00:01.000Z,1.0,1,10,10,0,10.0,"), "{text}");
    assert_eq!(text.matches("\r\n").count(), 4);
}

#[test]
fn csv_of_an_empty_run_is_its_header() {
    let text = render(Format::Csv, &Sample::new(spec(), Vec::new()).report());
    assert!(
        text.starts_with("time,elapsed_s,") && text.ends_with(",lateness_p99_ms\r\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn markdown_says_what_a_reviewer_asks_first() {
    let text = render(Format::Markdown, &Sample::new(spec(), vec![trial(0, 3)]).report());
    assert!(text.starts_with("### benchd: pass, shop / home page\n\npass: "), "{text}");
    assert!(text.contains("| `latency_p50_ms < 500` | 5.003 | 500 | pass |"), "{text}");
    assert!(text.contains("| good responses | 10.0 per second |"), "{text}");
    assert!(text.contains("| nginx counted | 30 requests, 0 dropped |"), "{text}");
    assert!(text.contains("| labels | `branch=main` |"), "{text}");
    assert!(!text.contains("]("), "relative links lead nowhere from a summary: {text}");
    let mut linked = Sample::new(spec(), vec![trial(0, 3)]);
    for (name, url) in [("self", "http://b:1/jobs/1"), ("ab", "/jobs/1/result?format=ab")] {
        linked.result.links.insert(name.to_owned(), url.to_owned());
    }
    let linked = render(Format::Markdown, &linked.report());
    assert!(linked.ends_with("\n[job](<http://b:1/jobs/1>)\n\n"), "{linked}");
    let mut warned = spec();
    warned["criteria"] = json!(["warn: rps > 5k", "latency_p99_ms < 5"]);
    let warned = render(Format::Markdown, &Sample::new(warned, vec![trial(0, 3)]).report());
    assert!(warned.contains("| `warn: rps > 5k` | 10 | 5000 | warning |"), "{warned}");
    assert!(warned.contains("| `latency_p99_ms < 5` | nothing | 5 | no data: "), "{warned}");
    let failed = render(Format::Markdown, &troubled().report());
    assert!(failed.contains("INVALID") || failed.contains("FAIL"), "{failed}");
    assert!(failed.contains("7 reset"), "{failed}");
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let mut recording = trial(0, 1);
    let evil = "a|b`c` <script>x</script> [l](javascript:x) ![i](u)\n# h\n| --- |";
    let end = recording.end.as_mut().unwrap();
    end.first_response.as_mut().unwrap().software = Some(evil.into());
    end.failure_reasons.insert(evil.into(), 1);
    end.notes.push(evil.into());
    let mut spec = spec();
    spec["project"] = json!("a|b <b>");
    spec["labels"] = json!({"branch": "x|<img src=x onerror=y>"});
    spec["target"]["url"] = json!("http://127.0.0.1:8088/%60?a=|`<x>");
    let sample = Sample::new(spec, vec![recording]);
    let text = render(Format::Markdown, &sample.report());
    let unescaped = text.replace("\\]", "").replace("\\`", "");
    let outside_code: String = unescaped.split('`').step_by(2).collect();
    assert_eq!(unescaped.matches('`').count() % 2, 0, "{text}");
    for tag in ["<script", "<img", "<b>", "<x>", "](", "\n# h"] {
        assert!(!outside_code.contains(tag), "{tag} in {text}");
    }
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells = line.matches('|').count();
        assert!(cells == 3 || cells == 5, "{line}");
    }
    for format in [Format::Ab, Format::Table] {
        assert!(!render(format, &sample.report()).contains("\n# h"), "{}", format.name());
    }
}

#[test]
fn markdown_stays_small_whatever_is_in_it() {
    let mut sample = troubled();
    let long = "|<&".repeat(100_000);
    sample.result.summary.clone_from(&long);
    sample.result.notes = vec![long.clone(); 500];
    sample.result.validity.reasons = vec![long.clone(); 500];
    sample.result.failure_reasons.insert(long.clone(), 7);
    sample.job.spec.target.url = long;
    let text = render(Format::Markdown, &sample.report());
    assert!(text.len() < 400_000, "{} bytes", text.len());
    assert!(text.contains("\n- and 482 more\n"), "what is left out is counted");
}

#[test]
fn the_table_fits_a_terminal_and_starts_with_the_verdict() {
    for sample in
        [Sample::new(spec(), vec![trial(0, 3)]), troubled(), Sample::new(spec(), Vec::new())]
    {
        let text = render(Format::Table, &sample.report());
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line:?}");
        }
        let word = sample.result.verdict.name().to_uppercase();
        assert!(text.starts_with(&format!("{word}  ")), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert!(render_table(&sample.report(), true).starts_with("\u{1b}[1;3"));
    }
}

#[test]
fn the_table_shows_failures_only_when_there_are_some() {
    let good = render(Format::Table, &Sample::new(spec(), vec![trial(0, 3)]).report());
    assert!(!good.contains("failures") && !good.contains("+failed"), "{good}");
    assert!(!good.contains("Trials\n"), "{good}");
    assert!(good.contains("counted 30 requests, which agrees with what was sent"), "{good}");
    let bad = render(Format::Table, &troubled().report());
    assert!(bad.contains("  failures    7 reset\n"), "{bad}");
    assert!(bad.contains("7 × reset: the server closed"), "{bad}");
    assert!(bad.contains("200 × 60, 503 × 1"), "{bad}");
    assert!(bad.contains("Trials\n") && bad.contains("Spread over the trials\n"), "{bad}");
}

#[test]
fn a_long_timeline_is_thinned_and_says_so() {
    let rows = timeline::all(&[trial(0, 60)], &LoadSpec::default());
    let text = timeline_table(&rows);
    assert_eq!(text.lines().count(), 2 + 20 + 1);
    assert!(text.contains("   60.0 "), "{text}");
    assert!(text.ends_with("(one row in 3, 60 in all)\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!timeline_table(&rows[..20]).contains("one row in"));
    assert_eq!(timeline_table(&[]).lines().count(), 2);
}

/// A rate that the server could not follow in the second of three seconds.
fn overloaded() -> Sample {
    let mut recording = trial(0, 3);
    for second in &mut recording.seconds {
        let tally = &mut second.tally;
        (tally.due, tally.begun) = (10, 10);
        tally.lateness.record_us(80);
        tally.dispatch.record_us(80);
    }
    let tally = &mut recording.seconds[1].tally;
    tally.due += 1234;
    tally.lateness.record_us(1_500_000);
    for _ in 0..1234 {
        tally.counts.add(Outcome::Dropped);
        tally.failed.record_us(30_000_000);
    }
    let mut spec = spec();
    spec["load"]["rate"] = json!(1000);
    spec["load"]["arrivals"] = json!("poisson");
    Sample::new(spec, vec![recording])
}

#[test]
fn an_open_loop_shows_its_rate_what_it_dropped_and_how_late_it_was() {
    let sample = overloaded();
    let table = render_table(&sample.report(), false);
    for shown in [
        "open loop at 1,000/s (poisson), 2 connections",
        "1,000/s asked, 2.3 % achieved, 1,234 dropped",
        "1,234 dropped",
        "lateness",
        "dispatch",
        "the rate was missed",
    ] {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(!table.contains("closed loop"), "{table}");
    let timeline = timeline_table(&timeline::all(&sample.recordings, &sample.job.spec.load));
    let second: Vec<&str> = timeline.lines().nth(3).unwrap().split_whitespace().collect();
    assert_eq!(second[..4], ["2.0", "10", "1234", "1234"], "{timeline}");
    assert_eq!(second[7], "1500", "{timeline}");

    let markdown = render(Format::Markdown, &sample.report());
    assert!(
        markdown.contains("| load | open loop at 1,000/s (poisson), 2 connections"),
        "{markdown}"
    );
    assert!(markdown.contains("| rate | 1,000/s asked, 2.3 % achieved, 1,234 dropped |"));
    assert!(markdown.contains("| lateness | p50 0.080 · p99 1500 · max 1500 ms |"), "{markdown}");
    let ab = render(Format::Ab, &sample.report());
    assert!(ab.contains("Concurrency Level:      2\nOffered rate:           1000.00 [#/sec]\n"));
    assert!(ab.contains("Failed requests:        1234\n   (Connect: 1234,"), "{ab}");
    assert!(ab.contains("Dropped requests:       1234\n"), "{ab}");
    let csv = render(Format::Csv, &sample.report());
    assert!(csv.lines().nth(2).unwrap().ends_with(",1234,1500.0"), "{csv}");
}
