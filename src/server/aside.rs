//! Work that takes a while, off the event loop: the service may share it with a
//! worker, whose samples must not wait for somebody's report.

/// Does `work` on another thread. A panic in it is the caller's.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(stopping) => panic!("the service is stopping: {stopping}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::aside;

    #[tokio::test]
    #[should_panic(expected = "the work went wrong")]
    async fn a_panic_comes_back_to_the_caller() {
        aside(|| panic!("the work went wrong")).await
    }
}
