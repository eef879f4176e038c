//! The list of jobs: order, pages, filters.

use crate::backends::{Backend, on_both};
use crate::samples::{LEASE, at, create, finish, job_on, new_job, pair, queue, running, spec};
use benchd_model::{JobId, JobState, Verdict};
use benchd_store::{Cursor, JobFilter, JobPage, Store};
use std::collections::BTreeSet;

on_both!(
    pages_are_newest_first_and_complete,
    large_jobs_make_small_pages_that_lose_none,
    jobs_created_while_paging_neither_repeat_nor_hide_others,
    each_filter_finds_its_jobs_and_no_others,
    filters_page_like_everything_else,
    times_bound_the_posting_from_inclusive_to_exclusive,
    text_that_cannot_be_stored_matches_nothing,
    queue_positions_are_the_same_in_lists_and_look_ups,
    states_are_counted_even_when_there_are_none,
);

fn ids(page: &JobPage) -> Vec<JobId> {
    page.items.iter().map(|job| job.id).collect()
}

async fn all_pages(store: &Store, filter: &JobFilter, limit: u32) -> Vec<JobId> {
    let mut found = Vec::new();
    let mut after: Option<Cursor> = None;
    for _ in 0..1000 {
        let page = store.jobs(filter, after, limit).await.unwrap();
        assert!(page.items.len() <= limit as usize);
        found.extend(ids(&page));
        let Some(next) = page.next else { return found };
        // As a client sends it back.
        after = Some(next.to_string().parse().unwrap());
    }
    panic!("the pages never end");
}

async fn pages_are_newest_first_and_complete(_: Backend, store: Store) {
    let mut created = Vec::new();
    for second in 0..23 {
        // Several jobs share a moment.
        created.push(create(&store, job_on("a", second / 5)).await);
    }
    created.reverse();
    for limit in [1, 7, 23, 24, 1000] {
        assert_eq!(all_pages(&store, &JobFilter::default(), limit).await, created, "{limit}");
    }
    let page = store.jobs(&JobFilter::default(), None, 23).await.unwrap();
    assert_eq!(page.next, None, "a full last page has no next");
    assert_eq!(store.jobs(&JobFilter::default(), None, 0).await.unwrap().items.len(), 1);
}

async fn large_jobs_make_small_pages_that_lose_none(_: Backend, store: Store) {
    let mut created = Vec::new();
    for second in 0..12 {
        let mut job = job_on("a", second);
        job.spec.request.body = Some("x".repeat(1024 * 1024));
        created.push(create(&store, job).await);
    }
    created.reverse();
    let first = store.jobs(&JobFilter::default(), None, 1000).await.unwrap();
    assert!(first.items.len() < 6, "{} MiB on one page", first.items.len());
    assert_eq!(all_pages(&store, &JobFilter::default(), 1000).await, created);
}

async fn jobs_created_while_paging_neither_repeat_nor_hide_others(_: Backend, store: Store) {
    let mut before = BTreeSet::new();
    for second in 0..20 {
        before.insert(create(&store, job_on("a", second)).await);
    }
    let mut seen = Vec::new();
    let mut after = None;
    for round in 0..20 {
        let page = store.jobs(&JobFilter::default(), after, 3).await.unwrap();
        seen.extend(ids(&page));
        create(&store, job_on("a", 100 + round)).await;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let unique: BTreeSet<JobId> = seen.iter().copied().collect();
    assert_eq!(unique.len(), seen.len(), "no job twice");
    assert_eq!(unique, before, "every job that was there, and none that came later");
}

async fn each_filter_finds_its_jobs_and_no_others(_: Backend, store: Store) {
    let job =
        |project: &str, scenario: &str, target: serde_json::Value, labels: serde_json::Value| {
            new_job(
                spec(serde_json::json!({
                    "project": project, "scenario": scenario, "target": target, "labels": labels
                })),
                0,
            )
        };
    let local = serde_json::json!({"url": "http://127.0.0.1:8088/index.html"});
    let named = serde_json::json!({"url": "http://shop.example/", "name": "front"});
    let main = serde_json::json!({"branch": "main", "commit": "1"});
    let dev = serde_json::json!({"branch": "dev", "commit": "1"});
    let one = create(&store, job("shop", "home", local.clone(), main.clone())).await;
    let two = create(&store, job("shop", "cart", local, dev)).await;
    let three = create(&store, job("blog", "home", named, main)).await;
    let lease = store.claim("w", Some(two), at(1), LEASE).await.unwrap().unwrap();
    finish(&store, &lease, JobState::Completed, 2).await;
    let verdict = store.job(two).await.unwrap().unwrap().verdict.unwrap();
    let other_verdict = Verdict::ALL.into_iter().find(|v| *v != verdict).unwrap();

    let all = JobFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let label = |pairs: &[(&str, &str)]| JobFilter {
        labels: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..all()
    };
    let target = |value: &str| JobFilter { target: text(value), ..all() };
    let cases = [
        (all(), vec![three, two, one]),
        (JobFilter { project: text("shop"), ..all() }, vec![two, one]),
        (JobFilter { scenario: text("home"), ..all() }, vec![three, one]),
        (JobFilter { project: text("shop"), scenario: text("home"), ..all() }, vec![one]),
        (JobFilter { project: text("sho"), ..all() }, vec![]),
        (JobFilter { project: text("' OR 1 = 1 --"), ..all() }, vec![]),
        (target("http://127.0.0.1:8088/index.html"), vec![two, one]),
        (target("127.0.0.1:8088"), vec![two, one]),
        (target("localhost"), vec![two, one]),
        (target("front"), vec![three]),
        (target("shop.example"), vec![three]),
        (target("shop.example:80"), vec![three]),
        (target("http://127.0.0.1:8088/"), vec![]),
        (JobFilter { state: Some(JobState::Queued), ..all() }, vec![three, one]),
        (JobFilter { state: Some(JobState::Failed), ..all() }, vec![]),
        (JobFilter { verdict: Some(verdict), ..all() }, vec![two]),
        (JobFilter { verdict: Some(other_verdict), ..all() }, vec![]),
        (label(&[("branch", "main")]), vec![three, one]),
        (label(&[("branch", "main"), ("commit", "1")]), vec![three, one]),
        (label(&[("branch", "main"), ("branch", "dev")]), vec![]),
        (label(&[("commit", "main")]), vec![]),
        (JobFilter { project: text("blog"), ..label(&[("branch", "main")]) }, vec![three]),
        (JobFilter { target: text("localhost"), ..label(&[("branch", "main")]) }, vec![one]),
        (JobFilter { state: Some(JobState::Queued), ..target("localhost") }, vec![one]),
    ];
    for (filter, expected) in cases {
        let found = store.jobs(&filter, None, 100).await.unwrap();
        assert_eq!(ids(&found), expected, "{filter:?}");
    }
}

async fn filters_page_like_everything_else(_: Backend, store: Store) {
    let mut expected = Vec::new();
    for second in 0..30 {
        let mut job = job_on(if second % 3 == 0 { "b" } else { "a" }, second / 4);
        if second % 2 == 0 {
            job.spec.labels.insert("branch".to_owned(), "main".to_owned());
        }
        let id = create(&store, job).await;
        if second % 6 == 0 {
            expected.insert(0, id);
        }
    }
    let filter = JobFilter {
        target: Some("b".to_owned()),
        labels: vec![("branch".to_owned(), "main".to_owned())],
        project: Some("shop".to_owned()),
        ..JobFilter::default()
    };
    for limit in [1, 2, 100] {
        assert_eq!(all_pages(&store, &filter, limit).await, expected);
    }
}

async fn times_bound_the_posting_from_inclusive_to_exclusive(_: Backend, store: Store) {
    let mut jobs = Vec::new();
    for second in 0..5 {
        let mut job = job_on("a", second);
        job.spec.labels.insert("x".to_owned(), "y".to_owned());
        jobs.push(create(&store, job).await);
    }
    let labels = vec![("x".to_owned(), "y".to_owned())];
    for labels in [Vec::new(), labels] {
        let filter =
            JobFilter { since: Some(at(1)), until: Some(at(3)), labels, ..JobFilter::default() };
        let found = store.jobs(&filter, None, 100).await.unwrap();
        assert_eq!(ids(&found), [jobs[2], jobs[1]]);
    }
}

async fn text_that_cannot_be_stored_matches_nothing(_: Backend, store: Store) {
    queue(&store, "a").await;
    let nul = || Some("\0".to_owned());
    for filter in [
        JobFilter { project: nul(), ..JobFilter::default() },
        JobFilter { target: nul(), ..JobFilter::default() },
        JobFilter { labels: vec![("a".to_owned(), "\0".to_owned())], ..JobFilter::default() },
    ] {
        assert!(store.jobs(&filter, None, 9).await.unwrap().items.is_empty());
        assert!(store.results(&filter, 9, pair).await.unwrap().is_empty());
    }
}

async fn queue_positions_are_the_same_in_lists_and_look_ups(_: Backend, store: Store) {
    running(&store, "busy").await;
    for host in ["a", "b", "a", "c"] {
        queue(&store, host).await;
    }
    let page = store.jobs(&JobFilter::default(), None, 10).await.unwrap();
    let positions: Vec<_> = page.items.iter().map(|job| job.queue_position).collect();
    assert_eq!(positions, [Some(3), Some(2), Some(1), Some(0), None]);
    for job in page.items {
        assert_eq!(store.job(job.id).await.unwrap(), Some(job));
    }
}

async fn states_are_counted_even_when_there_are_none(_: Backend, store: Store) {
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.len(), JobState::ALL.len());
    assert!(counts.values().all(|count| *count == 0));
    running(&store, "a").await;
    queue(&store, "a").await;
    queue(&store, "a").await;
    let counts = store.counts().await.unwrap();
    assert_eq!((counts["running"], counts["queued"], counts["failed"]), (1, 2, 0));
}

/// What the history module promises, on SQLite's own word: no page sorts
/// everything that matches. (Postgres plans by statistics, which a test's few
/// rows do not give; `examples/list_latency.rs` measures it.)
#[test]
fn no_filter_makes_sqlite_sort_all_that_matches() {
    Backend::sqlite().run(async |backend, _store| {
        let cursor = "(created_at, id) < (1, X'00')";
        for condition in [
            "1 = 1",
            "project = ''",
            "scenario = ''",
            "project = '' AND scenario = ''",
            "state = ''",
            "verdict = ''",
            "created_at >= 1 AND created_at < 9",
            "name = '' AND value = ''",
            "spelling = ''",
        ] {
            let (from, id) = match condition {
                "name = '' AND value = ''" => ("job_labels", "job_id"),
                "spelling = ''" => ("job_targets", "job_id"),
                _ => ("jobs", "id"),
            };
            let cursor = cursor.replace("id", id);
            let sql = format!(
                "SELECT * FROM {from} WHERE {condition} AND {cursor} \
                 ORDER BY created_at DESC, {id} DESC LIMIT 9"
            );
            let plan = backend.plan(&sql).await;
            assert!(plan.contains("INDEX") && !plan.contains("TEMP B-TREE"), "{condition}: {plan}");
        }
    });
}
