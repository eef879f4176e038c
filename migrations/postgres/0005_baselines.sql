-- Named jobs that others are compared with: of a project and scenario, in an
-- environment. A baseline goes with its job.
CREATE TABLE baselines (
    id          UUID NOT NULL PRIMARY KEY,
    project     TEXT NOT NULL,
    scenario    TEXT NOT NULL,
    environment TEXT NOT NULL,
    name        TEXT NOT NULL,
    job_id      UUID NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    set_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX baselines_by_place ON baselines (project, scenario, environment, name);
CREATE INDEX baselines_by_job ON baselines (job_id);
