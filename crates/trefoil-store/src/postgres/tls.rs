//! Encrypted connections. The server's certificate is always verified against the certificates that this machine
//! trusts, or those in the file that the address names: encryption without verification does not protect against an
//! impostor.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encrypts connections, and trusts the authorities in a file, or those that this machine trusts. `SSL_CERT_FILE` names others for
/// the machine.
pub fn tls_connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, String> {
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
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
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
