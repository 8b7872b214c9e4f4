//! The operator's rules. A manifest cannot set any of them.

use std::fmt;
use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};

/// The allowed hosts, and the limits of a call.
#[derive(Debug, Clone, Default)]
pub struct GuardRules {
    /// Hosts that may be called although they are not public, or at another port.
    pub allow: Vec<AllowedHost>,
    /// Additional ports of public hosts, besides 80 and 443.
    pub ports: Vec<u16>,
    /// Whether only hosts in `allow` may be called.
    pub only_allowed: bool,
    /// The only hosts that may be called, according to each of these. They allow nothing that is not allowed without them.
    pub only: Vec<HostRestriction>,
    /// The limits of a call.
    pub limits: RequestLimits,
}

/// Hosts to which calls are restricted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRestriction {
    /// The hosts, as they are written in addresses.
    pub hosts: Vec<AllowedHost>,
    /// Who is restricted, for messages.
    pub who: String,
    /// The setting that restricts them, for advice.
    pub setting: String,
}

/// The limits of one call.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// The time from the first byte sent to the last one read, unless the request has its own limit.
    pub time: Duration,
    /// The maximum of a request's own limit.
    pub longest: Duration,
    /// The time to establish a connection.
    pub connect: Duration,
    /// The maximum size of a body, in bytes.
    pub body: usize,
    /// The maximum number of redirects.
    pub redirects: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        let (time, longest) = (Duration::from_secs(30), Duration::from_millis(trefoil_ir::LONGEST_REQUEST_MS));
        Self { time, longest, connect: Duration::from_secs(15), body: 8 << 20, redirects: 5 }
    }
}

/// A host that the operator allows: `api.internal`, `*.corp.example`, `127.0.0.1:8080`, `10.1.0.0/16`.
///
/// Without a port, the standard ports (80, 443) are allowed; `:*` allows all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: HostPattern,
    port: AllowedPort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    /// Exactly this name.
    Exactly(String),
    /// All names with this ending, which starts with a dot.
    Ending(String),
    /// These addresses, written directly or resolved from a name.
    Addresses(IpNet),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedPort {
    Standard,
    Only(u16),
    Any,
}

/// Text that is not a valid host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid host: write `name`, `name:port`, `*.domain` or `10.0.0.0/8`")]
pub struct InvalidHost(pub String);

impl std::str::FromStr for AllowedHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let wrong = || InvalidHost(text.to_owned());
        if let Ok(net) = text.parse::<IpNet>() {
            return Ok(Self { name: HostPattern::Addresses(net), port: AllowedPort::Any });
        }
        let (host, port) = split_port(text).ok_or_else(wrong)?;
        // A `*` elsewhere would be part of a name that no host has.
        if host.strip_prefix("*.").unwrap_or(host).contains('*') {
            return Err(wrong());
        }
        let name = match host.strip_prefix("*.") {
            Some(domain) => match Host::parse(domain).map_err(|_| wrong())? {
                Host::Domain(domain) => HostPattern::Ending(format!(".{domain}")),
                Host::Ipv4(_) | Host::Ipv6(_) => return Err(wrong()),
            },
            None => match Host::parse(host).map_err(|_| wrong())? {
                Host::Domain(domain) => HostPattern::Exactly(without_dot(&domain).to_owned()),
                Host::Ipv4(four) => HostPattern::Addresses(IpNet::from(std::net::IpAddr::V4(four))),
                Host::Ipv6(six) => HostPattern::Addresses(IpNet::from(std::net::IpAddr::V6(six))),
            },
        };
        Ok(Self { name, port })
    }
}

fn split_port(text: &str) -> Option<(&str, AllowedPort)> {
    let Some((host, port)) = text.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'))
    else {
        return Some((text, AllowedPort::Standard));
    };
    let port =
        if port == "*" { AllowedPort::Any } else { AllowedPort::Only(port.parse().ok().filter(|port| *port != 0)?) };
    Some((host, port))
}

/// Prints a host as it is parsed: reading the text gives an equal host.
impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let implied = match &self.name {
            HostPattern::Exactly(name) => {
                write!(f, "{name}")?;
                AllowedPort::Standard
            }
            HostPattern::Ending(end) => {
                write!(f, "*{end}")?;
                AllowedPort::Standard
            }
            // Only a network with its length implies all ports. A port follows only a single address.
            HostPattern::Addresses(net) if self.port == AllowedPort::Any => {
                write!(f, "{net}")?;
                AllowedPort::Any
            }
            HostPattern::Addresses(IpNet::V4(net)) => {
                write!(f, "{}", net.addr())?;
                AllowedPort::Standard
            }
            HostPattern::Addresses(IpNet::V6(net)) => {
                write!(f, "[{}]", net.addr())?;
                AllowedPort::Standard
            }
        };
        match self.port {
            port if port == implied => Ok(()),
            AllowedPort::Only(port) => write!(f, ":{port}"),
            AllowedPort::Any => f.write_str(":*"),
            AllowedPort::Standard => Ok(()),
        }
    }
}

impl AllowedHost {
    /// Whether it allows this host, as written in the address, at this port.
    pub(super) fn allows_host(&self, host: &Host<&str>, port: u16) -> bool {
        let same = match (&self.name, host) {
            (HostPattern::Exactly(name), Host::Domain(host)) => without_dot(host) == name,
            (HostPattern::Ending(end), Host::Domain(host)) => without_dot(host).ends_with(end.as_str()),
            (HostPattern::Addresses(net), Host::Ipv4(four)) => net.contains(&std::net::IpAddr::V4(*four)),
            (HostPattern::Addresses(net), Host::Ipv6(six)) => net.contains(&std::net::IpAddr::V6(*six)),
            _ => false,
        };
        same && self.takes(port)
    }
    /// Whether it allows this host at the standard ports, but not at this one.
    pub(super) fn lacks_port(&self, host: &Host<&str>, port: u16) -> bool {
        self.port == AllowedPort::Standard && !is_standard(port) && self.allows_host(host, 443)
    }
    /// Whether it allows a resolved address, at any port. Entries with a port apply only to addresses that are written
    /// directly.
    pub(super) fn allows_address(&self, address: std::net::IpAddr) -> bool {
        self.port == AllowedPort::Any && matches!(&self.name, HostPattern::Addresses(net) if net.contains(&address))
    }
    fn takes(&self, port: u16) -> bool {
        match self.port {
            AllowedPort::Standard => is_standard(port),
            AllowedPort::Only(only) => only == port,
            AllowedPort::Any => true,
        }
    }
}

/// A host as it is allowed, with its port if that is not implied.
pub(super) fn render_host(host: &Host<&str>, port: u16) -> String {
    if is_standard(port) { host.to_string() } else { format!("{host}:{port}") }
}

/// Removes the trailing dot of a fully qualified name, which does not change its meaning.
pub(super) fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// Ports that are allowed for every public host.
pub(super) fn is_standard(port: u16) -> bool {
    matches!(port, 80 | 443)
}

/// Names that never denote a host of the internet: RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`, and cloud
/// metadata services.
pub(super) fn is_inside(host: &str) -> bool {
    const ENDINGS: &[&str] = &["localhost", "local", "internal", "home.arpa", "localdomain", "intranet", "lan", "corp"];
    let host = without_dot(host);
    let ends = |end: &&str| matches!(host.strip_suffix(*end), Some(rest) if rest.is_empty() || rest.ends_with('.'));
    !host.contains('.') || ENDINGS.iter().any(ends)
}

/// Scheme, host and port. Credentials are sent only to the same origin.
pub(super) fn url_origin(url: &Url) -> (String, Option<String>, Option<u16>) {
    (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, url: &str) -> bool {
        let url = Url::parse(url).unwrap();
        let rule: AllowedHost = rule.parse().unwrap();
        rule.allows_host(&url.host().unwrap(), url.port_or_known_default().unwrap())
    }

    #[test]
    fn a_host_is_allowed_as_it_is_written() {
        assert!(allows("api.internal", "https://API.internal./x"));
        assert!(!allows("api.internal", "https://api.internal:8443"));
        assert!(allows("api.internal:8443", "https://api.internal:8443"));
        assert!(allows("*.corp.example", "http://a.b.corp.example"));
        assert!(
            !allows("*.corp.example", "http://corp.example") && !allows("*.corp.example", "http://evilcorp.example")
        );
        assert!(allows("127.0.0.1:8080", "http://0x7f.1:8080"));
        assert!(allows("10.0.0.0/8", "http://10.9.8.7:81") && !allows("10.0.0.0/8", "http://11.0.0.1"));
        assert!(allows("[::1]:81", "http://[::1]:81") && allows("localhost:*", "http://localhost:1234"));
    }

    #[test]
    fn what_is_no_host_is_not_allowed_by_accident() {
        for text in
            ["", "http://x", "a b", "x:0", "x:70000", "*.1.2.3.4", "10.0.0.0/33", "x/y", "*", "*.*", "a.*", "*:80"]
        {
            assert_eq!(text.parse::<AllowedHost>(), Err(InvalidHost(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_host_is_printed_as_it_is_read() {
        let hosts =
            ["api.internal", "*.corp.example", "127.0.0.1", "[::1]", "[fe80::1:2]", "0x7f.1", "API.Internal.", "x"];
        let ports = ["", ":1", ":80", ":443", ":18911", ":65535", ":*"];
        let one = hosts.iter().flat_map(|host| ports.map(|port| format!("{host}{port}")));
        let nets = ["10.0.0.0/8", "127.0.0.1/32", "::1/128", "fd00::/8", "0.0.0.0/0", "10.1.2.3/16"].map(str::to_owned);
        for text in one.chain(nets) {
            let host: AllowedHost = text.parse().unwrap();
            let printed = host.to_string();
            assert_eq!(printed.parse::<AllowedHost>().as_ref(), Ok(&host), "{text}: {printed}");
        }
        let same = [
            "api.internal",
            "*.corp.example:81",
            "10.0.0.0/8",
            "x.y:*",
            "127.0.0.1:18911",
            "[::1]:81",
            "127.0.0.1",
            "[::1]",
        ];
        for text in same {
            assert_eq!(text.parse::<AllowedHost>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_of_networks_at_home_are_inside() {
        for host in
            ["localhost", "a.localhost.", "printer.local", "metadata", "metadata.google.internal", "x.home.arpa"]
        {
            assert!(is_inside(host), "{host}");
        }
        assert!(!is_inside("example.com") && !is_inside("mylocal.com") && !is_inside("notlocalhost.org"));
    }
}
