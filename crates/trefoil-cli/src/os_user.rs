//! The user of this process, by name: who answers the questions of runs.

use trefoil_machine::AnswerSender;

/// The variables of the environment that name the user, as login programs set them.
const VARIABLES: [&str; 3] = ["LOGNAME", "USER", "USERNAME"];

/// The user as the sender of an answer. Anybody may set these variables: it says who the user claims to be.
pub fn user_sender(origin: &str) -> AnswerSender {
    AnswerSender::new(&user_name(), origin)
}

fn user_name() -> String {
    for name in VARIABLES {
        if let Ok(user) = std::env::var(name)
            && !user.is_empty()
        {
            return user;
        }
    }
    user_number()
}

/// In a container, often nothing names the user.
#[cfg(unix)]
fn user_number() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn user_number() -> String {
    String::new()
}
