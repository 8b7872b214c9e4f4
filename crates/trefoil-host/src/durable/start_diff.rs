//! What two runs started with: their inputs, their models and their files. It is what made them differ.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use trefoil_machine::{ProgramFile, RunStart};
use trefoil_project::bundle::read_stored_text;
use trefoil_project::error::Result;
use trefoil_store::Store;
use trefoil_view::diff::{ValueChange, WordDiff, changed_values};

/// The differences between what two runs started with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartDiff {
    /// The values of the inputs that differ, as they may be shown.
    pub input: Vec<ValueChange>,
    /// What answered: `answers` for all calls, and `models.AGENT` for an agent.
    pub models: Vec<ValueChange>,
    /// The files of the programs that differ, by path.
    pub files: Vec<FileDiff>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FileDiff {
    /// Its path in the second run; in the first one, if only that has it.
    pub path: String,
    /// Which of the runs has it.
    pub change: FileDifference,
    /// The differences between its texts.
    pub words: WordDiff,
}

/// Which of two runs has a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDifference {
    /// Only the second one.
    Added,
    /// Only the first one.
    Removed,
    /// Both, with other texts.
    Changed,
}

impl FileDifference {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// Compares what two runs started with.
///
/// # Errors
///
/// [`trefoil_project::Error::Store`] if a file of a run cannot be read.
pub(super) async fn compare_starts(store: &dyn Store, a: &RunStart, b: &RunStart) -> Result<StartDiff> {
    let input = |start: &RunStart| start.input.as_ref().map(|input| input.visible_value().to_json());
    let as_it_is = |_: &Json| None;
    let input = changed_values(input(a).as_ref(), input(b).as_ref(), &as_it_is);
    let models = changed_values(Some(&answers_json(a)), Some(&answers_json(b)), &as_it_is);
    Ok(StartDiff { input, models, files: compare_files(store, a, b).await? })
}

/// What answers the calls of a run.
fn answers_json(start: &RunStart) -> Json {
    let mut models = Map::new();
    for (agent, model) in &start.models {
        models.insert(agent.clone(), model.as_str().into());
    }
    let mut all = Map::new();
    all.insert("answers".to_owned(), start.answers.as_str().into());
    all.insert("models".to_owned(), models.into());
    all.into()
}

async fn compare_files(store: &dyn Store, a: &RunStart, b: &RunStart) -> Result<Vec<FileDiff>> {
    let mut all = Vec::new();
    for (before, now) in pair_files(&a.program.sources, &b.program.sources) {
        if let (Some(before), Some(now)) = (before, now)
            && before.sha256 == now.sha256
        {
            continue;
        }
        let change = match (before, now) {
            (None, _) => FileDifference::Added,
            (_, None) => FileDifference::Removed,
            _ => FileDifference::Changed,
        };
        let (mut texts, mut path) = ([String::new(), String::new()], "");
        for (text, (run, file)) in texts.iter_mut().zip([(&a.run, before), (&b.run, now)]) {
            if let Some(file) = file {
                *text = read_stored_text(store, run, &file.path, &file.sha256).await?;
                path = &file.path;
            }
        }
        let [before, now] = &texts;
        all.push(FileDiff { path: path.to_owned(), change, words: WordDiff::between_texts(before, now) });
    }
    Ok(all)
}

type FilePair<'a> = (Option<&'a ProgramFile>, Option<&'a ProgramFile>);

/// The files of two programs, side by side. Paths begin at the folder of all files of a program, which another file moves: a file
/// without a partner gets the only one of its name.
fn pair_files<'a>(a: &'a [ProgramFile], b: &'a [ProgramFile]) -> Vec<FilePair<'a>> {
    let mut left: BTreeMap<&str, &ProgramFile> = a.iter().map(|file| (&*file.path, file)).collect();
    let mut pairs: Vec<FilePair<'a>> = b.iter().map(|file| (left.remove(&*file.path), Some(file))).collect();
    for (before, now) in &mut pairs {
        let (None, Some(file)) = (&before, now) else { continue };
        let mut same_name = left.keys().filter(|path| file_name(path) == file_name(&file.path));
        if let (Some(path), None) = (same_name.next().copied(), same_name.next()) {
            *before = left.remove(path);
        }
    }
    pairs.extend(left.into_values().map(|file| (Some(file), None)));
    pairs
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_only_moved_with_its_folder_is_the_same_file() {
        let file = |path: &str| ProgramFile { path: path.to_owned(), sha256: String::new() };
        let (a, b) = ([file("a.yaml"), file("gone.yaml")], [file("flows/a.yaml"), file("other/b.yaml")]);
        let paths = |pair: FilePair<'_>| (pair.0.map(|file| file.path.clone()), pair.1.map(|file| file.path.clone()));
        let pairs: Vec<_> = pair_files(&a, &b).into_iter().map(paths).collect();
        let some = |path: &str| Some(path.to_owned());
        let expected =
            [(some("a.yaml"), some("flows/a.yaml")), (None, some("other/b.yaml")), (some("gone.yaml"), None)];
        assert_eq!(pairs, expected);
    }
}
