//! Encrypted connections. The server's certificate is always verified against the certificates that this machine
//! trusts, or those in the file that the address names: encryption without verification does not protect against an
//! impostor.

use std::error::Error;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;

/// Encrypts connections.
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl Tls {
    /// Trusts the authorities in a file, or those that this machine trusts. `SSL_CERT_FILE` names others for the machine.
    pub fn new(authorities: Option<&Path>) -> Result<Self, String> {
        let why = |error: rustls::Error| error.to_string();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider.clone());
        let config = config.with_safe_default_protocol_versions().map_err(why)?;
        let config = match authorities {
            Some(file) => config.with_root_certificates(roots(file)?),
            None => {
                let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(why)?;
                config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        Ok(Self(TlsConnector::from(Arc::new(config.with_no_client_auth()))))
    }
}

/// The certificates in a file.
fn roots(file: &Path) -> Result<RootCertStore, String> {
    let why = |error: &dyn Error| format!("its `sslrootcert` `{}` cannot be used: {error}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| why(&error))? {
        roots.add(certificate.map_err(|error| why(&error))?).map_err(|error| why(&error))?;
    }
    if roots.is_empty() {
        return Err(format!("its `sslrootcert` `{}` contains no certificate", file.display()));
    }
    Ok(roots)
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(domain.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Handshake { name, connector: self.0.clone() })
    }
}

/// A connection before its TLS handshake.
pub struct Handshake {
    name: ServerName<'static>,
    connector: TlsConnector,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { Ok(Stream(self.connector.connect(self.name, socket).await?)) })
    }
}

/// An encrypted connection.
pub struct Stream(Encrypted<Socket>);

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
