//! What two sets of trials say about each other, and what a history shows.
//!
//! Pure arithmetic: the trial is the unit, never the request. [`compare`] makes
//! the document of a comparison, [`balanced_order`] says in which order its
//! trials are to be run, [`steadiness`] whether they may be compared,
//! [`history`] where a series of runs changed. Nothing here panics on bad
//! figures: they make a comparison inconclusive, with the reason in words.
//! Equal input gives equal output to the last bit, on every machine.
//!
//! The rules that matter (false alarms, power, coverage) are measured by
//! simulation in `tests/statistics.rs`.

mod bootstrap;
mod change_points;
mod comparison;
mod decision;
mod distributions;
mod effect;
mod hodges_lehmann;
mod order;
mod pairing;
mod ranks;
mod seeded;
mod steadiness;
mod summary;
mod validity;

pub use change_points::{
    ChangePoint, History, HistoryPoint, Search, Strength, change_points, history,
};
pub use comparison::{
    ComparedTrial, Comparison, Design, Measured, Question, Side, compare, noise_floor_pct,
};
pub use decision::Decision;
pub use order::{Arm, BlockOrder, balanced_order};
pub use steadiness::{Steadiness, steadiness};
pub use validity::ComparisonValidity;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// Bootstrap resamples of an interval.
pub const DRAWS: usize = 10_000;
/// The margin unless another is asked for, in percent.
pub const DEFAULT_MARGIN_PCT: f64 = 5.0;
/// Blocks of a comparison unless another number is asked for.
pub const DEFAULT_BLOCKS: u32 = 10;
/// Fewer blocks, or fewer trials on a side of a historical comparison, decide
/// nothing: with five pairs no two-sided rank test reaches p = 0.05.
pub const MIN_BLOCKS: u32 = 6;
/// More blocks than this no job makes, and none are proposed.
pub const MAX_BLOCKS: u32 = 50;
/// More trials on one side are refused: the arithmetic grows with their square.
pub const MAX_TRIALS: usize = 500;
