//! JUnit XML, as GitLab, Jenkins and GitHub's test reporters read it: one test
//! case for each criterion. What no criterion says has a case of its own, so that
//! the report is never greener than the verdict.

use crate::Report;
use crate::figures::printable;
use benchd_model::criteria::{CriterionOutcome, CriterionStatus, Severity};
use benchd_model::statistics::{Comparison, Decision};
use benchd_model::{RunResult, Verdict};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// Renders the report.
pub(crate) fn render(report: &Report<'_>) -> String {
    let (spec, result) = (&report.job.spec, report.result);
    let scenario = text(&format!("{} / {}", spec.project, spec.scenario));
    let mut suite = TestSuite::new(scenario.as_str());
    suite.set_time(Duration::try_from_secs_f64(result.duration_s).unwrap_or_default());
    suite.add_properties([
        ("job_id", &*result.job_id.to_string()),
        ("verdict", result.verdict.name()),
        ("summary", &text(&result.summary)),
        ("environment", &text(&result.environment.fingerprint)),
    ]);
    for mut case in cases(result) {
        case.set_classname(scenario.as_str());
        suite.add_test_case(case);
    }
    let mut junit = quick_junit::Report::new("benchd");
    junit.set_time(suite.time.unwrap_or_default()).add_test_suite(suite);
    let mut xml = junit.to_string().expect("memory takes every text");
    if !xml.ends_with('\n') {
        xml.push('\n');
    }
    xml
}

fn cases(result: &RunResult) -> Vec<TestCase> {
    let criteria = result.criteria.iter().map(|criterion| case_of(criterion, result));
    let comparison = result.comparison.as_ref().map(|comparison| compared(comparison, result));
    let mut cases: Vec<TestCase> = criteria.chain(comparison).collect();
    if !cases.iter().any(|case| tells(&case.status, result.verdict)) {
        let status = match result.verdict {
            Verdict::Pass => return cases,
            Verdict::Fail => failed(NonSuccessKind::Failure, "fail", &result.summary),
            Verdict::Inconclusive => skipped(&result.summary),
            Verdict::Invalid => {
                let reasons = result.validity.reasons.join("; ");
                let mut status = failed(NonSuccessKind::Error, "invalid", &result.summary);
                status.set_description(text(&reasons));
                status
            }
        };
        let name = if result.verdict == Verdict::Invalid { "validity" } else { "verdict" };
        cases.insert(0, TestCase::new(name, status));
    }
    cases
}

/// Whether a case that ended like this explains the verdict.
fn tells(status: &TestCaseStatus, verdict: Verdict) -> bool {
    match (verdict, status) {
        (Verdict::Fail, TestCaseStatus::NonSuccess { .. })
        | (Verdict::Inconclusive, TestCaseStatus::Skipped { .. }) => true,
        _ => verdict == Verdict::Pass,
    }
}

fn case_of(criterion: &CriterionOutcome, result: &RunResult) -> TestCase {
    let mut told = criterion.in_words();
    let status = match (criterion.status, criterion.severity) {
        // Figures that cannot be trusted decide nothing, either way.
        _ if result.verdict == Verdict::Invalid => {
            skipped(&format!("{told}, but the figures cannot be trusted"))
        }
        (CriterionStatus::Fail, Severity::Warn) => {
            told.insert_str(0, "warning: ");
            TestCaseStatus::success()
        }
        (CriterionStatus::Pass, _) => TestCaseStatus::success(),
        (CriterionStatus::Fail, _) => failed(NonSuccessKind::Failure, "criterion", &told),
        (CriterionStatus::NoData, _) => skipped(&told),
    };
    let mut case = TestCase::new(text(&criterion.expression), status);
    case.set_system_out(text(&told));
    case
}

fn compared(comparison: &Comparison, result: &RunResult) -> TestCase {
    let told = &comparison.summary;
    let status = match comparison.decision {
        _ if result.verdict == Verdict::Invalid => {
            skipped("the figures of the candidate cannot be trusted")
        }
        Decision::Regression if !comparison.advisory => {
            failed(NonSuccessKind::Failure, "comparison", told)
        }
        Decision::Inconclusive => skipped(told),
        Decision::Regression | Decision::NoRegression | Decision::Improvement => {
            TestCaseStatus::success()
        }
    };
    let name =
        format!("{} against the baseline, margin {} %", comparison.metric, comparison.margin_pct);
    let mut case = TestCase::new(name, status);
    case.set_system_out(text(told));
    case
}

fn failed(kind: NonSuccessKind, ty: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(ty).set_message(text(message));
    status
}

fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(text(message));
    status
}

/// Text from outside without what XML cannot hold.
fn text(outside: &str) -> String {
    printable(outside).replace(['\u{fffe}', '\u{ffff}'], "?")
}
