//! Which addresses are public, according to IANA's special-purpose registries (RFC 6890, RFC 9637 and later additions).
//! IPv4 addresses embedded in IPv6 addresses are checked as well.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// An address that is not public, with the reason: `127.0.0.1` is a loopback address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonPublicAddress {
    /// The address.
    pub address: IpAddr,
    /// What kind of address it is, with an article: `a loopback address`.
    pub what: &'static str,
}

impl fmt::Display for NonPublicAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.address, self.what)
    }
}

const PRIVATE: &str = "a private address";
const LOOPBACK: &str = "a loopback address";
const LINK_LOCAL: &str = "a link-local address, where cloud machines serve their credentials";
const METADATA: &str = "a metadata address, where cloud machines serve their credentials";
const RESERVED: &str = "a reserved address";
const MULTICAST: &str = "a multicast address";
const DOCUMENTATION: &str = "an address for documentation";

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits))
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits))
}

/// Networks that are not public. The first one that contains an address describes it.
const SPECIAL: &[(IpNet, &str)] = &[
    (v4(100, 100, 100, 200, 32), METADATA),
    (v4(168, 63, 129, 16, 32), METADATA),
    (v4(0, 0, 0, 0, 8), "an address of this machine"),
    (v4(10, 0, 0, 0, 8), PRIVATE),
    (v4(100, 64, 0, 0, 10), "an address inside a provider's network"),
    (v4(127, 0, 0, 0, 8), LOOPBACK),
    (v4(169, 254, 0, 0, 16), LINK_LOCAL),
    (v4(172, 16, 0, 0, 12), PRIVATE),
    (v4(192, 0, 0, 0, 24), RESERVED),
    (v4(192, 0, 2, 0, 24), DOCUMENTATION),
    (v4(192, 31, 196, 0, 24), RESERVED),
    (v4(192, 52, 193, 0, 24), RESERVED),
    (v4(192, 88, 99, 0, 24), RESERVED),
    (v4(192, 168, 0, 0, 16), PRIVATE),
    (v4(192, 175, 48, 0, 24), RESERVED),
    (v4(198, 18, 0, 0, 15), "an address for benchmarks"),
    (v4(198, 51, 100, 0, 24), DOCUMENTATION),
    (v4(203, 0, 113, 0, 24), DOCUMENTATION),
    (v4(224, 0, 0, 0, 4), MULTICAST),
    (v4(255, 255, 255, 255, 32), "the broadcast address"),
    (v4(240, 0, 0, 0, 4), RESERVED),
    (IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)), LOOPBACK),
    (IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128)), "an address of this machine"),
    (IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128)), METADATA),
    (v6(0x64, 0xff9b, 1, 48), PRIVATE),
    (v6(0x100, 0, 0, 64), RESERVED),
    (v6(0x2001, 0, 0, 32), "a tunnel address (Teredo)"),
    (v6(0x2001, 0xdb8, 0, 32), DOCUMENTATION),
    (v6(0x2001, 0, 0, 23), RESERVED),
    (v6(0x2620, 0x4f, 0x8000, 48), RESERVED),
    (v6(0x3fff, 0, 0, 20), DOCUMENTATION),
    (v6(0x5f00, 0, 0, 16), RESERVED),
    (v6(0xfc00, 0, 0, 7), PRIVATE),
    (v6(0xfe80, 0, 0, 10), LINK_LOCAL),
    (v6(0xfec0, 0, 0, 10), PRIVATE),
    (v6(0xff00, 0, 0, 8), MULTICAST),
];

/// The only part of IPv6 that is assigned to the public.
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// IPv4 through a translator (RFC 6052): the embedded address is checked.
const NAT64: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
/// IPv4 in a tunnel (RFC 3056): the embedded address is checked.
const SIX_TO_FOUR: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16);

/// Checks that an address is public.
pub fn check_public(address: IpAddr) -> Result<(), NonPublicAddress> {
    let inner = match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => IpAddr::V4(match inside(six) {
            Some(four) => four,
            None => return special(address, address),
        }),
    };
    special(inner, address)
}

fn special(address: IpAddr, shown: IpAddr) -> Result<(), NonPublicAddress> {
    let found = SPECIAL.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what);
    let outside = matches!(address, IpAddr::V6(six) if !GLOBAL_UNICAST.contains(&six));
    match found.or(outside.then_some(RESERVED)) {
        Some(what) => Err(NonPublicAddress { address: shown, what }),
        None => Ok(()),
    }
}

/// The IPv4 address embedded in an IPv6 address.
fn inside(six: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = six.octets();
    let last = Ipv4Addr::new(a, b, c, d);
    if let Some(mapped) = six.to_ipv4_mapped() {
        return Some(mapped);
    }
    if NAT64.contains(&six) {
        return Some(last);
    }
    if SIX_TO_FOUR.contains(&six) {
        let [_, _, a, b, c, d, ..] = six.octets();
        return Some(Ipv4Addr::new(a, b, c, d));
    }
    // The deprecated notation of mapped addresses. Its two lowest addresses are IPv6 addresses with another meaning.
    let old = six.octets().iter().take(12).all(|byte| *byte == 0);
    (old && six != Ipv6Addr::LOCALHOST && six != Ipv6Addr::UNSPECIFIED).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_public(text: &str) -> bool {
        check_public(text.parse().unwrap()).is_ok()
    }

    #[test]
    fn public_addresses_are_public() {
        for text in
            ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
        {
            assert!(is_public(text), "{text}");
        }
    }

    #[test]
    fn no_edge_of_a_special_block_is_public() {
        for (net, what) in SPECIAL {
            for address in [net.network(), net.broadcast()] {
                assert!(check_public(address).is_err(), "{address} is {what}");
            }
        }
    }

    #[test]
    fn an_address_inside_another_one_counts() {
        for text in [
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "::ffff:0:127.0.0.1",
            "fe80::1",
            "::",
        ] {
            assert!(!is_public(text), "{text}");
        }
        assert!(is_public("64:ff9b::1.1.1.1") && is_public("::ffff:1.1.1.1") && is_public("2002:101:101::1"));
    }

    #[test]
    fn the_reason_is_in_words() {
        let told = check_public("::ffff:169.254.169.254".parse().unwrap()).unwrap_err().to_string();
        let expected = "::ffff:169.254.169.254 is a link-local address, where cloud machines serve their credentials";
        assert_eq!(told, expected);
    }
}
