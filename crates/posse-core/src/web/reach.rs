//! SSRF protection: tells public IP addresses from all others. Refused are this machine, private networks, metadata
//! services of clouds, and addresses that stand for other addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns why an IP address is not public, if so; only the operator may allow it.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

/// IANA's registry of special addresses, and those that clouds serve metadata at.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this machine"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private network"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a carrier's own network"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "this machine"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud's own service"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "the local link, where clouds serve metadata"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private network"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay to other networks"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private network"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for measurements"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "for groups"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

fn v4(number: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(number);
    let within = |(net, length, _): &&(Ipv4Addr, u32, &str)| (bits ^ u32::from(*net)) >> (32 - *length) == 0;
    V4.iter().find(within).map(|(.., what)| *what)
}

fn v6(number: Ipv6Addr) -> Option<&'static str> {
    let parts = number.segments();
    let low = Ipv4Addr::from(((u32::from(parts[6])) << 16) | u32::from(parts[7]));
    if number.is_unspecified() || number.is_loopback() {
        return Some("this machine");
    }
    match parts {
        // ::ffff:a.b.c.d is a.b.c.d to the kernel, and 64:ff9b::a.b.c.d to a translator.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4(low),
        [0x64, 0xff9b, 1, ..] => Some("a translator's own network"),
        // 6to4 carries the number of its router.
        [0x2002, high, low, ..] => v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        [0x2001, 0x0db8, ..] | [0x3fff, ..] => Some("for documentation"),
        // Teredo, ORCHID, benchmarks and what else is below 2001::/23.
        [0x2001, second, ..] if second < 0x0200 => Some("reserved"),
        [first, ..] if first & 0xfe00 == 0xfc00 => Some("a private network"),
        [first, ..] if first & 0xffc0 == 0xfe80 => Some("the local link"),
        [first, ..] if first & 0xff00 == 0xff00 => Some("for groups"),
        // Only this is given out for public use.
        [first, ..] if first & 0xe000 == 0x2000 => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: &str = "\
        0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 \
        168.63.129.16 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 \
        192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.250 \
        240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::2 ::ffff:127.0.0.1 ::ffff:10.0.0.1 \
        ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:10::1 \
        2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe::1 2002:c0a8:101::1 3fff::1 5f00::1 fc00::1 \
        fd00:ec2::254 fdff::1 fe80::1 febf::1 fec0::1 ff02::1 4000::1";

    const PUBLIC: &str = "\
        1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 \
        168.63.129.15 169.253.0.1 172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 198.17.255.255 \
        198.20.0.0 223.255.255.255 2606:4700::1111 2001:4860:4860::8888 2a00:1450::1 ::ffff:8.8.8.8 \
        64:ff9b::808:808 2002:808:808::1";

    // G26, S21 Seen to fail without the row of the local link, and without the look into `::ffff:` numbers.
    #[test]
    fn only_public_numbers_are_public() {
        for number in SPECIAL.split(' ') {
            assert!(not_public(number.parse().unwrap()).is_some(), "{number}");
        }
        for number in PUBLIC.split(' ') {
            assert_eq!(not_public(number.parse().unwrap()), None, "{number}");
        }
    }
}
