-- Jobs that compare two targets, and what comparing one with itself showed.

-- The second host that such a job has for itself; null when there is none.
ALTER TABLE jobs ADD COLUMN baseline_host TEXT;

-- The newest noise floor of a target, in an environment, by metric.
CREATE TABLE noise_floors (
    target      TEXT NOT NULL,
    environment TEXT NOT NULL,
    metric      TEXT NOT NULL,
    floor_pct   DOUBLE PRECISION NOT NULL,
    job_id      UUID NOT NULL,
    measured_at BIGINT NOT NULL,
    PRIMARY KEY (target, environment, metric)
);
