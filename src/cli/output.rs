//! What commands say. Whoever reads may go away at any time (`| head -1`), which
//! is no error and must not end a measurement; everything else that goes wrong
//! with stdout is told.

use crate::exit::{Exit, Stop};
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// Writes results to stdout, at once. A reader that is gone misses them, and
/// the command goes on to its exit code.
///
/// # Errors
/// Such as a full disk.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write_to(io::stdout().lock(), text)
        .map_err(|error| Stop::error(Exit::Usage, format!("cannot write to stdout: {error}")))
}

/// Writes a line about what happens to stderr. What cannot be said is left unsaid.
pub(crate) fn tell(line: Arguments<'_>) {
    tell_text(&format!("{line}\n"));
}

/// The same for text that brings its own line breaks.
pub(crate) fn tell_text(text: &str) {
    let _nobody_listens = io::stderr().lock().write_all(text.as_bytes());
}

fn write_to(mut out: impl Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::write_to;
    use std::io::{Error, ErrorKind, Result, Write};

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> Result<usize> {
            Err(Error::from(self.0))
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_is_gone_is_no_error_and_a_full_disk_is() {
        assert!(write_to(Broken(ErrorKind::BrokenPipe), "x").is_ok());
        assert!(write_to(Broken(ErrorKind::StorageFull), "x").is_err());
    }
}
