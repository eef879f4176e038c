//! Whether the criteria of a job can be decided by its load, and do not exclude
//! one another.

use super::rescue::{Course, most_attempts};
use super::{Criterion, Op, Severity, Test};
use crate::metrics::{Known, Of, Source, Statistic};
use crate::spec::{DEFAULT_CRITERION, JobSpec, LoadModel};

/// What is wrong with the criteria of a job, each with its place in the list.
pub(crate) fn contradictions(
    criteria: &[(usize, Criterion)],
    spec: &JobSpec,
) -> Vec<(usize, String)> {
    let mut wrong = Vec::new();
    let has_own = criteria.iter().any(|(_, criterion)| criterion.limits_errors());
    let default = Criterion::parse(DEFAULT_CRITERION).ok().filter(|_| !has_own);
    let beside_default = |criterion: &Criterion| {
        let excluded = default.as_ref().is_some_and(|default| criterion.excludes(default));
        excluded.then(|| {
            format!(
                "no run fulfils it beside {DEFAULT_CRITERION:?}, which stands unless another limit \
                 of errors does: add one, such as \"error_ratio <= 100%\""
            )
        })
    };
    for (at, (place, criterion)) in criteria.iter().enumerate() {
        let earlier = &criteria[..at];
        let why = never_decided(criterion, spec)
            .or_else(|| never_aborts(criterion, spec))
            .or_else(|| earlier.iter().find_map(|other| criterion.excluded_by(other)))
            .or_else(|| beside_default(criterion));
        wrong.extend(why.map(|why| (*place, format!("{:?}: {why}", criterion.expression))));
    }
    wrong
}

/// Why the load can give it no data.
fn never_decided(criterion: &Criterion, spec: &JobSpec) -> Option<String> {
    if let Some(why) = never_measured(criterion.known, spec) {
        return Some(why);
    }
    let Test::Limit { window_s: Some(window_s), .. } = criterion.test else { return None };
    let duration = spec.load.duration?;
    (u64::from(window_s) > duration.duration().as_secs())
        .then(|| format!("\"for {window_s}s\" is longer than load.duration, {duration}"))
}

/// Why the load never has a figure of that metric.
pub(crate) fn never_measured(known: Known, spec: &JobSpec) -> Option<String> {
    let name = known.name();
    let (is_open, is_tls, is_nginx) = match known {
        Known::Scalar(scalar) => {
            (scalar.source == Source::Schedule, false, scalar.source.is_nginx())
        }
        Known::Time(times, _) => (times.of == Of::Schedule, times.of == Of::Tls, false),
    };
    if is_open && spec.load.model == LoadModel::Closed {
        return Some(format!("{name} is of open loops: give load.rate, or leave it out"));
    }
    if is_tls && spec.target.url.starts_with("http:") {
        return Some(format!("{name} is of https targets"));
    }
    (is_nginx && spec.target.stub_status.is_none())
        .then(|| format!("{name} is read off nginx's status page: give target.stub_status"))
}

/// Why it can never end a run early, though it is to.
fn never_aborts(criterion: &Criterion, spec: &JobSpec) -> Option<String> {
    if criterion.severity != Severity::Abort {
        return None;
    }
    if spec.compare.is_some() {
        return Some("a job that compares makes all its blocks: leave \"abort:\" out".to_owned());
    }
    let Test::Limit { op, limit, window_s: None } = criterion.test else { return None };
    let upward = matches!(op, Op::Greater | Op::GreaterOrEqual);
    let recovers = match Course::of(criterion.known) {
        Course::Grows => upward,
        Course::Share => upward || (limit > 0.0 && most_attempts(&spec.load).is_none()),
        Course::Free => true,
    };
    recovers.then(|| {
        format!(
            "{} may recover as long as the run goes on, so that nothing would end it early: write \
             \"for 10s\", too",
            criterion.known.name()
        )
    })
}

impl Criterion {
    /// That no run fulfils both, or that they speak of two baselines.
    fn excluded_by(&self, (place, other): &(usize, Self)) -> Option<String> {
        if let (Some(ours), Some(theirs)) = (self.baseline_name(), other.baseline_name())
            && ours != theirs
        {
            return Some(format!("a job is held against one baseline: {ours:?} beside {theirs:?}"));
        }
        self.excludes(other)
            .then(|| format!("no run fulfils it beside {:?} (/criteria/{place})", other.expression))
    }

    /// True when no run fulfils both.
    fn excludes(&self, other: &Self) -> bool {
        let (
            Test::Limit { op, limit, window_s },
            Test::Limit { op: other_op, limit: other_limit, window_s: other_window_s },
        ) = (&self.test, &other.test)
        else {
            return false;
        };
        if window_s != other_window_s {
            return false;
        }
        let (ours, theirs) = (Bounds::of(*op, *limit), Bounds::of(*other_op, *other_limit));
        (never_above(self.known, other.known) && ours.all_above(&theirs))
            || (never_above(other.known, self.known) && theirs.all_above(&ours))
    }
}

/// The values that a limit lets pass.
struct Bounds {
    low: (f64, bool),
    high: (f64, bool),
}

impl Bounds {
    fn of(op: Op, limit: f64) -> Self {
        let (none, all) = ((f64::NEG_INFINITY, false), (f64::INFINITY, false));
        match op {
            Op::Less => Self { low: none, high: (limit, false) },
            Op::LessOrEqual => Self { low: none, high: (limit, true) },
            Op::Greater => Self { low: (limit, false), high: all },
            Op::GreaterOrEqual => Self { low: (limit, true), high: all },
            Op::Equal => Self { low: (limit, true), high: (limit, true) },
        }
    }

    /// True when each of these values is above each of the others.
    fn all_above(&self, other: &Self) -> bool {
        let ((low, low_in), (high, high_in)) = (self.low, other.high);
        low > high || (low == high && !(low_in && high_in))
    }
}

/// True when the first is never the larger one in one run.
fn never_above(one: Known, other: Known) -> bool {
    match (one, other) {
        (Known::Scalar(one), Known::Scalar(other)) => {
            one.name == other.name || (one.name, other.name) == ("goodput_rps", "rps")
        }
        (Known::Time(one, lower), Known::Time(other, higher)) if one.prefix == other.prefix => {
            lower == higher
                || rank(lower).zip(rank(higher)).is_some_and(|(lower, higher)| lower <= higher)
        }
        _ => false,
    }
}

fn rank(statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Min => Some(0.0),
        Statistic::Percentile(p) => Some(p),
        Statistic::Max => Some(100.0),
        Statistic::Mean | Statistic::Stddev => None,
    }
}
