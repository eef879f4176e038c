//! Lines of at most 80 columns: headings, fields, items, rows of figures.

use super::title;
use crate::figures::printable;
use benchd_model::Verdict;

const WIDTH: usize = 80;
const LABEL: usize = 14;
const ROW_LABEL: usize = 8;
const WIDE_LABEL: usize = 15;
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const BOLD: &str = "1";

/// A page under construction.
pub(super) struct Page {
    text: String,
    colour: bool,
}

impl Page {
    pub(super) const fn new(colour: bool) -> Self {
        Self { text: String::new(), colour }
    }

    /// The verdict in capitals, then its sentence.
    pub(super) fn verdict(&mut self, verdict: Verdict, sentence: &str) {
        let shade = match verdict {
            Verdict::Pass => GREEN,
            Verdict::Inconclusive => YELLOW,
            Verdict::Fail | Verdict::Invalid => RED,
        };
        let word = title(verdict);
        let indent = word.len() + 2;
        let painted = self.paint(&word, &format!("1;{shade}"));
        self.text.push_str(&painted);
        self.text.push_str("  ");
        self.wrapped(sentence, indent);
    }

    pub(super) fn heading(&mut self, text: &str) {
        let painted = self.paint(text, BOLD);
        self.text.push('\n');
        self.text.push_str(&painted);
        self.text.push('\n');
    }

    /// A label and its text, continued below itself.
    pub(super) fn field(&mut self, label: &str, text: &str) {
        self.text.push_str(&format!("  {label:<width$}", width = LABEL - 2));
        self.wrapped(text, LABEL);
    }

    /// A sentence of a list.
    pub(super) fn item(&mut self, text: &str) {
        self.text.push_str("  - ");
        self.wrapped(text, 4);
    }

    /// Right-aligned cells that share the width evenly.
    pub(super) fn row(&mut self, label: &str, cells: &[String]) {
        self.cells(&format!("{label:>ROW_LABEL$}"), cells);
    }

    /// The same behind the name of a metric.
    pub(super) fn wide_row(&mut self, label: &str, cells: &[String]) {
        self.cells(&format!("  {label:<WIDE_LABEL$}"), cells);
    }

    fn cells(&mut self, label: &str, cells: &[String]) {
        let width = ((WIDTH - label.len()) / cells.len().max(1)).min(12);
        self.text.push_str(label);
        cells.iter().for_each(|cell| self.text.push_str(&format!("{cell:>width$}")));
        self.text.push('\n');
    }

    /// Lines that are laid out already.
    pub(super) fn raw(&mut self, lines: &str) {
        self.text.push_str(lines);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Breaks between words, and inside one that is longer than a line.
    fn wrapped(&mut self, text: &str, indent: usize) {
        let room = WIDTH - indent;
        let mut used = 0;
        for word in printable(text).split(' ').filter(|word| !word.is_empty()) {
            let letters: Vec<char> = word.chars().collect();
            for (at, piece) in letters.chunks(room).enumerate() {
                let gap = usize::from(used > 0 && at == 0);
                if used + gap + piece.len() > room {
                    self.text.push('\n');
                    self.text.push_str(&" ".repeat(indent));
                    used = 0;
                } else if gap > 0 {
                    self.text.push(' ');
                    used += 1;
                }
                self.text.extend(piece);
                used += piece.len();
            }
        }
        self.text.push('\n');
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
