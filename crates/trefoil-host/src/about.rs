//! What a trace says of a run's program and of what answers its models.

use trefoil_project::load::Loaded;
use trefoil_view::trace::About;

use crate::engine::AnswersFrom;

/// What a trace says of a run of a program whose model calls are answered like this.
pub fn run_about(loaded: &Loaded, answers_from: &AnswersFrom) -> About {
    About {
        dialect: loaded.dialect,
        sources: loaded.sources(),
        answers_from: answers_from.to_string(),
        placeholder: *answers_from == AnswersFrom::Embedded,
        ..About::new(&loaded.program, &loaded.files)
    }
}
