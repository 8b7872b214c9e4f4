//! Connections: parsing addresses, encryption, session settings, and prepared statements.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Row, Statement};

use super::fault::Done;
use super::tls::Tls;
use crate::address::Address;
use crate::error::{Result, StoreError};
use crate::sqlite::Durability;

/// Default time limit for connecting, if the address does not set one.
const CONNECT: Duration = Duration::from_secs(10);
/// After this much silence, TCP keepalive probes the connection.
const QUIET: Duration = Duration::from_secs(30);
/// A server that does not acknowledge sent data for this long is considered unreachable.
const DEAF: Duration = Duration::from_secs(20);

/// How connections are made.
#[derive(Clone)]
pub struct Door {
    config: Config,
    tls: Option<Tls>,
    /// Settings that are sent at the start of each connection.
    greeting: String,
}

impl Door {
    /// Prepares connections to an address.
    pub fn to(address: &Address, durability: Durability) -> Result<Self> {
        let open = |why: String| StoreError::Open { path: address.path(), why };
        // Certificates are always checked.
        let url = ["verify-full", "verify-ca"]
            .into_iter()
            .fold(address.secret().to_owned(), |url, mode| url.replace(&format!("sslmode={mode}"), "sslmode=require"));
        let mut config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| open(super::fault::said(&error)))?;
        if let (None, Some(password)) = (config.get_password(), address.password()) {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("trefoil");
        }
        config.keepalives_idle(QUIET).tcp_user_timeout(DEAF);
        if !url.contains("sslmode=") {
            config.ssl_mode(if is_here(&config) { SslMode::Disable } else { SslMode::Require });
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(Tls::of_machine().map_err(|error| open(error.to_string()))?),
        };
        let commit = match durability {
            Durability::Sync => "on",
            Durability::Batch => "off",
        };
        let greeting = format!(
            "SET search_path TO trefoil; SET synchronous_commit TO {commit}; \
             SET idle_in_transaction_session_timeout TO '60s'; SET client_min_messages TO warning"
        );
        Ok(Self { config, tls, greeting })
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Done<Session> {
        let client = match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                tokio::spawn(connection);
                client
            }
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                tokio::spawn(connection);
                client
            }
        };
        client.batch_execute(&self.greeting).await?;
        Ok(Session { client, statements: HashMap::new(), begun: false })
    }

    /// Opens a connection and calls `heard` for each notification in a channel, until the connection breaks.
    pub async fn listen(&self, channel: &str, heard: impl Fn() + Send + 'static) -> Done<()> {
        match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                hear(client, connection, channel, heard).await
            }
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                hear(client, connection, channel, heard).await
            }
        }
    }
}

async fn hear<S, T>(
    client: Client,
    mut connection: tokio_postgres::Connection<S, T>,
    channel: &str,
    heard: impl Fn() + Send + 'static,
) -> Done<()>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
{
    let ask = format!("LISTEN {channel}");
    let asked = client.batch_execute(&ask);
    let listening = async {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(_) = message? {
                heard();
            }
        }
        Ok(())
    };
    let (asked, ended) = futures_util::future::join(asked, listening).await;
    asked?;
    ended
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
pub type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

/// A connection with its prepared statements.
pub struct Session {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    /// Whether a transaction is open.
    begun: bool,
}

impl Session {
    /// Whether the connection is closed.
    pub fn is_gone(&self) -> bool {
        self.client.is_closed()
    }

    async fn statement(&mut self, sql: &'static str) -> Done<Statement> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Runs a query and returns its rows.
    pub async fn rows(&mut self, sql: &'static str, values: Values<'_>) -> Done<Vec<Row>> {
        let statement = self.statement(sql).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    /// Runs a query and returns its first row.
    pub async fn row(&mut self, sql: &'static str, values: Values<'_>) -> Done<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Runs a query whose text is generated, so that it is not kept as a prepared statement.
    pub async fn asked(&mut self, sql: &str, values: Values<'_>) -> Done<Vec<Row>> {
        Ok(self.client.query(sql, values).await?)
    }

    /// Runs a statement and returns the number of affected rows.
    pub async fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Done<u64> {
        let statement = self.statement(sql).await?;
        Ok(self.client.execute(&statement, values).await?)
    }

    /// Runs several statements without parameters.
    pub async fn batch(&mut self, sql: &str) -> Done<()> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Begins a transaction.
    pub async fn begin(&mut self) -> Done<()> {
        self.begun = true;
        self.batch("BEGIN").await
    }

    /// Begins a read-only transaction that sees one snapshot.
    pub async fn begin_to_read(&mut self) -> Done<()> {
        self.begun = true;
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// Commits the transaction.
    pub async fn commit(&mut self) -> Done<()> {
        self.batch("COMMIT").await?;
        self.begun = false;
        Ok(())
    }

    /// Rolls back the open transaction, if there is one. Returns whether the connection can still be used.
    pub async fn give_up(&mut self) -> bool {
        if self.begun {
            self.begun = self.batch("ROLLBACK").await.is_err();
        }
        !self.begun && !self.is_gone()
    }
}
