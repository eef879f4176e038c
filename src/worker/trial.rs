//! One trial: the engine on a thread of its own, the sampler beside it, and
//! what both say put into the recording and the journal, in order.

use crate::flush::Journal;
use crate::halt::Halt;
use crate::progress::Meter;
use crate::sampler::{Sampler, Window};
use benchd_engine::{EngineError, Plan, Progress, Run};
use benchd_model::event::JobEventKind;
use benchd_model::recording::EndReason;
use benchd_model::spec::LoadSpec;
use benchd_model::stub_status::StubStatusPoll;
use benchd_model::{KernelCounts, Phase, SecondRecord, TrialEnd, TrialRecording, timeline};
use benchd_probe::KernelMeter;
use benchd_store::Record;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The only generator there is so far.
const GENERATOR: u32 = 0;

/// Why a trial could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialError {
    #[error("the load could not be made: {0}")]
    Engine(#[from] EngineError),
    #[error("the load generator stopped unexpectedly, which is a defect of benchd")]
    Panicked,
}

/// What all trials of a job have in common.
pub(crate) struct Trials {
    pub plan: Arc<Plan>,
    pub load: LoadSpec,
    pub same_host: bool,
}

/// Makes the trial of that index (from 0) and returns its recording. It ends
/// early when `halt` says so, with what it has until then.
///
/// # Errors
/// When the engine cannot make the load at all.
pub(crate) async fn run(
    trials: &Trials,
    index: u32,
    mut sampler: Option<&mut Sampler>,
    halt: &Halt,
    journal: &Journal,
    meter: &mut Meter,
) -> Result<TrialRecording, TrialError> {
    meter.start_trial(index + 1, &trials.load);
    let mut scribe = Scribe::new(trials, index, sampler.is_some(), halt, journal, meter);
    scribe.phase(Phase::Preparing);
    if let Some(sampler) = sampler.as_deref_mut() {
        sampler.before().await;
    }

    let (polls_in, mut polls) = unbounded_channel();
    let (window_in, window) = watch::channel(None);
    let (progress_in, mut progress) = unbounded_channel();
    let over = CancellationToken::new();
    let engine = start(&trials.plan, halt, progress_in);
    let watching = async {
        if let Some(sampler) = sampler.as_deref_mut() {
            sampler.during(window, &over, &polls_in).await;
        }
    };
    let listening = async {
        scribe.listen(&mut progress, &mut polls, &window_in).await;
        over.cancel();
    };
    tokio::join!(watching, listening);
    let Run { end, .. } = engine.await.map_err(|_| TrialError::Panicked)??;

    if let Some(sampler) = sampler {
        let answered = scribe.answered() + end.warmup.ok;
        let window = *window_in.borrow();
        sampler.after(window, answered, &polls_in).await;
    }
    while let Ok(poll) = polls.try_recv() {
        scribe.poll(poll);
    }
    Ok(scribe.end(end))
}

/// Runs the engine on a thread where it may block. Its progress ends when it
/// does.
fn start(
    plan: &Arc<Plan>,
    halt: &Halt,
    progress: UnboundedSender<Progress>,
) -> JoinHandle<Result<Run, EngineError>> {
    let (plan, stop) = (Arc::clone(plan), halt.engine());
    tokio::task::spawn_blocking(move || {
        benchd_engine::run(&plan, &stop, &mut |said| {
            // Without a listener the job's future is gone and the engine stopped.
            drop(progress.send(said));
        })
    })
}

/// Puts what happens in a trial into its recording and the journal.
struct Scribe<'a> {
    recording: TrialRecording,
    trials: &'a Trials,
    kernel: KernelMeter,
    /// What the kernel counted before the window.
    kernel_before: Option<KernelCounts>,
    /// Whether polls are to be expected.
    watched: bool,
    /// How many of the recorded seconds were told as events.
    told: usize,
    phase: Option<Phase>,
    halt: &'a Halt,
    /// Why the trial was aborted, if it was.
    aborted: Option<String>,
    journal: &'a Journal,
    meter: &'a mut Meter,
}

impl<'a> Scribe<'a> {
    fn new(
        trials: &'a Trials,
        index: u32,
        watched: bool,
        halt: &'a Halt,
        journal: &'a Journal,
        meter: &'a mut Meter,
    ) -> Self {
        let recording =
            TrialRecording { trial: index, generator: GENERATOR, ..TrialRecording::default() };
        let kernel = KernelMeter::start();
        Self {
            recording,
            trials,
            kernel,
            kernel_before: None,
            watched,
            told: 0,
            phase: None,
            halt,
            aborted: None,
            journal,
            meter,
        }
    }

    /// Notes all that engine and sampler say, until the engine is done.
    async fn listen(
        &mut self,
        progress: &mut UnboundedReceiver<Progress>,
        polls: &mut UnboundedReceiver<StubStatusPoll>,
        window: &watch::Sender<Option<Window>>,
    ) {
        loop {
            tokio::select! {
                biased;
                Some(poll) = polls.recv() => self.poll(poll),
                said = progress.recv() => match said {
                    Some(Progress::Phase(phase)) => self.phase(phase),
                    Some(Progress::Started { at }) => {
                        self.started(at.as_micros());
                        window.send_replace(Some(Window::begun(at)));
                    }
                    Some(Progress::Second(second)) => self.second(*second),
                    None => return,
                },
            }
        }
    }

    fn phase(&mut self, phase: Phase) {
        if self.phase.replace(phase) != Some(phase) {
            self.journal.event(JobEventKind::Phase { trial: self.recording.trial + 1, phase });
            self.journal.status(self.phase, self.meter.progress());
        }
    }

    fn started(&mut self, started_us: i64) {
        self.recording.started_us = Some(started_us);
        self.kernel_before = Some(self.kernel_counts());
        let trial = self.recording.trial;
        self.journal.record(Record::TrialStarted { trial, generator: GENERATOR, started_us });
    }

    /// What the kernel counted since the last call.
    fn kernel_counts(&mut self) -> KernelCounts {
        let mut counts = self.kernel.lap();
        if !self.trials.same_host {
            // The queues of this host are not the target's.
            counts.listen_overflows = None;
        }
        counts
    }

    fn second(&mut self, mut second: SecondRecord) {
        second.kernel = Some(self.kernel_counts());
        self.meter.add(&second);
        self.journal.record(Record::Second {
            trial: self.recording.trial,
            generator: GENERATOR,
            second: second.clone(),
        });
        self.journal.status(self.phase, self.meter.progress());
        self.recording.seconds.push(second);
        if let Some(why) = self.meter.beyond_rescue(&self.recording)
            && self.aborted.is_none()
        {
            self.halt.abort();
            self.aborted = Some(why);
        }
        // The poll that belongs to this second is due now; its row waits for it.
        let newest = self.recording.seconds.len() - 1;
        self.tell(if self.watched { newest } else { newest + 1 });
        self.tell_polled();
    }

    fn poll(&mut self, poll: StubStatusPoll) {
        let trial = self.recording.trial;
        self.journal.record(Record::Poll { trial, generator: GENERATOR, poll: poll.clone() });
        self.recording.polls.push(poll);
        self.tell_polled();
    }

    /// Tells the seconds that ended before the latest poll.
    fn tell_polled(&mut self) {
        let polled_us = self.recording.polls.last().map_or(0, |poll| poll.offset_us);
        let ended = |second: &SecondRecord| {
            i64::from(second.index) * 1_000_000 + second.tally.span_us as i64 <= polled_us
        };
        let polled = self.recording.seconds.iter().skip(self.told).take_while(|s| ended(s));
        self.tell(self.told + polled.count());
    }

    /// Tells the first `upto` seconds, as far as they are not told yet.
    fn tell(&mut self, upto: usize) {
        while self.told < upto {
            let second = &self.recording.seconds[self.told];
            let row = timeline::live_row(&self.recording, second, &self.trials.load);
            let trial = self.recording.trial + 1;
            self.journal.event(JobEventKind::Second { trial, row: Box::new(row) });
            self.told += 1;
        }
    }

    fn answered(&self) -> u64 {
        self.recording.seconds.iter().map(|second| second.tally.counts.ok).sum()
    }

    fn end(mut self, mut end: TrialEnd) -> TrialRecording {
        end.kernel_before = self.kernel_before;
        // The engine may have been done an instant before it was told.
        if let Some(why) = self.aborted.take()
            && self.halt.requested() == Some(EndReason::Aborted)
        {
            end.reason = EndReason::Aborted;
            end.notes.push(why);
        }
        self.tell(self.recording.seconds.len());
        self.meter.end_trial();
        self.journal.record(Record::TrialEnd {
            trial: self.recording.trial,
            generator: GENERATOR,
            end: end.clone(),
        });
        self.recording.end = Some(end);
        self.recording
    }
}
