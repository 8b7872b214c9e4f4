//! Connections: parsing addresses, encryption, session settings, and prepared statements.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join;
use tokio::task::AbortHandle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Row, SimpleQueryMessage, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::{PostgresError, PostgresResult};
use super::tls;
use crate::address::ServerAddress;
use crate::error::{StoreError, StoreResult};
use crate::sqlite::StoreDurability;

/// Default time limit for connecting, if the address does not set one, and time after which a silent connection is
/// examined.
const CONNECT: Duration = Duration::from_secs(10);
/// After this much silence, TCP keepalive probes the connection.
const QUIET: Duration = Duration::from_secs(30);
/// A server that does not acknowledge sent data for this long is considered unreachable.
const DEAF: Duration = Duration::from_secs(20);

/// How connections are made.
#[derive(Clone)]
pub struct PostgresConnector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// Sent at the start of each connection: settings, and a question for the number of the server's process.
    greeting: String,
    /// See [`Self::limit`].
    limit: Duration,
}

impl PostgresConnector {
    /// Prepares connections to an address.
    pub fn for_address(address: &ServerAddress, durability: StoreDurability) -> StoreResult<Self> {
        let open = |why: String| StoreError::Open { path: address.display_path(), why };
        let (url, authority) = of_libpq(address.url_with_password());
        let mut config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| open(super::fault::error_text(&error)))?;
        // The client takes the first `@` for the end of the password.
        let is_part = |name: &str| name.contains('@');
        let parts = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if is_part(name)));
        if parts || config.get_dbname().is_some_and(is_part) {
            return Err(open("its user or password contains `@`, which must be written as `%40`".to_owned()));
        }
        if let (None, Some(password)) = (config.get_password(), address.environment_password()) {
            config.password(password);
        }
        let limit = config.get_connect_timeout().copied().unwrap_or(CONNECT);
        config.connect_timeout(limit);
        if config.get_application_name().is_none() {
            config.application_name("trefoil");
        }
        config.keepalives_idle(QUIET).tcp_user_timeout(DEAF);
        if !url.contains("sslmode=") {
            config.ssl_mode(if is_here(&config) { SslMode::Disable } else { SslMode::Require });
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls::tls_connector(authority.as_deref()).map_err(open)?),
        };
        let commit = match durability {
            StoreDurability::Sync => "on",
            StoreDurability::Batch => "off",
        };
        // Prepared statements are planned once: planning a look for work takes longer than the look, and longer with more runs.
        let greeting = format!(
            "SET search_path TO trefoil; SET synchronous_commit TO {commit}; \
             SET plan_cache_mode TO force_generic_plan; SET jit TO off; \
             SET idle_in_transaction_session_timeout TO '60s'; SET client_min_messages TO warning; \
             SELECT pg_backend_pid()"
        );
        // Several hosts are tried one after the other.
        let limit = limit * u32::try_from(config.get_hosts().len().max(1)).unwrap_or(1);
        Ok(Self { config, tls, greeting, limit })
    }

    /// For connections that change nothing.
    #[must_use]
    pub fn only_to_read(self) -> Self {
        Self { greeting: format!("SET default_transaction_read_only TO on; {}", self.greeting), ..self }
    }

    /// How long the server may take to accept a connection. If an operation takes longer, somebody looks whether the server
    /// still works on it.
    pub fn connect_limit(&self) -> Duration {
        self.limit
    }

    /// Opens a connection.
    pub async fn open_session(&self) -> PostgresResult<PostgresSession> {
        tokio::time::timeout(self.limit, self.greeted()).await.unwrap_or(Err(PostgresError::Silent))
    }

    async fn greeted(&self) -> PostgresResult<PostgresSession> {
        let (client, connection) = match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                (client, tokio::spawn(async move { drop(connection.await) }))
            }
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                (client, tokio::spawn(async move { drop(connection.await) }))
            }
        };
        let mut session = PostgresSession {
            client,
            connection: connection.abort_handle(),
            backend: 0,
            statements: HashMap::new(),
            begun: false,
        };
        for message in session.client.simple_query(&self.greeting).await? {
            if let SimpleQueryMessage::Row(row) = message {
                session.backend = row.try_get(0)?.and_then(|number| number.parse().ok()).unwrap_or(0);
            }
        }
        Ok(session)
    }

    /// Opens a connection and calls `heard` with the channel of each notification in these channels, until the connection breaks.
    pub async fn listen_channels(
        &self,
        channels: &[&str],
        heard: impl Fn(&str) + Send + 'static,
    ) -> PostgresResult<()> {
        match &self.tls {
            None => {
                let (client, connection) = self.in_time(self.config.connect(NoTls)).await?;
                hear(client, connection, channels, heard).await
            }
            Some(tls) => {
                let (client, connection) = self.in_time(self.config.connect(tls.clone())).await?;
                hear(client, connection, channels, heard).await
            }
        }
    }

    async fn in_time<T>(
        &self,
        connecting: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> PostgresResult<T> {
        match tokio::time::timeout(self.limit, connecting).await {
            Ok(connected) => Ok(connected?),
            Err(_) => Err(PostgresError::Silent),
        }
    }
}

async fn hear<S, T>(
    client: Client,
    mut connection: tokio_postgres::Connection<S, T>,
    channels: &[&str],
    heard: impl Fn(&str) + Send + 'static,
) -> PostgresResult<()>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
{
    let ask: String = channels.iter().map(|channel| format!("LISTEN {channel};")).collect();
    let asked = client.batch_execute(&ask);
    let listening = async {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message? {
                heard(notification.channel());
            }
        }
        Ok(())
    };
    let (asked, ended) = join(asked, listening).await;
    asked?;
    ended
}

/// Replaces the options of an address that libpq has and the client does not: returns the address, and the file of the
/// certificates to trust, if it names one. Certificates are always checked.
fn of_libpq(url: &str) -> (String, Option<PathBuf>) {
    let Some((place, options)) = url.rsplit_once('?') else { return (url.to_owned(), None) };
    let mut authority = None;
    let mut kept = Vec::new();
    for option in options.split('&') {
        match option.split_once('=') {
            Some(("sslmode", "verify-full" | "verify-ca")) => kept.push("sslmode=require"),
            Some(("sslrootcert", "system")) => {}
            Some(("sslrootcert", file)) => authority = Some(PathBuf::from(decoded(file))),
            _ => kept.push(option),
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    (format!("{place}{mark}{}", kept.join("&")), authority)
}

/// Decodes percent-encoded characters; what is not valid stays as it is.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (code, part.get(2..)) {
            (Some(byte), Some(rest)) => {
                bytes.push(byte);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the server is on this machine, so that no data crosses a network.
fn is_here(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// The parameters of a statement.
pub type StatementParameters<'v> = &'v [&'v (dyn ToSql + Sync)];

/// A connection with its prepared statements.
pub struct PostgresSession {
    client: Client,
    /// The task that sends and receives.
    connection: AbortHandle,
    /// The number of the server's process.
    backend: i32,
    statements: HashMap<&'static str, Statement>,
    /// Whether a transaction is open.
    begun: bool,
}

impl PostgresSession {
    /// Whether the connection is closed.
    pub fn is_gone(&self) -> bool {
        self.client.is_closed()
    }

    /// The number of the server's process for this connection.
    pub fn backend_id(&self) -> i32 {
        self.backend
    }

    /// Since when the server waits for a request on another connection; `None` if it works on one. The result is only for
    /// comparison.
    pub async fn idle_since(&mut self, backend: i32) -> PostgresResult<Option<String>> {
        let question = "SELECT coalesce(state LIKE 'idle%', false), coalesce(state_change::text, '') \
                        FROM pg_stat_activity WHERE pid = $1";
        let Some(row) = self.query_row(question, &[&backend]).await? else { return Ok(Some("ended".to_owned())) };
        let (idle, since): (bool, String) = (row.try_get(0)?, row.try_get(1)?);
        Ok(idle.then_some(since))
    }

    /// Closes the connection although the server has not answered.
    pub fn abort_connection(self) {
        self.connection.abort();
    }

    async fn statement(&mut self, sql: &'static str) -> PostgresResult<Statement> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Runs a query and returns its rows.
    pub async fn query_rows(&mut self, sql: &'static str, values: StatementParameters<'_>) -> PostgresResult<Vec<Row>> {
        let statement = self.statement(sql).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    /// Runs a query and returns its first row.
    pub async fn query_row(
        &mut self,
        sql: &'static str,
        values: StatementParameters<'_>,
    ) -> PostgresResult<Option<Row>> {
        Ok(self.query_rows(sql, values).await?.into_iter().next())
    }

    /// Runs a query whose text is generated, so that it is not kept as a prepared statement.
    pub async fn query_generated(&mut self, sql: &str, values: StatementParameters<'_>) -> PostgresResult<Vec<Row>> {
        Ok(self.client.query(sql, values).await?)
    }

    /// Runs a statement and returns the number of affected rows.
    pub async fn execute_statement(
        &mut self,
        sql: &'static str,
        values: StatementParameters<'_>,
    ) -> PostgresResult<u64> {
        let statement = self.statement(sql).await?;
        Ok(self.client.execute(&statement, values).await?)
    }

    /// Runs several statements without parameters.
    pub async fn execute_batch(&mut self, sql: &str) -> PostgresResult<()> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Begins a transaction.
    pub async fn begin_transaction(&mut self) -> PostgresResult<()> {
        self.begun = true;
        self.execute_batch("BEGIN").await
    }

    /// Begins a transaction with these statements, and runs a query in it, in one round trip.
    pub async fn begin_and_query(
        &mut self,
        begin: &str,
        sql: &'static str,
        values: StatementParameters<'_>,
    ) -> PostgresResult<Vec<Row>> {
        let statement = self.statement(sql).await?;
        self.begun = true;
        // Sent in this order, without waiting for the first response.
        let (begun, rows) = join(self.client.batch_execute(begin), self.client.query(&statement, values)).await;
        begun?;
        Ok(rows?)
    }

    /// Runs a query and commits the transaction, in one round trip. If the query fails, nothing is committed.
    pub async fn query_and_commit(
        &mut self,
        sql: &'static str,
        values: StatementParameters<'_>,
    ) -> PostgresResult<Vec<Row>> {
        let statement = self.statement(sql).await?;
        let (rows, committed) = join(self.client.query(&statement, values), self.client.batch_execute("COMMIT")).await;
        let rows = rows?;
        committed?;
        self.begun = false;
        Ok(rows)
    }

    /// Begins a read-only transaction that sees one snapshot.
    pub async fn begin_to_read(&mut self) -> PostgresResult<()> {
        self.begun = true;
        self.execute_batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// Begins a transaction whose queries are planned for their values.
    pub async fn begin_to_search(&mut self) -> PostgresResult<()> {
        self.begun = true;
        self.execute_batch("BEGIN; SET LOCAL plan_cache_mode TO auto").await
    }

    /// Commits the transaction.
    pub async fn commit_transaction(&mut self) -> PostgresResult<()> {
        self.execute_batch("COMMIT").await?;
        self.begun = false;
        Ok(())
    }

    /// Rolls back the open transaction, if there is one. Returns whether the connection can still be used.
    pub async fn give_up(&mut self) -> bool {
        if self.begun {
            self.begun = self.execute_batch("ROLLBACK").await.is_err();
        }
        !self.begun && !self.is_gone()
    }
}
