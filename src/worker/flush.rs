//! Writes what a running job records: a buffer, and one writer that empties it
//! into the store. A store that is away stops nothing: the buffer keeps all of
//! it, in order, until the store is back. Knows no engine.

use crate::halt::Halt;
use benchd_model::environment::HostSnapshot;
use benchd_model::event::JobEventKind;
use benchd_model::job::Failure;
use benchd_model::job::Progress;
use benchd_model::{JobState, Phase, RunResult, Timestamp};
use benchd_store::{Finish, Lease, Record, Store, StoreError};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often the lease is renewed and a request to cancel is looked for.
const HEARTBEAT_EVERY: Duration = Duration::from_millis(500);

/// After a failure the store is left alone for this long, then twice as long…
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// …up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long a worker that shuts down waits for a store that is away.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

/// Something to write.
enum Entry {
    Host(HostSnapshot, bool),
    Record(Box<Record>),
    Event(Timestamp, Box<JobEventKind>),
    Status(Option<Phase>, Progress),
}

/// Where a running job puts what it records. Never waits.
#[derive(Clone)]
pub(crate) struct Journal {
    entries: mpsc::UnboundedSender<Entry>,
}

impl Journal {
    pub(crate) fn host(&self, snapshot: HostSnapshot, same_host: bool) {
        self.put(Entry::Host(snapshot, same_host));
    }

    pub(crate) fn record(&self, record: Record) {
        self.put(Entry::Record(Box::new(record)));
    }

    pub(crate) fn event(&self, kind: JobEventKind) {
        self.put(Entry::Event(Timestamp::now(), Box::new(kind)));
    }

    pub(crate) fn status(&self, phase: Option<Phase>, progress: &Progress) {
        self.put(Entry::Status(phase, progress.clone()));
    }

    /// The writer outlives every journal of its job; if it were gone, so would
    /// be the job.
    fn put(&self, entry: Entry) {
        drop(self.entries.send(entry));
    }
}

/// The writer of one job.
pub(crate) struct Writer {
    store: Store,
    lease: Lease,
    lease_for: Duration,
    halt: Halt,
    entries: mpsc::UnboundedReceiver<Entry>,
    pending: Pending,
    pause: Pause,
    /// The store's file is gone; waiting would not bring it back.
    gone: bool,
}

/// What is not in the store yet.
#[derive(Default)]
struct Pending {
    host: Option<(HostSnapshot, bool)>,
    records: Vec<Record>,
    events: VecDeque<(Timestamp, JobEventKind)>,
    phase: Option<Phase>,
    progress: Progress,
    heartbeat_due: bool,
}

/// How a job's end reached the store.
pub(crate) enum Settled {
    /// All of it is stored.
    Stored,
    /// Another worker has the job; nothing more was written.
    Lost,
    /// The store stayed away.
    Unsaved,
}

/// How a job ended, before it is stamped and stored.
pub(crate) struct End<'a> {
    pub state: JobState,
    pub result: Option<&'a RunResult>,
    pub error: Option<&'a Failure>,
}

impl Writer {
    /// A writer for the holder of `lease`, and the journal that feeds it.
    pub(crate) fn new(
        store: Store,
        lease: Lease,
        lease_for: Duration,
        halt: Halt,
    ) -> (Self, Journal) {
        let (sender, entries) = mpsc::unbounded_channel();
        let (pending, pause, gone) = (Pending::default(), Pause::default(), false);
        let writer = Self { store, lease, lease_for, halt, entries, pending, pause, gone };
        (writer, Journal { entries: sender })
    }

    /// Writes as entries come, and renews the lease, until every journal is
    /// gone. What could not be written yet is left for [`Writer::settle`].
    pub(crate) async fn run(&mut self) {
        let mut heartbeat = interval(HEARTBEAT_EVERY);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                entry = self.entries.recv() => match entry {
                    Some(entry) => self.take(entry),
                    None => return,
                },
                _ = heartbeat.tick() => self.pending.heartbeat_due = true,
            }
            if self.pause.is_over() {
                self.write().await;
            }
        }
    }

    /// Writes what is left and the job's end. Tries for `patience` while the
    /// store is away, or for a few seconds once `shutdown` has come, and not
    /// again when its file is gone.
    pub(crate) async fn settle(
        &mut self,
        end: &End<'_>,
        patience: Duration,
        shutdown: &CancellationToken,
    ) -> Settled {
        let at = Timestamp::now();
        let mut deadline = Instant::now() + patience;
        let mut asked_to_leave = false;
        self.pause = Pause::default();
        let mut written = false;
        loop {
            // Once all is written only the end is repeated: if its answer was
            // lost, the lease is over and refuses everything else.
            written = written || self.write().await;
            if written && self.finish(end, at).await {
                return Settled::Stored;
            }
            if self.halt.is_lost() {
                return Settled::Lost;
            }
            let next = Instant::now() + self.pause.length;
            if self.gone || next > deadline {
                return Settled::Unsaved;
            }
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = shutdown.cancelled(), if !asked_to_leave => {
                    asked_to_leave = true;
                    deadline = deadline.min(Instant::now() + SHUTDOWN_PATIENCE);
                }
            }
            self.keep_lease().await;
        }
    }

    /// Renews the lease if the store is there; what else it would say, the next
    /// write says, too.
    async fn keep_lease(&self) {
        let (phase, progress) = (self.pending.phase, &self.pending.progress);
        let now = Timestamp::now();
        drop(self.store.heartbeat(&self.lease, now, self.lease_for, phase, progress).await);
    }

    /// Takes an entry and all that wait behind it, so that one write covers them.
    fn take(&mut self, first: Entry) {
        let mut next = Some(first);
        while let Some(entry) = next {
            self.pending.add(entry);
            next = self.entries.try_recv().ok();
        }
    }

    /// Writes all that is pending; true when nothing is left.
    async fn write(&mut self) -> bool {
        if self.halt.is_lost() {
            return false;
        }
        match self.write_in_order().await {
            Ok(()) => {
                self.pause = Pause::default();
                true
            }
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }

    /// Each step forgets what it has written, so that the next attempt goes on
    /// where this one failed. Records come first: they are what must not be lost.
    async fn write_in_order(&mut self) -> Result<(), StoreError> {
        let Self { store, lease, pending, .. } = self;
        if let Some((snapshot, same_host)) = &pending.host {
            store.set_host(lease, snapshot, *same_host).await?;
            pending.host = None;
        }
        if !pending.records.is_empty() {
            store.append(lease, &pending.records).await?;
            pending.records.clear();
        }
        if pending.heartbeat_due {
            let (phase, progress) = (pending.phase, &pending.progress);
            let now = Timestamp::now();
            let heartbeat = store.heartbeat(lease, now, self.lease_for, phase, progress).await?;
            pending.heartbeat_due = false;
            if heartbeat.cancel_requested {
                self.halt.cancel();
            }
        }
        while let Some((at, kind)) = pending.events.front() {
            store.emit(lease, *at, kind.clone()).await?;
            pending.events.pop_front();
        }
        Ok(())
    }

    async fn finish(&mut self, end: &End<'_>, at: Timestamp) -> bool {
        let End { state, result, error } = *end;
        match self.store.finish(&self.lease, Finish { state, result, error, at }).await {
            Ok(()) => true,
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }

    fn failed(&mut self, error: &StoreError) {
        let job = self.lease.job;
        if matches!(error, StoreError::LeaseLost) {
            tracing::warn!(%job, "the lease is lost: another worker has the job");
            self.halt.lose();
            return;
        }
        self.gone = matches!(error, StoreError::Removed { .. });
        self.pause.lengthen();
        tracing::warn!(%job, %error, kept = self.pending.records.len(), "the store is away; keeping everything");
    }
}

impl Pending {
    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Host(snapshot, same_host) => self.host = Some((snapshot, same_host)),
            Entry::Record(record) => self.records.push(*record),
            Entry::Event(at, kind) => self.events.push_back((at, *kind)),
            Entry::Status(phase, progress) => {
                (self.phase, self.progress) = (phase, progress);
                self.heartbeat_due = true;
            }
        }
    }
}

/// The time to leave a failing store alone.
struct Pause {
    length: Duration,
    until: Option<Instant>,
}

impl Default for Pause {
    fn default() -> Self {
        Self { length: Duration::ZERO, until: None }
    }
}

impl Pause {
    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    fn lengthen(&mut self) {
        self.length = (self.length * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.until = Some(Instant::now() + self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_PAUSE, LONGEST_PAUSE, Pause};

    #[test]
    fn pauses_grow_up_to_their_limit() {
        let mut pause = Pause::default();
        assert!(pause.is_over());
        pause.lengthen();
        assert_eq!(pause.length, FIRST_PAUSE);
        pause.lengthen();
        assert_eq!(pause.length, FIRST_PAUSE * 2);
        for _ in 0..20 {
            pause.lengthen();
        }
        assert_eq!(pause.length, LONGEST_PAUSE);
    }
}
