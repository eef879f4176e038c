//! Exactly `requests` attempts over all threads, without a shared write per
//! request: threads take blocks from one pool and spend them alone.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LARGEST_BLOCK: u64 = 512;

/// What all threads take from.
#[derive(Debug)]
pub(crate) struct Pool {
    left: AtomicU64,
    threads: u64,
}

impl Pool {
    pub(crate) fn new(requests: u64, threads: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(requests), threads: u64::from(threads.max(1)) })
    }

    /// The next block: a share of what is left, so that the last ones are
    /// small and no thread sits on requests that others wait for.
    fn take_block(&self) -> u64 {
        let mut block = 0;
        // The closure never declines, so the update cannot fail.
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                block = (left / (self.threads * 4)).clamp(1, LARGEST_BLOCK).min(left);
                Some(left - block)
            })
            .ok();
        block
    }
}

/// One thread's part of the pool, or of an endless supply.
#[derive(Debug)]
pub(crate) struct Budget {
    pool: Option<Arc<Pool>>,
    block: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(pool: Option<Arc<Pool>>) -> Self {
        Self { pool, block: Cell::new(0) }
    }

    /// Takes one attempt; false when there are none left.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        let Some(pool) = &self.pool else { return true };
        if self.block.get() == 0 {
            self.block.set(pool.take_block());
        }
        let Some(rest) = self.block.get().checked_sub(1) else { return false };
        self.block.set(rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Pool};

    #[test]
    fn threads_take_exactly_the_pool_together() {
        for requests in [0, 1, 2, 7, 4096, 100_003] {
            let pool = Pool::new(requests, 3);
            let taken: Vec<u64> = std::thread::scope(|scope| {
                let worker = || {
                    let budget = Budget::new(Some(pool.clone()));
                    std::iter::repeat_with(|| budget.take()).take_while(|taken| *taken).count()
                        as u64
                };
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(worker)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(taken.iter().sum::<u64>(), requests);
        }
    }

    #[test]
    fn without_a_pool_there_is_no_end() {
        let budget = Budget::new(None);
        assert!((0..10_000).all(|_| budget.take()));
    }
}
