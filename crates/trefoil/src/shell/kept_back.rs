//! The environment variables that commands do not get, because they probably hold credentials.

use trefoil_models::vendors::is_key;

/// Whether an environment variable is hidden from commands: the key of a provider, a variable with the name of a
/// credential, or a value with a password in it. A step that needs one passes it under `env`.
pub fn is_kept_back(name: &str, value: &str) -> bool {
    is_key(name) || has_name(name) || has_password(value)
}

fn has_name(name: &str) -> bool {
    const WHOLE: [&str; 4] = ["APIKEY", "PAT", "PASS", "JWT"];
    const LAST: [&str; 6] = ["_KEY", "_APIKEY", "TOKEN", "_PAT", "_PASS", "_PWD"];
    const ANYWHERE: [&str; 7] =
        ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY", "ACCESS_KEY"];
    let upper = name.to_ascii_uppercase();
    WHOLE.contains(&upper.as_str())
        || LAST.iter().any(|end| upper.ends_with(end))
        || ANYWHERE.iter().any(|part| upper.contains(part))
}

/// Whether it contains a URL with a password (`TREFOIL_STORE`, `DATABASE_URL`), or the settings of a connection with one.
fn has_password(value: &str) -> bool {
    let in_url = value.split("://").skip(1).any(|rest| {
        // A password may contain `/`, a user name may not; a port before a path is not a password.
        let Some((user, password)) = rest.split_once('@').and_then(|(login, _)| login.split_once(':')) else {
            return false;
        };
        let port = password.split_once('/').is_some_and(|(port, _)| port.chars().all(|c| c.is_ascii_digit()));
        !password.is_empty() && !port && !user.contains(['/', '?', '#']) && !user.contains(char::is_whitespace)
    });
    let lower = value.to_ascii_lowercase();
    in_url || ["password=", "pwd=", "accountkey="].iter().any(|setting| lower.contains(setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_are_kept_back() {
        for name in [
            "OPENAI_API_KEY",
            "MY_API_KEY",
            "GITHUB_TOKEN",
            "CLIENT_SECRET",
            "AWS_SECRET_ACCESS_KEY",
            "TREFOIL_SECRETS_KEY",
            "TREFOIL_SECRETS_PASSPHRASE",
            "PGPASSWORD",
            "MYSQL_PWD",
            "DB_PASS",
            "DbPassword",
            "GITHUB_PAT",
            "APIKEY",
            "TOKEN",
            "SECRET",
            "PAT",
            "SECRET_KEY_BASE",
            "OPENAI_KEY",
            "NPM_AUTHTOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(is_kept_back(name, "x"), "{name}");
        }
        for name in ["PATH", "HOME", "PWD", "OLDPWD", "TOKENS", "KEYBOARD", "SSH_ASKPASS", "TREFOIL_STORE"] {
            assert!(!is_kept_back(name, "x"), "{name}");
        }
    }

    #[test]
    fn a_value_with_a_password_is_kept_back() {
        for value in [
            "postgres://u:canary@localhost/db",
            "postgres://u:can/ary@localhost/db",
            "redis://:canary@localhost",
            "a=http://x, b=mongodb+srv://u:canary@one,two",
            "host=localhost user=u password=canary",
            "Server=x;Uid=u;Pwd=canary;",
        ] {
            assert!(is_kept_back("TREFOIL_STORE", value), "{value}");
        }
        for value in
            ["postgres://u@localhost/db", "https://example.com/a:b@c", "http://localhost:80/x@y", "a:b@c", "runs.db"]
        {
            assert!(!is_kept_back("TREFOIL_STORE", value), "{value}");
        }
    }
}
