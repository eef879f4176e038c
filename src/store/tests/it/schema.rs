//! Both migration folders tell the same story.

use crate::backends::Backend;
use std::collections::BTreeSet;
use std::path::Path;

fn names(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn both_folders_hold_the_same_migrations() {
    assert_eq!(names("sqlite"), names("postgres"));
    assert!(!names("sqlite").is_empty());
}

const SQLITE_COLUMNS: &str = "SELECT t.name || '.' || c.name || ' ' || CASE c.type \
     WHEN 'BIGINT' THEN 'integer' WHEN 'TEXT' THEN 'text' WHEN 'BLOB' THEN 'bytes' ELSE c.type END \
     || CASE WHEN c.\"notnull\" THEN ' not null' ELSE '' END \
     || CASE WHEN c.pk > 0 THEN ' key ' || c.pk ELSE '' END \
     || CASE WHEN c.dflt_value IS NOT NULL THEN ' default ' || c.dflt_value ELSE '' END \
     FROM sqlite_master t JOIN pragma_table_info(t.name) c \
     WHERE t.type = 'table' AND t.name NOT LIKE '\\_sqlx%' ESCAPE '\\'";

// An id is bytes in SQLite.
const POSTGRES_COLUMNS: &str = "SELECT c.table_name || '.' || c.column_name || ' ' || CASE c.data_type \
     WHEN 'bigint' THEN 'integer' WHEN 'uuid' THEN 'bytes' \
     WHEN 'bytea' THEN 'bytes' ELSE c.data_type END \
     || CASE WHEN c.is_nullable = 'NO' THEN ' not null' ELSE '' END \
     || COALESCE(' key ' || k.ordinal_position, '') \
     || COALESCE(' default ' || c.column_default, '') \
     FROM information_schema.columns c \
     LEFT JOIN (information_schema.key_column_usage k JOIN information_schema.table_constraints p \
         ON p.constraint_name = k.constraint_name AND p.constraint_type = 'PRIMARY KEY') \
         ON k.table_name = c.table_name AND k.column_name = c.column_name \
     WHERE c.table_schema = 'public' AND c.table_name NOT LIKE '\\_sqlx%'";

const SQLITE_INDEXES: &str = "SELECT i.name || ' on ' || i.tbl_name || CASE WHEN x.\"unique\" THEN ' unique' ELSE '' END \
     || CASE WHEN x.partial THEN ' partial' ELSE '' END || ': ' \
     || (SELECT group_concat(c.name, ', ') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno) c) \
     FROM sqlite_master i JOIN pragma_index_list(i.tbl_name) x ON x.name = i.name \
     WHERE i.type = 'index' AND i.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

const POSTGRES_INDEXES: &str = "SELECT i.relname || ' on ' || t.relname || CASE WHEN x.indisunique THEN ' unique' ELSE '' END \
     || CASE WHEN x.indpred IS NOT NULL THEN ' partial' ELSE '' END || ': ' \
     || (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = i.oid) \
     FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
     JOIN pg_namespace n ON n.oid = t.relnamespace \
     WHERE n.nspname = 'public' AND NOT x.indisprimary AND t.relname NOT LIKE '\\_sqlx%'";

#[test]
fn both_databases_have_the_same_tables_columns_and_indexes() {
    let read = |backend: Backend, columns: &'static str, indexes: &'static str| {
        let mut read = (BTreeSet::new(), BTreeSet::new());
        backend.run(async |backend: Backend, _store| {
            read = (
                backend.lines(columns).await.into_iter().collect(),
                backend.lines(indexes).await.into_iter().collect(),
            );
        });
        read
    };
    let sqlite = read(Backend::sqlite(), SQLITE_COLUMNS, SQLITE_INDEXES);
    let postgres = read(Backend::postgres(), POSTGRES_COLUMNS, POSTGRES_INDEXES);
    assert!(sqlite.0.contains("jobs.id bytes not null key 1"), "{:?}", sqlite.0);
    assert!(
        sqlite
            .1
            .iter()
            .any(|i| i == "jobs_one_running_per_host on jobs unique partial: target_host")
    );
    let difference = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
        a.symmetric_difference(b).cloned().collect::<Vec<_>>()
    };
    assert_eq!(difference(&sqlite.0, &postgres.0), [""; 0]);
    assert_eq!(difference(&sqlite.1, &postgres.1), [""; 0]);
}
