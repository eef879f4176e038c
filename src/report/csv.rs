//! The timeline as CSV (RFC 4180: header line, CRLF, quoted where needed).
//! Columns are the keys of a timeline row in their order; a figure that is not
//! there is an empty field. Times are RFC 3339.

use benchd_model::spec::LoadSpec;
use benchd_model::{SecondRecord, TimelineRow, TrialRecording, timeline};
use csv::{Terminator, WriterBuilder};

/// The rows of a timeline as CSV; the header stands even above none.
#[must_use]
pub fn timeline(rows: &[TimelineRow]) -> String {
    if rows.is_empty() {
        let row = timeline::live_row(
            &TrialRecording::default(),
            &SecondRecord::default(),
            &LoadSpec::default(),
        );
        let text = write(&[row]);
        let header_end = text.find('\n').map_or(text.len(), |at| at + 1);
        return text[..header_end].to_owned();
    }
    write(rows)
}

fn write(rows: &[TimelineRow]) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("a timeline row is flat and memory takes every write");
    }
    let bytes = writer.into_inner().expect("memory takes every write");
    String::from_utf8(bytes).expect("the csv writer was given text only")
}
