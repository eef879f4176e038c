//! What is wrong with a job document, in the words of the command line.

use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use benchd_model::FieldError;

/// Which flag sets which field; a field without one is named by its pointer.
const FLAGS: [(&str, &str); 26] = [
    ("/load/connections", "-c"),
    ("/load/requests", "-n"),
    ("/load/duration", "-d"),
    ("/load/keepalive", "--no-keepalive"),
    ("/load/warmup", "--warmup"),
    ("/load/timeout", "--timeout"),
    ("/load/threads", "--threads"),
    ("/load/protocol", "--protocol"),
    ("/target/url", "URL"),
    ("/target/stub_status", "--stub-status"),
    ("/target/unix_socket", "--unix-socket"),
    ("/target/resolve", "--resolve"),
    ("/target/tls/ca", "--ca-file"),
    ("/target/tls/min_version", "--tls-min"),
    ("/target/tls/resumption", "--tls-resumption"),
    ("/load/source_addresses", "--source-address"),
    ("/target", "URL"),
    ("/request/method", "-m"),
    ("/request/headers", "-H"),
    ("/request/body_base64", "--body-file"),
    ("/request/expect_status", "--expect-status"),
    ("/criteria", "--criteria"),
    ("/labels", "--label"),
    ("/trials", "--trials"),
    ("/project", "--project"),
    ("/scenario", "--scenario"),
];

/// What the document calls it, and what to type.
const WORDS: [(&str, &str); 5] = [
    ("load.keepalive", "--no-keepalive"),
    ("request.body", "--body-file"),
    ("{\"url\": \"", ""),
    ("\"}", ""),
    ("GET /metrics-catalogue and `benchd metrics` list", "`benchd metrics` lists"),
];

/// A refusal of the document that these arguments make.
pub(super) fn refusal(args: &RunArgs, errors: &[FieldError]) -> anyhow::Error {
    let lines: Vec<String> = errors.iter().map(|error| line(args, error)).collect();
    Stop::error(Exit::Usage, lines.join("\nbenchd: "))
}

/// A field is called by the flag that set it, and by its pointer when the job
/// document did.
fn line(args: &RunArgs, error: &FieldError) -> String {
    let flag = flag_of(&error.pointer);
    if let Some(path) = &args.file
        && flag.is_none_or(|flag| !args.sources.has(flag))
    {
        return format!("{}: {error}", path.display());
    }
    let Some(flag) = flag else { return error.to_string() };
    let detail = WORDS
        .iter()
        .fold(error.detail.clone(), |detail, (written, typed)| detail.replace(written, typed));
    format!("{}: {detail}", args.sources.name(flag))
}

/// The flag that sets the field at a pointer.
fn flag_of(pointer: &str) -> Option<&'static str> {
    let covers = |field: &str| pointer == field || pointer.starts_with(&format!("{field}/"));
    FLAGS.iter().find(|(field, _)| covers(field)).map(|(_, flag)| *flag)
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::args::{Cli, Command};
    use benchd_model::FieldError;
    use clap::Parser as _;

    fn told(line_typed: &str, pointer: &str, detail: &str) -> String {
        let error = FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() };
        match Cli::try_parse_from(line_typed.split(' ')).unwrap().command {
            Command::Run(args) => line(&args, &error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_named_by_their_flags() {
        let typed = "benchd run http://h/";
        for (pointer, detail, words) in [
            ("/load/connections", "is wrong", "-c: is wrong"),
            ("/request/headers/X", "use load.keepalive", "-H: use --no-keepalive"),
            ("/target", "write {\"url\": \"http://h/\"}, or", "URL: write http://h/, or"),
            ("/on_inconclusive", "is wrong", "/on_inconclusive: is wrong"),
        ] {
            assert_eq!(told(typed, pointer, detail), words);
        }
    }

    #[test]
    fn a_job_document_is_named_where_it_is_wrong() {
        let words = told("benchd run -f job.json", "/load/connections", "use load.keepalive");
        assert_eq!(words, "job.json: /load/connections: use load.keepalive");
        assert_eq!(told("benchd run -f job.json", "", "is none"), "job.json: is none");
    }
}
