//! What pipelines read: JUnit, OpenMetrics, k6's summary, HdrHistogram's text.

use crate::sample::{Sample, answer, spec_of, trial};
use benchd_model::statistics::{Arm, Decision};
use benchd_model::{Outcome, SecondRecord, Tally, Verdict};
use benchd_report::{Format, render};
use hdrhistogram::Histogram as Hdr;
use roxmltree::{Document, Node};
use serde_json::{Value, json};

fn judged(criteria: &Value) -> Sample {
    let spec = json!({"project": "shop", "scenario": "home page",
        "target": {"url": "http://127.0.0.1:8088/"}, "load": {"connections": 2, "duration": "3s"},
        "criteria": criteria});
    Sample::new(spec, vec![trial(0, 3)])
}

/// A run that nothing is believed of: most of its requests were dropped.
fn invalid() -> Sample {
    let mut recording = trial(0, 3);
    let tally = &mut recording.seconds[1].tally;
    (tally.due, tally.begun) = (1030, 30);
    for _ in 0..1000 {
        tally.counts.add(Outcome::Dropped);
        tally.failed.record_us(1_000_000);
    }
    let spec = json!({"target": {"url": "http://127.0.0.1:8088/"},
        "load": {"connections": 2, "duration": "3s", "model": "open", "rate": 350},
        "criteria": ["latency_max_ms < 500"]});
    Sample::new(spec, vec![recording])
}

/// Each test case with what it contains beside its output.
fn cases(sample: &Sample) -> Vec<(String, String)> {
    let text = render(Format::Junit, &sample.report());
    let document = Document::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    let all: Vec<Node<'_, '_>> =
        suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    let with = |tag| {
        all.iter().filter(|case| case.children().any(|child| child.has_tag_name(tag))).count()
    };
    for (attribute, count) in [
        ("tests", all.len()),
        ("failures", with("failure")),
        ("errors", with("error")),
        ("skipped", with("skipped")),
    ] {
        let counted: usize = suite.attribute(attribute).unwrap().parse().unwrap();
        assert_eq!(counted, count, "{attribute} in {text}");
    }
    let ended = |case: &Node<'_, '_>| {
        let end =
            case.children().find(|child| child.is_element() && !child.has_tag_name("system-out"));
        end.map_or("success".to_owned(), |end| end.tag_name().name().to_owned())
    };
    let name = |case: &Node<'_, '_>| case.attribute("name").unwrap().to_owned();
    all.iter().map(|case| (name(case), ended(case))).collect()
}

fn pairs(cases: &[(&str, &str)]) -> Vec<(String, String)> {
    cases.iter().map(|(name, end)| ((*name).to_owned(), (*end).to_owned())).collect()
}

#[test]
fn junit_has_a_case_for_each_criterion() {
    let sample = judged(&json!([
        "latency_max_ms < 500",
        "latency_max_ms < 0.1",
        "latency_p99_ms < 5",
        "warn: latency_max_ms < 0.2"
    ]));
    assert_eq!(
        cases(&sample),
        pairs(&[
            ("latency_max_ms < 500", "success"),
            ("latency_max_ms < 0.1", "failure"),
            ("latency_p99_ms < 5", "skipped"),
            ("warn: latency_max_ms < 0.2", "success"),
            ("error_ratio < 0.01", "success"),
        ])
    );
    let text = render(Format::Junit, &sample.report());
    for piece in [
        "<property name=\"verdict\" value=\"fail\"/>",
        "<property name=\"job_id\" value=\"01938000-0000-7000-8000-000000000001\"/>",
        "<property name=\"summary\" value=\"fail: latency_max_ms &lt; 0.1 is violated",
        "message=\"latency_max_ms &lt; 0.1 is violated, observed 10\"",
        ">warning: latency_max_ms &lt; 0.2 is violated, observed 10<",
        "classname=\"shop / home page\"",
    ] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
}

#[test]
fn junit_is_never_greener_than_the_verdict() {
    let sample = invalid();
    assert_eq!(sample.result.verdict, Verdict::Invalid, "{}", sample.result.summary);
    let ends: Vec<String> = cases(&sample).into_iter().map(|(_, end)| end).collect();
    assert_eq!(ends, ["error", "skipped", "skipped"]);
    let text = render(Format::Junit, &sample.report());
    assert!(text.contains(">the rate was missed: "), "{text}");

    // Whatever the verdict comes from, something says so.
    for (verdict, end) in [
        (Verdict::Fail, "failure"),
        (Verdict::Inconclusive, "skipped"),
        (Verdict::Invalid, "error"),
    ] {
        let mut sample = judged(&json!(["latency_max_ms < 500"]));
        sample.result.verdict = verdict;
        assert!(cases(&sample).iter().any(|(_, ended)| ended == end), "{verdict}");
    }
}

#[test]
fn junit_stays_well_formed_whatever_is_in_it() {
    let mut sample = judged(&json!(["latency_max_ms < 500"]));
    sample.job.spec.scenario = "a<b>&\"'\u{1}\u{fffe}]]>\n\u{1b}[0m".to_owned();
    sample.result.summary = "]]> <x a=\"&\u{0}\">\u{202e}".to_owned();
    assert_eq!(cases(&sample).len(), 2);
    let nothing = Sample::new(json!({"target": {"url": "http://h/"}}), Vec::new());
    assert!(cases(&nothing).iter().all(|(_, end)| end != "success"), "{:?}", cases(&nothing));
}

/// Six blocks in which the candidate answered as the baseline, but so much slower.
fn compared(slower: u64) -> Sample {
    let spec = json!({"target": {"url": "http://h/"}, "load": {"connections": 2, "duration": "3s"},
        "compare": {"baseline": {}, "blocks": 6, "metric": "latency_p50_ms"}});
    let parsed = spec_of(&spec);
    let job = Sample::new(json!({"target": {"url": "http://h/"}}), Vec::new()).job.id;
    let recordings = (0..12).map(|index| {
        let mut recording = trial(index, 3);
        recording.polls.clear();
        let candidate = parsed.arm_of_trial(job, index) == Arm::B;
        for second in &mut recording.seconds {
            second.tally = Tally { span_us: 1_000_000, ..Tally::default() };
            for at in 0..100 {
                let micros = 10_000 + u64::from(index) * 7 + at;
                answer(&mut second.tally, 200, micros + if candidate { slower } else { 0 });
            }
        }
        recording
    });
    Sample::new(spec, recordings.collect())
}

#[test]
fn a_comparison_is_a_case_of_its_own_and_every_figure_is_the_candidates() {
    let name = "latency_p50_ms against the baseline, margin 5 %";
    for (slower, decision, end, shown) in [
        (3000, Decision::Regression, "failure", "| **regression** |"),
        (0, Decision::NoRegression, "success", "| no regression |"),
    ] {
        let sample = compared(slower);
        let comparison = sample.result.comparison.as_ref().unwrap();
        assert_eq!(comparison.decision, decision, "{comparison:#?}");
        assert!(
            cases(&sample).contains(&(name.to_owned(), end.to_owned())),
            "{:?}",
            cases(&sample)
        );
        let markdown = render(Format::Markdown, &sample.report());
        assert!(markdown.contains(shown), "{markdown}");
        // Of both sides together there were twelve trials.
        assert!(markdown.contains(" s in 6 trials |"), "{markdown}");
        assert!(markdown.contains("| baseline | `the candidate itself` |"), "{markdown}");
        let hdr = render(Format::Hdr, &sample.report());
        assert!(hdr.contains("Total count    =         1800]"), "{hdr}");
        let ab = render(Format::Ab, &sample.report());
        assert!(ab.contains("Complete requests:      1800\n"), "{ab}");
    }
    let mut other = compared(0);
    let baseline = json!({"target": {"url": "http://old/"}, "load": {"connections": 9},
        "request": {"headers": {"accept": "text/plain"}}});
    other.job.spec = spec_of(&json!({"target": {"url": "http://h/"},
        "load": {"connections": 2, "duration": "3s"}, "compare": {"baseline": baseline}}));
    let told = "GET http://old/, differs in load.connections 9, request.headers";
    let markdown = render(Format::Markdown, &other.report());
    assert!(markdown.contains(&format!("| baseline | `{told}` |")), "{markdown}");
    let table = render(Format::Table, &other.report());
    assert!(table.contains("Run of the candidate\n") && table.contains("http://old/"), "{table}");
    let mut undecided = compared(0);
    undecided.result.comparison.as_mut().unwrap().decision = Decision::Inconclusive;
    assert!(cases(&undecided).contains(&(name.to_owned(), "skipped".to_owned())));
    let mut advised = compared(3000);
    advised.result.verdict = Verdict::Pass;
    advised.result.comparison.as_mut().unwrap().advisory = true;
    assert!(cases(&advised).iter().all(|(_, end)| end == "success"), "{:?}", cases(&advised));
}

/// Checks a text by the grammar of OpenMetrics 1.0 as far as gauges go, and gives
/// the samples: name with labels, and value.
fn samples(text: &str) -> Vec<(&str, f64)> {
    let lines: Vec<&str> =
        text.strip_suffix("# EOF\n").expect("it ends with EOF").lines().collect();
    let mut family = String::new();
    let mut samples = Vec::new();
    for line in lines {
        if let Some(comment) = line.strip_prefix("# ") {
            let parts: Vec<&str> = comment.splitn(3, ' ').collect();
            let [keyword, name, rest] = parts[..] else { panic!("{line}") };
            match keyword {
                "HELP" => {
                    assert_ne!(family, name, "a family stands in one piece");
                    family = name.to_owned();
                }
                "TYPE" => assert_eq!((name, rest), (&*family, "gauge")),
                "UNIT" => assert!(name == family && name.ends_with(&format!("_{rest}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let labels = series.strip_prefix(&family).expect("samples follow their family's head");
        let labels = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
        // Quotes inside values are escaped, so that each label has just two bare ones.
        let bare = labels.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(bare.matches('"').count(), 2 * bare.matches("=\"").count(), "{line}");
        samples.push((series, value.parse().unwrap()));
    }
    samples
}

#[test]
fn openmetrics_has_base_units_and_no_label_that_grows_with_the_runs() {
    let mut sample = judged(&json!([]));
    sample.job.spec.labels.insert("commit".to_owned(), "4f2c9e1".to_owned());
    sample.job.finished_at = Some(sample.job.created_at);
    let text = render(Format::OpenMetrics, &sample.report());
    let samples = samples(&text);
    let scenario = "project=\"shop\",scenario=\"home page\"";
    for (series, value) in [
        (format!("benchd_latency_seconds{{{scenario},quantile=\"0.5\"}}"), 0.005_003),
        (format!("benchd_latency_seconds{{{scenario},quantile=\"1\"}}"), 0.01),
        (format!("benchd_requests_per_second{{{scenario}}}"), 10.0),
        (format!("benchd_error_ratio{{{scenario}}}"), 0.0),
        (format!("benchd_requests{{{scenario},outcome=\"ok\"}}"), 30.0),
    ] {
        assert!(samples.contains(&(&series, value)), "{series} {value} in {text}");
    }
    for growing in ["4f2c9e1", "01938000", "completed"] {
        assert!(!text.contains(growing), "{growing} in {text}");
    }
}

#[test]
fn openmetrics_says_nothing_where_there_is_no_figure_and_nothing_breaks_gitlabs_reader() {
    let mut nothing = Sample::new(json!({"target": {"url": "http://h/"}}), Vec::new());
    nothing.job.spec.scenario = "a \"b\\ #1".to_owned();
    let text = render(Format::OpenMetrics, &nothing.report());
    assert!(samples(&text).iter().all(|(series, _)| !series.starts_with("benchd_latency")));
    assert!(!text.contains("benchd_latency") && !text.contains("benchd_error_ratio"), "{text}");
    // GitLab cuts a line at a number sign, and splits the rest as a shell would.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(!line.contains('#') && line.contains("scenario=\"a \\\"b\\\\ _1\""), "{line}");
    }
}

#[test]
fn load_performance_has_the_keys_that_gitlab_reads() {
    let mut recording = trial(0, 3);
    answer(&mut recording.seconds[1].tally, 503, 20_000);
    recording.seconds[2].tally.counts.add(Outcome::Reset);
    recording.seconds[2].tally.counts.add(Outcome::Aborted);
    let spec =
        json!({"target": {"url": "http://h/"}, "load": {"connections": 2, "duration": "3s"}});
    let sample = Sample::new(spec, vec![recording]);
    let text = render(Format::LoadPerformance, &sample.report());
    let metrics = &serde_json::from_str::<Value>(&text).unwrap()["metrics"];
    assert_eq!(metrics["http_reqs"]["rate"], sample.result.rps);
    assert_eq!(metrics["http_req_waiting"]["p(90)"], json!(sample.result.ttfb_ms.p90));
    assert_eq!(metrics["http_req_waiting"]["p(95)"], json!(sample.result.ttfb_ms.p95));
    assert_eq!(
        (&metrics["checks"]["passes"], &metrics["checks"]["fails"]),
        (&json!(30), &json!(2))
    );
}

#[test]
fn hdr_is_what_hdrhistogram_itself_prints() {
    let mut hdr = Hdr::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
    let mut tally = Tally { span_us: 1_000_000, ..Tally::default() };
    for index in 0..30_000u64 {
        let micros = 1 + (index * index) % 2039;
        hdr.record(micros).unwrap();
        answer(&mut tally, 200, micros);
    }
    let mut recording = trial(0, 1);
    recording.seconds = vec![SecondRecord { index: 0, connections_open: 2, tally, kernel: None }];
    let spec = json!({"target": {"url": "http://h/"}});
    let text = render(Format::Hdr, &Sample::new(spec, vec![recording]).report());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("       Value   Percentile   TotalCount 1/(1-Percentile)"));
    assert_eq!(lines.next(), Some(""));
    let mut below = 0;
    let expected: Vec<String> = hdr
        .iter_quantiles(5)
        .map(|step| {
            below += step.count_since_last_iteration();
            let quantile = step.quantile_iterated_to();
            let inverse = 1.0 / (1.0 - quantile);
            let ms = step.value_iterated_to() as f64 / 1000.0;
            format!("{ms:>12.3} {quantile:>12.6} {below:>12} {inverse:>12.2}")
        })
        .collect();
    let printed: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with('#')).collect();
    assert_eq!(printed, expected);
    assert!(
        text.contains("\n#[Max     =        2.033, Total count    =        30000]\n"),
        "{text}"
    );

    let empty = Sample::new(json!({"target": {"url": "http://h/"}}), Vec::new());
    let text = render(Format::Hdr, &empty.report());
    assert_eq!(text.lines().filter(|line| line.starts_with("#[")).count(), 3, "{text}");
    assert_eq!(text.lines().count(), 5, "{text}");
}
