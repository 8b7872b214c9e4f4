//! The certificate of the server.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate with those of its issuers, and its key, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificates.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// What is wrong with which file.
    pub fn load_acceptor(&self) -> Result<TlsAcceptor, String> {
        let refused = |path: &PathBuf, why: String| format!("`{}` cannot be used: {why}", path.display());
        let mut chain = Vec::new();
        let read = CertificateDer::pem_file_iter(&self.certificate);
        for certificate in read.map_err(|error| refused(&self.certificate, error.to_string()))? {
            chain.push(certificate.map_err(|error| refused(&self.certificate, error.to_string()))?);
        }
        if chain.is_empty() {
            return Err(refused(&self.certificate, "it has no certificate in PEM".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| refused(&self.key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let mut config = config.map_err(|error| refused(&self.key, error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
