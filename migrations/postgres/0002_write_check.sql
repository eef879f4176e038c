-- One row that is only ever changed, by the check that writes arrive.

CREATE TABLE write_check (
    id    BIGINT NOT NULL PRIMARY KEY,
    count BIGINT NOT NULL
);
INSERT INTO write_check (id, count) VALUES (1, 0);
