//! What is to be reached, and whether it was.

use std::fmt;

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// Every target judged so far.
#[derive(Default)]
pub(crate) struct Targets {
    met: usize,
    missed: Vec<String>,
    undecided: Vec<String>,
}

impl Targets {
    /// Judges a figure; gives the words to print behind it, none without a bound.
    /// What is no number decides nothing.
    pub(crate) fn judge(&mut self, what: &str, measured: f64, bound: Option<Bound>) -> String {
        let Some(bound) = bound else { return String::new() };
        let met = match bound {
            Bound::AtMost(limit) => measured <= limit,
            Bound::AtLeast(limit) => measured >= limit,
        };
        let verdict = if measured.is_nan() {
            self.undecided.push(format!("{what} {bound}"));
            "undecided"
        } else if met {
            self.met += 1;
            "met"
        } else {
            self.missed.push(format!("{what} is {measured:.2}, not {bound}"));
            "missed"
        };
        format!("; target {bound}: {verdict}")
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "≤ {limit}"),
            Self::AtLeast(limit) => write!(f, "≥ {limit}"),
        }
    }
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.met + self.missed.len() + self.undecided.len();
        write!(f, "{} of {all} targets met", self.met)?;
        self.missed.iter().try_for_each(|missed| write!(f, "\nmissed: {missed}"))?;
        self.undecided.iter().try_for_each(|undecided| write!(f, "\nundecided: {undecided}"))
    }
}
