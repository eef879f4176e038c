//! What a run comes to: its criteria judged, its verdict, and that in one
//! sentence that a reviewer reads in a log.

use crate::criteria::{Criterion, CriterionOutcome, CriterionStatus, Grounds, Severity};
use crate::recording::EndReason;
use crate::spec::DEFAULT_CRITERION;
use crate::statistics::Decision;
use crate::{RunResult, Tally, Verdict};

/// Judges each criterion, and the one on errors that always stands.
pub(crate) fn criteria(expressions: &[String], grounds: &Grounds<'_>) -> Vec<CriterionOutcome> {
    let read: Vec<_> =
        expressions.iter().map(|text| (text.as_str(), Criterion::parse(text))).collect();
    let has_own = read.iter().any(|(_, read)| read.as_ref().is_ok_and(Criterion::limits_errors));
    let default = (!has_own).then(|| (DEFAULT_CRITERION, Criterion::parse(DEFAULT_CRITERION)));
    let judge = |(text, read): (&str, Result<Criterion, String>)| match read {
        Ok(criterion) => criterion.evaluate(grounds),
        Err(_) => Criterion::unreadable(text),
    };
    read.into_iter().chain(default).map(judge).collect()
}

/// The verdict, in the order of what weighs most. Warnings weigh nothing.
pub(crate) fn verdict(result: &RunResult) -> Verdict {
    let any = |status| deciding(result, status).next().is_some();
    let decided = |decision| result.comparison.as_ref().is_some_and(|c| c.decision == decision);
    if !result.validity.valid {
        Verdict::Invalid
    } else if any(CriterionStatus::Fail) || decided(Decision::Regression) {
        Verdict::Fail
    } else if any(CriterionStatus::NoData)
        || decided(Decision::Inconclusive)
        || result.counts.ok == 0
        || result.ended == EndReason::Aborted
    {
        Verdict::Inconclusive
    } else {
        Verdict::Pass
    }
}

/// The criteria of that status that count for the verdict.
fn deciding(
    result: &RunResult,
    status: CriterionStatus,
) -> impl Iterator<Item = &CriterionOutcome> {
    let counts = move |outcome: &&CriterionOutcome| {
        outcome.status == status && outcome.severity != Severity::Warn
    };
    result.criteria.iter().filter(counts)
}

/// The sentence.
pub(crate) fn summary(result: &RunResult, tally: &Tally) -> String {
    let in_words = |status| -> Vec<String> {
        deciding(result, status).map(CriterionOutcome::in_words).collect()
    };
    let mut lead = match result.verdict {
        Verdict::Invalid => result.validity.reasons.clone(),
        Verdict::Fail => in_words(CriterionStatus::Fail),
        Verdict::Inconclusive => in_words(CriterionStatus::NoData),
        Verdict::Pass => Vec::new(),
    };
    if result.verdict == Verdict::Inconclusive && result.counts.ok == 0 {
        lead.insert(0, "there was no complete response".to_owned());
    }
    if result.ended == EndReason::Aborted {
        lead.insert(0, format!("aborted after {:.1} s of measuring", result.duration_s));
    }
    let mut sentence = match &result.comparison {
        Some(comparison) => {
            lead.push(comparison.summary.clone());
            format!("{}: {}", result.verdict, lead.join("; "))
        }
        None if lead.is_empty() => format!("{}: {}", result.verdict, figures(result, tally)),
        None => {
            format!("{}: {} ({})", result.verdict, lead.join("; "), figures(result, tally))
        }
    };
    let warned = |outcome: &&CriterionOutcome| {
        outcome.severity == Severity::Warn && outcome.status != CriterionStatus::Pass
    };
    for warning in result.criteria.iter().filter(warned) {
        sentence.push_str(&format!("; warning: {}", warning.in_words()));
    }
    sentence
}

fn figures(result: &RunResult, tally: &Tally) -> String {
    let decided = result.counts.issued.saturating_sub(result.counts.aborted);
    let p99 = result.latency_ms.p99.map(|p| format!("p99 {p} ms, ")).unwrap_or_default();
    format!(
        "{:.1} good responses per second, {p99}{} of {decided} requests without a good answer",
        result.goodput_rps,
        decided.saturating_sub(tally.good())
    )
}
