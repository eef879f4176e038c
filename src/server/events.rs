//! The event stream of one job: what the store kept, then what happens.

use crate::config::App;
use axum::response::sse::{Event, KeepAlive, Sse};
use benchd_model::event::{JobEvent, JobEventKind};
use benchd_model::{JobId, JobState};
use benchd_store::{Changes, StoreError};
use futures_util::stream::{self, Stream};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

/// A comment is sent when nothing else was for this long.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Look again at least this often, should a notice get lost.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Events read from the store at once.
const BATCH: u32 = 256;

/// The events of job `id` after number `after`. It ends after `finished`, when
/// the job is deleted, and when the service stops.
pub(crate) fn stream(
    app: App,
    id: JobId,
    after: u64,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = app.store.changes();
    let listener = Listener { app, id, after, changes, ready: VecDeque::new(), over: false };
    let events = stream::unfold(listener, |mut listener| async {
        let event = listener.next().await?;
        Some((Ok(to_sse(&event)), listener))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("alive"))
}

struct Listener {
    app: App,
    id: JobId,
    after: u64,
    /// Taken before the first look, so that no event in between is missed.
    changes: Changes,
    ready: VecDeque<JobEvent>,
    over: bool,
}

impl Listener {
    /// The next event; none when there will be no more.
    async fn next(&mut self) -> Option<JobEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.after = event.sequence;
                self.over = matches!(event.kind, JobEventKind::Finished { .. });
                return Some(event);
            }
            if self.over || self.app.shutdown.is_cancelled() {
                return None;
            }
            if let Err(error) = self.wait_and_read().await {
                tracing::error!(job.id = %self.id, %error, "an event stream broke off");
                return None;
            }
        }
    }

    /// Reads what is new; waits when nothing is.
    async fn wait_and_read(&mut self) -> Result<(), StoreError> {
        let store = &self.app.store;
        // The state first: a job that is finished by then has written every event.
        let state = store.job(self.id).await?.map(|job| job.state);
        self.ready = store.events_after(self.id, self.after, BATCH).await?.into();
        if !self.ready.is_empty() {
            return Ok(());
        }
        if state.is_none_or(JobState::is_finished) {
            self.over = true;
            return Ok(());
        }
        tokio::select! {
            () = self.changes.wait(LOOK_AGAIN) => {}
            () = self.app.shutdown.cancelled() => {}
        }
        Ok(())
    }
}

fn to_sse(event: &JobEvent) -> Event {
    let kind = serde_json::to_value(&event.kind).expect("events are plain JSON");
    let data = kind.get("data").cloned().unwrap_or_default();
    Event::default().id(event.sequence.to_string()).event(event.kind.name()).data(data.to_string())
}
