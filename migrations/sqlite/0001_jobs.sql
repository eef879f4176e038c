-- Jobs, what workers recorded of them, and what came out. The same tables and
-- columns stand in ../postgres; a test compares them. Times are microseconds
-- since the Unix epoch, truth values 0 or 1, documents JSON text with a version.

CREATE TABLE jobs (
    -- UUIDv7, so that ids sort by creation.
    id               BLOB NOT NULL PRIMARY KEY,
    project          TEXT NOT NULL,
    scenario         TEXT NOT NULL,
    -- The lock key: no two jobs load one host at a time.
    target_host      TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN
                     ('queued', 'running', 'completed', 'failed', 'cancelled', 'interrupted')),
    phase            TEXT,
    progress         TEXT NOT NULL,
    spec             TEXT NOT NULL,
    verdict          TEXT,
    summary          TEXT,
    error            TEXT,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    -- The fencing token: grows with every worker that takes the job.
    attempt          BIGINT NOT NULL DEFAULT 0,
    worker           TEXT,
    lease_until      BIGINT,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    -- The number of the job's last event.
    last_event       BIGINT NOT NULL DEFAULT 0,
    -- The generator host, and whether the target stands on it.
    host             TEXT,
    same_host        BIGINT
);

-- The queue. The first index is the lock itself.
CREATE UNIQUE INDEX jobs_one_running_per_host ON jobs (target_host) WHERE state = 'running';
-- (The state in the key is what makes SQLite see that it can serve the order.)
CREATE INDEX jobs_queue ON jobs (state, id) WHERE state = 'queued';
CREATE INDEX jobs_queue_by_host ON jobs (target_host, id) WHERE state = 'queued';

-- The history, newest first, by each filter.
CREATE INDEX jobs_history ON jobs (created_at, id);
CREATE INDEX jobs_by_project ON jobs (project, created_at, id);
CREATE INDEX jobs_by_scenario ON jobs (scenario, created_at, id);
CREATE INDEX jobs_by_project_scenario ON jobs (project, scenario, created_at, id);
CREATE INDEX jobs_by_state ON jobs (state, created_at, id);
CREATE INDEX jobs_by_verdict ON jobs (verdict, created_at, id);

-- Finished jobs by when they ended: the trend over runs.
CREATE INDEX jobs_finished ON jobs (finished_at, id);
CREATE INDEX jobs_finished_by_scenario ON jobs (project, scenario, finished_at, id);

-- Labels, with what orders the history, so that one index range is a page.
CREATE TABLE job_labels (
    job_id     BLOB NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job_id, name)
);
CREATE INDEX job_labels_history ON job_labels (name, value, created_at, job_id);

-- Every spelling a job's target is found by: URL, host, host:port, name.
CREATE TABLE job_targets (
    job_id     BLOB NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    spelling   TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job_id, spelling)
);
CREATE INDEX job_targets_history ON job_targets (spelling, created_at, job_id);

-- Keys of requests that made a job, so that a repeated one makes no second.
CREATE TABLE idempotency (
    key        TEXT NOT NULL PRIMARY KEY,
    body_hash  BLOB NOT NULL,
    job_id     BLOB NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);
CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE INDEX idempotency_job ON idempotency (job_id);

-- What generators recorded, one row a record: kind is started, second, poll or
-- end. The key makes a repeated write harmless. record: version byte, deflated JSON.
CREATE TABLE recordings (
    job_id    BLOB NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    trial     BIGINT NOT NULL,
    generator BIGINT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('started', 'second', 'poll', 'end')),
    seq       BIGINT NOT NULL,
    record    BLOB NOT NULL,
    PRIMARY KEY (job_id, trial, generator, kind, seq)
);

-- What a job tells its listeners, numbered from 1.
CREATE TABLE events (
    job_id   BLOB NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    kind     TEXT NOT NULL,
    PRIMARY KEY (job_id, sequence)
);

-- Results stand apart so that lists never read them. document: version byte,
-- deflated JSON.
CREATE TABLE results (
    job_id   BLOB NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    document BLOB NOT NULL
);
