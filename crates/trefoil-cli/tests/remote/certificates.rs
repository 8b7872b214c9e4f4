//! Certificates and ports that do not fit, and what is said about them.

use std::process::Command;

use crate::provider::{KEY, Provider};
use crate::scene::{Scene, start_server};
use crate::world::{Folder, finish};

/// A certificate for `127.0.0.1`, made with `openssl`. `signed`: by an issuer; otherwise by itself.
fn make_certificate(folder: &Folder, signed: bool) {
    let openssl = |args: &[&str]| {
        let ran = Command::new("openssl").args(args).current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"];
    if !signed {
        let own = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"];
        return openssl(&[&new[..], &own].concat());
    }
    openssl(&[&new[..], &["-keyout", "ca.key", "-out", "ca.pem"]].concat());
    openssl(&["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a", "-keyout", "key.pem", "-out", "c.csr"]);
    folder.write("ext", "subjectAltName=IP:127.0.0.1\n");
    openssl(&[
        "x509",
        "-req",
        "-in",
        "c.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "ext",
        "-out",
        "cert.pem",
    ]);
}

/// What a client says about a server with such a certificate, with these variables.
fn list_at_tls(signed: bool, scheme: &str, env: &[(&str, &str)]) -> crate::world::Ran {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("flows/hello.yaml", crate::world::AGENT);
    make_certificate(&folder, signed);
    let options = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"].map(str::to_owned);
    let server = start_server(&folder, &provider, &options, "0", true);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let mut command = folder.command(&["run", "helper", "--server", &format!("{scheme}://127.0.0.1:{port}")]);
    command.envs(env.iter().copied()).env("OPENAI_API_KEY", KEY).current_dir(folder.path());
    finish(command)
}

#[test]
fn a_certificate_that_is_not_accepted_says_what_to_do() {
    let own = list_at_tls(false, "https", &[]);
    own.exits(2).says(&["cannot be reached: ", "certificate", "SSL_CERT_FILE"]);
    assert!(!own.err.contains("OtherError") && !own.err.contains("UnknownIssuer"), "{}", own.err);
    let of_issuer = list_at_tls(true, "https", &[]);
    of_issuer.exits(2).says(&["nobody whom this machine trusts", "SSL_CERT_FILE"]);
    let trusted = list_at_tls(true, "https", &[("SSL_CERT_FILE", "ca.pem")]);
    assert!(!trusted.err.contains("certificate"), "{}", trusted.err);
}

#[test]
fn another_protocol_is_named_and_not_tried_again() {
    let plain = list_at_tls(true, "http", &[]);
    plain.exits(2).says(&["does not speak plain HTTP on this port; use `https://`"]);
    assert!(!plain.err.contains("trying again") && !plain.err.contains("unknown whether"), "{}", plain.err);
    let scene = Scene::start();
    let address = scene.server.address.replace("http://", "https://");
    let tls = scene.folder.trefoil(&["runs", "list", "--server", &address]);
    tls.exits(2).says(&["does not speak TLS on this port; use `http://`"]);
}
