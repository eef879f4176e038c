//! Where a run's report goes: to stdout, into files beside it, and into the
//! summary of a CI step, all from one measurement.

use crate::args::RunArgs;
use crate::exit::{Exit, Stop};
use crate::output::{print, tell};
use benchd_report::{Format, Report, render, render_table};
use std::collections::HashMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The variable by which GitHub (and what imitates it) names a step's summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// A format, and whether it is shown in colours.
pub(crate) type Form = (Format, bool);

/// Everything that is to be made of one result.
pub(crate) struct Outputs {
    /// JSON is that of the comparison, not of the whole result.
    pub(super) of_comparison: bool,
    printed: Form,
    files: Vec<OutputFile>,
    summary: Option<PathBuf>,
}

struct OutputFile {
    format: Format,
    path: PathBuf,
    /// Takes the place of `path` when all is written; none for what is written to
    /// as it is, such as a pipe.
    draft: Option<NamedTempFile>,
}

impl Outputs {
    /// Reads what was asked for, and makes sure before anything is measured that
    /// the files can be written. Files of an earlier run are removed, so that
    /// nobody takes them for this one's.
    ///
    /// # Errors
    /// Such as a format that is none, or a folder that is missing.
    pub(crate) fn prepare(args: &RunArgs) -> anyhow::Result<Self> {
        let wrong = |flag: &str, why: String| {
            Stop::error(Exit::Usage, format!("{}: {why}", args.sources.name(flag)))
        };
        let read = |name: &str| name.parse::<Format>().map_err(|why| why.to_string());
        let format = read(&args.output.format).map_err(|why| wrong("--format", why))?;
        let mut files: Vec<OutputFile> = Vec::new();
        for text in args.output.outputs.iter().map(|text| text.trim()).filter(|t| !t.is_empty()) {
            let refuse = |why: String| wrong("--output", why);
            let (name, path) =
                text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(|| {
                    refuse(format!(
                        "{text:?} names no file: write FORMAT=FILE, such as junit=benchd.xml"
                    ))
                })?;
            let format = read(name).map_err(refuse)?;
            let file = OutputFile::new(format, PathBuf::from(path));
            let file = file.map_err(|why| refuse(format!("cannot write {path}: {why}")))?;
            if files.iter().any(|other| other.path == file.path) {
                return Err(refuse(format!("{path} is given twice")));
            }
            files.push(file);
        }
        let variable = std::env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty());
        Ok(Self {
            of_comparison: false,
            printed: (format, io::stdout().is_terminal()),
            files,
            summary: variable.filter(|_| args.output.summary).map(PathBuf::from),
        })
    }

    /// The same for a comparison, whose JSON is a document of its own.
    pub(crate) fn of_comparison(self) -> Self {
        Self { of_comparison: true, ..self }
    }

    /// The text of a form, unless it is that of the comparison.
    pub(super) fn text(
        &self,
        (format, colour): Form,
        report: &Report<'_>,
    ) -> anyhow::Result<String> {
        Ok(match (format, &report.result.comparison) {
            (Format::Table, _) => render_table(report, colour),
            (Format::Json, Some(comparison)) if self.of_comparison => json_text(comparison)?,
            (format, _) => render(format, report),
        })
    }

    /// Every form that [`Self::deliver`] needs, each once.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let files = self.files.iter().map(|file| (file.format, false));
        let summary = self.summary.iter().map(|_| (Format::Markdown, false));
        let mut forms = vec![self.printed];
        for form in files.chain(summary) {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        forms
    }

    /// Writes every text to its place. What cannot be written keeps none of the
    /// others from its place; a summary that cannot be written is only told.
    ///
    /// # Errors
    /// The first text that was asked for and is in no file.
    pub(crate) fn deliver(self, texts: &HashMap<Form, String>) -> anyhow::Result<()> {
        let mut outcome = Ok(());
        for file in self.files {
            let shown = file.path.display().to_string();
            let text = &texts[&(file.format, false)];
            let written = file
                .write(text)
                .map_err(|why| Stop::error(Exit::Usage, format!("cannot write {shown}: {why}")));
            outcome = outcome.and(written);
        }
        if let Some(path) = &self.summary
            && let Err(why) = append(path, &texts[&(Format::Markdown, false)])
        {
            let shown = path.display();
            tell(format_args!(
                "benchd: no summary, cannot append to {STEP_SUMMARY} {shown}: {why}"
            ));
        }
        print(&texts[&self.printed]).and(outcome)
    }
}

/// A document as it is printed.
pub(crate) fn json_text(document: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(document)?))
}

impl OutputFile {
    fn new(format: Format, path: PathBuf) -> io::Result<Self> {
        // What is behind /dev/stdout may be a regular file, which is not ours to replace.
        let device = [Path::new("/dev"), Path::new("/dev/fd")];
        let device = path.parent().is_some_and(|folder| device.contains(&folder));
        if device || fs::metadata(&path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Ok(Self { format, path, draft: None });
        }
        let path = fs::canonicalize(&path).unwrap_or(path);
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        // What the process's mask leaves of it, as for any new file.
        let draft = tempfile::Builder::new()
            .prefix(".benchd-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(Self { format, path, draft: Some(draft) }),
        }
    }

    fn write(self, text: &str) -> io::Result<()> {
        let Some(mut draft) = self.draft else {
            return OpenOptions::new().append(true).open(&self.path)?.write_all(text.as_bytes());
        };
        draft.write_all(text.as_bytes())?;
        draft.persist(&self.path)?;
        Ok(())
    }
}

/// Others write there, too; what they left may end in the middle of a line.
fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("\n{text}").as_bytes())
}
