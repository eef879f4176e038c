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
}

impl Targets {
    /// Judges a figure; gives the words to print behind it, none without a bound.
    /// What is no number meets nothing.
    pub(crate) fn judge(&mut self, what: &str, measured: f64, bound: Option<Bound>) -> String {
        let Some(bound) = bound else { return String::new() };
        let met = match bound {
            Bound::AtMost(limit) => measured <= limit,
            Bound::AtLeast(limit) => measured >= limit,
        };
        if met {
            self.met += 1;
        } else {
            let is = if measured.is_nan() {
                "has no figure".to_owned()
            } else {
                format!("is {measured:.2}")
            };
            self.missed.push(format!("{what} {is}, not {bound}"));
        }
        format!("; target {bound}: {}", if met { "met" } else { "missed" })
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
        write!(f, "{} of {} targets met", self.met, self.met + self.missed.len())?;
        self.missed.iter().try_for_each(|missed| write!(f, "\nmissed: {missed}"))
    }
}
