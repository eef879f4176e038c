//! Reports over sample jobs, ab's beside what the real ab printed.

#[cfg(test)]
mod ab;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod pipelines;
#[cfg(test)]
mod sample;
