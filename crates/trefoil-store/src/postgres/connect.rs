//! Connections: how an address is read, when they are encrypted, what holds for each, and the statements that it has prepared.

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

/// How long a server may take to let somebody in, if the address does not say.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection of which nothing is heard for so long is asked whether it still lives.
const QUIET: Duration = Duration::from_secs(30);
/// A server that does not acknowledge what it was sent for so long is gone.
const DEAF: Duration = Duration::from_secs(20);

/// How connections are made.
#[derive(Clone)]
pub struct Door {
    config: Config,
    tls: Option<Tls>,
    /// What is said at the beginning of each.
    greeting: String,
}

impl Door {
    /// To an address.
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

    /// A connection.
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

    /// A connection that tells of what others say in a channel, until it breaks.
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

/// Whether the server is on this machine: what is said to it goes over no network.
fn is_here(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// Values for a statement.
pub type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

/// A connection, with the statements that it knows already.
pub struct Session {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    /// Whether a transaction is open.
    begun: bool,
}

impl Session {
    /// Whether it can be used no longer.
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

    /// The rows of an answer.
    pub async fn rows(&mut self, sql: &'static str, values: Values<'_>) -> Done<Vec<Row>> {
        let statement = self.statement(sql).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    /// The first row.
    pub async fn row(&mut self, sql: &'static str, values: Values<'_>) -> Done<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// The rows of an answer to a question that is put together.
    pub async fn asked(&mut self, sql: &str, values: Values<'_>) -> Done<Vec<Row>> {
        Ok(self.client.query(sql, values).await?)
    }

    /// Does something; to how many rows.
    pub async fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Done<u64> {
        let statement = self.statement(sql).await?;
        Ok(self.client.execute(&statement, values).await?)
    }

    /// Does several things that have no values.
    pub async fn batch(&mut self, sql: &str) -> Done<()> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Everything from now on, or nothing.
    pub async fn begin(&mut self) -> Done<()> {
        self.begun = true;
        self.batch("BEGIN").await
    }

    /// The same, of what the store is at one moment.
    pub async fn begin_to_read(&mut self) -> Done<()> {
        self.begun = true;
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// It is done.
    pub async fn commit(&mut self) -> Done<()> {
        self.batch("COMMIT").await?;
        self.begun = false;
        Ok(())
    }

    /// Nothing was done, if a transaction is open. False: the connection is of no use.
    pub async fn give_up(&mut self) -> bool {
        if self.begun {
            self.begun = self.batch("ROLLBACK").await.is_err();
        }
        !self.begun && !self.is_gone()
    }
}
