-- Why a job could not be run, for programs; `error` says it in words.

ALTER TABLE jobs ADD COLUMN error_code TEXT;
