//! Watches nginx's stub_status page beside the load, on a schedule aligned to
//! the measuring window. Knows no store and no engine. Every poll comes out,
//! the failed ones, too.

use benchd_model::Timestamp;
use benchd_model::stub_status::{PollMoment, StubStatusPoll};
use benchd_probe::StubStatusPoller;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The limit of one poll. A server too busy to answer within it shows as a
/// failed poll, and the end of a trial waits no longer than this for one.
const POLL_WITHIN: Duration = Duration::from_secs(2);

/// How far apart polls are.
const EVERY: Duration = Duration::from_secs(1);

/// Polls after the load, at most.
const AFTER_POLLS: u32 = 3;

/// The start of a measuring window on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    began: Instant,
    at: Timestamp,
}

impl Window {
    /// A window that began at `at`, which was a moment ago.
    pub(crate) fn begun(at: Timestamp) -> Self {
        let ago = Timestamp::now().as_micros() - at.as_micros();
        let ago = Duration::from_micros(u64::try_from(ago).unwrap_or(0));
        let now = Instant::now();
        Self { began: now.checked_sub(ago).unwrap_or(now), at }
    }

    fn offset_us(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

/// Samples one status page for a whole job, over one connection.
pub(crate) struct Sampler {
    page: Page,
    /// Polls of this trial that were made before its window began: their
    /// offset is known only then.
    early: Vec<StubStatusPoll>,
    /// nginx's request counter before the load of this trial.
    before: Option<u64>,
    /// Polls since then that nginx counted.
    counted: u64,
}

enum Page {
    Pinned(Box<StubStatusPoller>),
    /// It has no address or cannot be polled; each poll fails with this.
    Unreachable(String),
}

impl Sampler {
    /// A sampler of `url` at its pinned address.
    pub(crate) fn new(url: &Url, address: SocketAddr) -> Self {
        Self::of(match StubStatusPoller::new(url, address, POLL_WITHIN) {
            Ok(poller) => Page::Pinned(Box::new(poller)),
            Err(error) => Page::Unreachable(error.to_string()),
        })
    }

    /// A sampler whose every poll fails with `reason`.
    pub(crate) fn unreachable(reason: String) -> Self {
        Self::of(Page::Unreachable(reason))
    }

    fn of(page: Page) -> Self {
        Self { page, early: Vec::new(), before: None, counted: 0 }
    }

    /// Polls before the first byte of a trial's load.
    pub(crate) async fn before(&mut self) {
        self.early.clear();
        let poll = self.poll(PollMoment::Before, || 0).await;
        self.before = poll.status.map(|status| status.requests);
        self.counted = 0;
        self.early.push(poll);
    }

    /// Polls while the load runs, until `over`: once a second before the
    /// window, at once when `window` tells its start, then at each full second
    /// of it. Polls go to `polls` as soon as their offset is known.
    pub(crate) async fn during(
        &mut self,
        mut window: watch::Receiver<Option<Window>>,
        over: &CancellationToken,
        polls: &mpsc::UnboundedSender<StubStatusPoll>,
    ) {
        let Some(window) = self.until_window(&mut window, over).await else { return };
        self.release_early(window.at, polls);
        if over.is_cancelled() {
            return;
        }
        send(polls, self.poll(PollMoment::Start, || window.offset_us()).await);
        let mut seconds = interval_at(window.began + EVERY, EVERY);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                _ = seconds.tick() => {}
            }
            send(polls, self.poll(PollMoment::During, || window.offset_us()).await);
        }
    }

    /// Polls after the last byte of a trial's load, to which `answered`
    /// responses are known. Polls again, boundedly, when nginx has counted
    /// less than that: its counter may be an instant behind.
    pub(crate) async fn after(
        &mut self,
        window: Option<Window>,
        answered: u64,
        polls: &mpsc::UnboundedSender<StubStatusPoll>,
    ) {
        // Without a window there is no time scale; the end stands in for its start.
        let scale = window.unwrap_or_else(|| Window::begun(Timestamp::now()));
        self.release_early(scale.at, polls);
        for _ in 0..AFTER_POLLS {
            let poll = self.poll(PollMoment::After, || scale.offset_us()).await;
            let seen = poll.status.map(|status| status.requests);
            send(polls, poll);
            if !self.is_behind(seen, answered) {
                return;
            }
        }
    }

    /// True when nginx, asked now, has counted fewer than `answered` requests
    /// beside the polls since `before`.
    fn is_behind(&self, seen: Option<u64>, answered: u64) -> bool {
        let (Some(before), Some(seen)) = (self.before, seen) else { return false };
        seen >= before && seen - before < answered + self.counted
    }

    async fn until_window(
        &mut self,
        window: &mut watch::Receiver<Option<Window>>,
        over: &CancellationToken,
    ) -> Option<Window> {
        let mut seconds = interval_at(Instant::now() + EVERY, EVERY);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                begun = window.wait_for(Option::is_some) => return begun.ok().and_then(|begun| *begun),
                () = over.cancelled() => return None,
                _ = seconds.tick() => {}
            }
            let poll = self.poll(PollMoment::WarmUp, || 0).await;
            self.early.push(poll);
        }
    }

    fn release_early(&mut self, start: Timestamp, polls: &mpsc::UnboundedSender<StubStatusPoll>) {
        for mut poll in self.early.drain(..) {
            poll.offset_us = poll.at.as_micros() - start.as_micros();
            send(polls, poll);
        }
    }

    async fn poll(
        &mut self,
        moment: PollMoment,
        offset_us: impl FnOnce() -> i64,
    ) -> StubStatusPoll {
        let poll = match &mut self.page {
            Page::Pinned(poller) => poller.poll(moment, offset_us).await,
            Page::Unreachable(reason) => StubStatusPoll {
                at: Timestamp::now(),
                offset_us: offset_us(),
                took_us: 0,
                moment,
                sent: false,
                connected: false,
                status: None,
                error: Some(reason.clone()),
                software: None,
            },
        };
        self.counted += u64::from(poll.sent);
        poll
    }
}

/// The receiver outlives every sampler; if it ever did not, there would be
/// nobody left to tell.
fn send(polls: &mpsc::UnboundedSender<StubStatusPoll>, poll: StubStatusPoll) {
    drop(polls.send(poll));
}

#[cfg(test)]
mod tests {
    use super::{Sampler, Window};
    use benchd_model::Timestamp;
    use benchd_model::stub_status::{PollMoment, StubStatusPoll};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::{mpsc, watch};
    use tokio_util::sync::CancellationToken;
    use url::Url;

    /// A sampler of a page whose request counter takes these values, and then
    /// stays at the last one.
    async fn sampler(counter: &'static [u64]) -> Sampler {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let last = counter.last().into_iter().cycle();
            for requests in counter.iter().chain(last) {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                let page = format!(
                    "Active connections: 1 \nserver accepts handled requests\n 1 1 {requests} \n\
                     Reading: 0 Writing: 1 Waiting: 0 \n"
                );
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
                stream.write_all((head + &page).as_bytes()).await.unwrap();
            }
        });
        Sampler::new(&Url::parse(&format!("http://{address}/")).unwrap(), address)
    }

    /// The polls after a load of five answered requests.
    async fn after(counter: &'static [u64]) -> Vec<StubStatusPoll> {
        let mut sampler = sampler(counter).await;
        let (polls_in, mut polls) = mpsc::unbounded_channel();
        sampler.before().await;
        sampler.after(None, 5, &polls_in).await;
        drop(polls_in);
        let mut all = Vec::new();
        while let Some(poll) = polls.recv().await {
            all.push(poll);
        }
        all.remove(0);
        all
    }

    #[tokio::test]
    async fn one_poll_after_the_load_is_enough_when_nginx_counted_it() {
        // Ten before, five answered, and the poll itself.
        assert_eq!(after(&[10, 16]).await.len(), 1);
    }

    #[tokio::test]
    async fn a_counter_that_is_behind_is_asked_again_but_not_for_ever() {
        assert_eq!(after(&[10, 15, 17]).await.len(), 2);
        assert_eq!(after(&[10, 12]).await.len(), 3);
    }

    #[tokio::test]
    async fn a_counter_that_fell_is_another_nginx_and_not_behind() {
        assert_eq!(after(&[10, 3]).await.len(), 1);
    }

    #[tokio::test]
    async fn polls_before_the_window_get_their_offset_from_its_start() {
        let mut sampler = sampler(&[10]).await;
        let (polls_in, mut polls) = mpsc::unbounded_channel();
        sampler.before().await;
        let start = Timestamp::now().plus_micros(250_000);
        let (_window_in, window) = watch::channel(Some(Window::begun(start)));
        let over = CancellationToken::new();
        over.cancel();
        sampler.during(window, &over, &polls_in).await;
        let before = polls.recv().await.unwrap();
        assert_eq!(before.moment, PollMoment::Before);
        assert_eq!(before.offset_us, before.at.as_micros() - start.as_micros());
        assert!(before.offset_us <= -250_000);
    }
}
