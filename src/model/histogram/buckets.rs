//! The buckets of a distribution in two forms: dense to record into, sparse to
//! keep. A run has a histogram or six for every second, most of them with a
//! few hundred values in use among the 24,000 that the range has room for.

use super::HIGHEST_US;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use std::cmp::Ordering;

#[derive(Clone, Debug)]
pub(super) enum Buckets {
    Dense(Hdr<u64>),
    /// The highest value of each bucket in use with its count, ascending.
    Sparse(Box<[(u32, u32)]>),
}

impl Default for Buckets {
    fn default() -> Self {
        Self::Sparse(Box::default())
    }
}

impl Buckets {
    /// Empty, with the whole range allocated.
    pub(super) fn dense() -> Self {
        Self::Dense(empty())
    }

    #[inline]
    pub(super) fn record(&mut self, value: u64) {
        match self {
            Self::Dense(hdr) => hdr.saturating_record(value),
            Self::Sparse(_) => self.thick().saturating_record(value),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        match other {
            _ if self.is_empty() && matches!(self, Self::Sparse(_)) => self.clone_from(other),
            Self::Dense(hdr) => self.thick().add(hdr).expect("all histograms share one range"),
            Self::Sparse(entries) => {
                if let Self::Sparse(own) = self
                    && let Some(joined) = joined(own, entries)
                {
                    *own = joined;
                    return;
                }
                let hdr = self.thick();
                for (value, count) in entries {
                    hdr.saturating_record_n(u64::from(*value), u64::from(*count));
                }
            }
        }
    }

    pub(super) fn reset(&mut self) {
        match self {
            Self::Dense(hdr) => hdr.reset(),
            Self::Sparse(entries) => *entries = Box::default(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Dense(hdr) => hdr.len(),
            Self::Sparse(entries) => entries.iter().map(|(_, count)| u64::from(*count)).sum(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Dense(hdr) => hdr.is_empty(),
            Self::Sparse(entries) => entries.is_empty(),
        }
    }

    /// The highest value of each bucket in use with its count, ascending.
    pub(super) fn in_use(&self) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
        match self {
            Self::Dense(hdr) => Box::new(
                hdr.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())),
            ),
            Self::Sparse(entries) => Box::new(
                entries.iter().map(|(value, count)| (u64::from(*value), u64::from(*count))),
            ),
        }
    }

    /// Gives up the room that is not in use. A count beyond 32 bits stays dense.
    pub(super) fn compact(&mut self) {
        let entries: Option<Box<[(u32, u32)]>> = self
            .in_use()
            .map(|(value, count)| Some((u32::try_from(value).ok()?, u32::try_from(count).ok()?)))
            .collect();
        if let Some(entries) = entries {
            *self = Self::Sparse(entries);
        }
    }

    /// HDR's V2 encoding.
    pub(super) fn to_v2(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut write = |hdr: &Hdr<u64>| {
            V2Serializer::new().serialize(hdr, &mut bytes).expect("writing to memory does not fail")
        };
        match self {
            Self::Dense(hdr) => write(hdr),
            Self::Sparse(_) => write(self.clone().thick()),
        };
        bytes
    }

    /// Reads HDR's V2 encoding.
    pub(super) fn from_v2(mut bytes: &[u8]) -> Result<Self, String> {
        let read: Hdr<u64> =
            Deserializer::new().deserialize(&mut bytes).map_err(|why| format!("{why:?}"))?;
        let mut hdr = empty();
        hdr.add(read).map_err(|why| why.to_string())?;
        let mut buckets = Self::Dense(hdr);
        buckets.compact();
        Ok(buckets)
    }

    fn thick(&mut self) -> &mut Hdr<u64> {
        if let Self::Sparse(entries) = self {
            let mut hdr = empty();
            for (value, count) in entries {
                hdr.saturating_record_n(u64::from(*value), u64::from(*count));
            }
            *self = Self::Dense(hdr);
        }
        match self {
            Self::Dense(hdr) => hdr,
            Self::Sparse(_) => unreachable!("it was made dense just above"),
        }
    }
}

/// Both, ascending; none when a count is beyond 32 bits.
fn joined(mut a: &[(u32, u32)], mut b: &[(u32, u32)]) -> Option<Box<[(u32, u32)]>> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    while let ([first, rest_of_a @ ..], [other, rest_of_b @ ..]) = (a, b) {
        let (next, count) = match first.0.cmp(&other.0) {
            Ordering::Less => (*first, 0),
            Ordering::Greater => (*other, 0),
            Ordering::Equal => (*first, other.1),
        };
        all.push((next.0, next.1.checked_add(count)?));
        if first.0 <= other.0 {
            a = rest_of_a;
        }
        if other.0 <= first.0 {
            b = rest_of_b;
        }
    }
    all.extend_from_slice(a);
    all.extend_from_slice(b);
    Some(all.into())
}

fn empty() -> Hdr<u64> {
    Hdr::new_with_bounds(1, HIGHEST_US, 3)
        .expect("the bounds are constants that the histogram accepts")
}
