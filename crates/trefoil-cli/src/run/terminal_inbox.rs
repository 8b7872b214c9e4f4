//! Prompts the user at the terminal.

use std::collections::HashSet;
use std::io::BufRead as _;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use trefoil_host::answers::accepted_word;
use trefoil_ir::OnTimeout;
use trefoil_machine::AnswerSender;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{HumanInbox, HumanRequest, QuestionState};

use super::RunDisplay;
use crate::os_user::user_sender;
use crate::terminal_text::TerminalText;
use crate::words::{escape_line, format_limit, one_line};
use crate::{output, shown};

/// Asks on stderr and reads lines from stdin.
pub struct TerminalInbox {
    shown: Arc<RunDisplay>,
    /// Whether the run is stored, so that a question can be answered later.
    is_kept: bool,
    /// The lines that were typed, and the visits whose question was shown. One question at a time.
    typed: Mutex<(Option<UnboundedReceiver<String>>, HashSet<String>)>,
}

impl TerminalInbox {
    /// Uses the terminal on which the run is shown.
    pub fn new(shown: Arc<RunDisplay>, is_kept: bool) -> Self {
        Self { shown, is_kept, typed: Mutex::default() }
    }
}

/// Lines of stdin as they are typed. Reading cannot be cancelled, so one separate thread reads for all questions; it
/// may wait forever without blocking anything.
fn read_along() -> UnboundedReceiver<String> {
    let (send, receive) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// What a person did about a question.
pub enum TypedAnswer {
    /// Typed this.
    Given(String),
    /// Typed nothing, which means the default.
    Default,
    /// The end of input, which is no answer.
    EndOfInput,
}

#[async_trait]
impl HumanInbox for TerminalInbox {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        let visit = format!("{} {}", at.run, at.key.without_try());
        match self.read_answer(visit, request).await {
            TypedAnswer::Given(text) => QuestionState::AnswerFrom(text, user_sender(AnswerSender::TERMINAL)),
            TypedAnswer::Default => QuestionState::Nobody,
            // Somebody may give one later.
            TypedAnswer::EndOfInput if self.is_kept => QuestionState::Later,
            TypedAnswer::EndOfInput => QuestionState::Nobody,
        }
    }
}

impl TerminalInbox {
    /// Shows a question and waits for a line. `visit`: its run and its step, of which the question is shown once.
    pub async fn read_answer(&self, visit: String, request: &HumanRequest) -> TypedAnswer {
        let mut typed = self.typed.lock().await;
        let (lines, shown) = &mut *typed;
        let lines = lines.get_or_insert_with(read_along);
        // Lines that were typed before the question are not answers to it.
        while lines.try_recv().is_ok() {}
        let _paused = self.shown.pause_drawing();
        let default = match &request.on_timeout {
            OnTimeout::Answer(default) if request.refused.is_none() => Some(escape_line(default)),
            OnTimeout::Answer(_) | OnTimeout::Fail => None,
        };
        let mut text = TerminalText::default();
        // If an answer from the command line was rejected, the question has not been shown yet.
        if shown.insert(visit) {
            text.push(question(request, default.as_deref()));
        }
        if let Some(refused) = &request.refused {
            text.push(again(refused, &request.accepts));
            text.push("\n");
        }
        text.push(prompt(&request.accepts, &request.choices, default.as_deref()));
        output::print_part(text);
        let mut open = OpenPrompt(true);
        let Some(typed) = lines.recv().await else { return TypedAnswer::EndOfInput };
        open.0 = false;
        // An empty line means the default, if there is one.
        let typed = match accepted_word(&request.accepts, &typed) {
            Some(word) => word.to_owned(),
            None => typed,
        };
        if typed.is_empty() && default.is_some() {
            return TypedAnswer::Default;
        }
        TypedAnswer::Given(typed)
    }
}

/// A prompt whose line has not ended. If it is not answered, because of a timeout or because the run was stopped,
/// dropping this starts a new line.
struct OpenPrompt(bool);

impl Drop for OpenPrompt {
    fn drop(&mut self) {
        if self.0 {
            output::print_line("");
        }
    }
}

/// The step, the time limit and the question.
fn question(request: &HumanRequest, default: Option<&str>) -> TerminalText {
    let bold = anstyle::Style::new().bold();
    let dim = anstyle::Style::new().dimmed();
    let then = match default {
        Some(default) => format!(", then it is: {default}"),
        None => String::new(),
    };
    let time = match request.timeout_ms {
        Some(ms) => {
            shown!("  {}", TerminalText::with_style(dim, format!("{} to answer{then}", format_limit(ms))))
        }
        None => TerminalText::default(),
    };
    let step = TerminalText::with_style(bold, TerminalText::from_line(&request.step));
    let text = TerminalText::from(request.prompt.to_text().trim_end());
    shown!("\n{}{}\n{}\n\n", step, time, text)
}

/// The prompt: `(yes/no) [no]> `
fn prompt(accepts: &[Arc<str>], choices: &[Arc<str>], default: Option<&str>) -> String {
    let mut hint = match (accepts, choices) {
        ([], []) => Vec::new(),
        ([], some) => vec![format!("({}, or another answer)", join_words(some, "/"))],
        (all, _) => vec![format!("({})", join_words(all, "/"))],
    };
    if let Some(default) = default {
        hint.push(format!("[{default}]"));
    }
    format!("{}> ", hint.join(" "))
}

/// Why the question is repeated.
fn again(refused: &str, accepts: &[Arc<str>]) -> String {
    let words = join_words(accepts, ", ");
    match (refused.trim(), words.as_str()) {
        ("", "") => "Please type an answer.".to_owned(),
        ("", words) => format!("Please type an answer: {words}."),
        (refused, "") => format!("\"{}\" is not accepted here. Please answer again.", one_line(refused)),
        (refused, words) => format!("\"{}\" is not one of the answers: {words}.", one_line(refused)),
    }
}

fn join_words(words: &[Arc<str>], between: &str) -> String {
    words.iter().map(|word| escape_line(word)).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use trefoil_runtime::RawRunMessage;
    use trefoil_runtime::conformance::{InboxFixture, check_inbox};

    /// A person who types the same answer again and again, or never.
    struct Typing(Arc<TerminalInbox>, QuestionState);

    #[async_trait]
    impl InboxFixture for Typing {
        fn inbox(&self) -> Arc<dyn HumanInbox> {
            self.0.clone()
        }
        async fn send(&self, _run: &str, _what: RawRunMessage) -> bool {
            false
        }
        fn expected_state(&self) -> &QuestionState {
            &self.1
        }
    }

    #[test]
    fn a_person_at_a_terminal_conforms() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for asked in [QuestionState::Answer("yes".to_owned()), QuestionState::Nobody] {
            let (keys, lines) = unbounded_channel();
            let there = asked != QuestionState::Nobody;
            std::thread::spawn(move || {
                while there && keys.send(" Yes".to_owned()).is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            });
            let typed = Mutex::new((Some(lines), HashSet::new()));
            let terminal = TerminalInbox { shown: Arc::new(RunDisplay::new(true)), is_kept: false, typed };
            assert_eq!(runtime.block_on(check_inbox(&Typing(Arc::new(terminal), asked))), Ok(()));
        }
    }

    #[test]
    fn what_is_said_to_a_person() {
        let words: Vec<Arc<str>> = vec!["yes".into(), "no".into()];
        assert_eq!(prompt(&words, &[], None), "(yes/no)> ");
        assert_eq!(prompt(&words, &[], Some("no")), "(yes/no) [no]> ");
        assert_eq!(prompt(&[], &words, None), "(yes/no, or another answer)> ");
        assert_eq!((prompt(&[], &[], None), prompt(&[], &[], Some("no"))), ("> ".to_owned(), "[no]> ".to_owned()));
        expect![[r#""maybe" is not one of the answers: yes, no."#]].assert_eq(&again("maybe", &words));
        expect!["Please type an answer: yes, no."].assert_eq(&again(" ", &words));
        assert!(!again("maybe", &[]).contains("transition"));
    }
}
