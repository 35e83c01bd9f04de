package target

import "net/netip"

// class is what opens a range of addresses.
type class int

const (
	never    class = iota // nothing does
	open                  // nothing needs to
	loopback              // development
	private               // Guard.AllowPrivate, or a prefix of Guard.AllowCIDRs
	special               // a prefix of Guard.AllowCIDRs
)

// span is a range of addresses that callbacks do not go to by default.
type span struct {
	prefix netip.Prefix
	class  class
	what   string // for people: "... is <what>"
}

// spans are asked in order, the first that holds an address decides, so metadata services come before the ranges that
// they lie in. An address in none of them is public if it is IPv4, or in spansV6.
var spans = []span{
	// Metadata services of clouds hand out credentials to whoever asks from the machine.
	{netip.MustParsePrefix("169.254.169.254/32"), never, "the metadata service of a cloud"}, // AWS, Azure, Google, and others
	{netip.MustParsePrefix("169.254.169.253/32"), never, "the name service of a cloud"},
	{netip.MustParsePrefix("169.254.170.2/32"), never, "the metadata service of a cloud"},   // AWS ECS
	{netip.MustParsePrefix("169.254.170.23/32"), never, "the metadata service of a cloud"},  // AWS EKS
	{netip.MustParsePrefix("169.254.0.23/32"), never, "the metadata service of a cloud"},    // Tencent
	{netip.MustParsePrefix("169.254.42.42/32"), never, "the metadata service of a cloud"},   // Scaleway
	{netip.MustParsePrefix("100.100.100.200/32"), never, "the metadata service of a cloud"}, // Alibaba
	{netip.MustParsePrefix("192.0.0.192/32"), never, "the metadata service of a cloud"},     // Oracle
	{netip.MustParsePrefix("168.63.129.16/32"), never, "the metadata service of a cloud"},   // Azure, a public address
	{netip.MustParsePrefix("fd00:ec2::/32"), never, "the metadata service of a cloud"},      // AWS
	{netip.MustParsePrefix("fd20:ce::254/128"), never, "the metadata service of a cloud"},   // Google
	{netip.MustParsePrefix("fd00:42::42/128"), never, "the metadata service of a cloud"},    // Scaleway
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), never, "the metadata service of a cloud"},

	{netip.MustParsePrefix("0.0.0.0/32"), never, "the unspecified address, which means this machine"},
	{netip.MustParsePrefix("0.0.0.0/8"), never, "an address of this network, which is no target"},
	{netip.MustParsePrefix("127.0.0.0/8"), loopback, "a loopback address, which means this machine"},
	{netip.MustParsePrefix("169.254.0.0/16"), never, "a link-local address"},
	{netip.MustParsePrefix("10.0.0.0/8"), private, "a private address"},
	{netip.MustParsePrefix("172.16.0.0/12"), private, "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), private, "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), special, "an address shared behind a provider's NAT"},
	{netip.MustParsePrefix("192.0.0.0/24"), never, "an address that is reserved for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), special, "an address for documentation"},
	{netip.MustParsePrefix("198.51.100.0/24"), special, "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), special, "an address for documentation"},
	{netip.MustParsePrefix("198.18.0.0/15"), special, "an address for benchmarks"},
	{netip.MustParsePrefix("192.88.99.0/24"), never, "an address of the former 6to4 relays"},
	{netip.MustParsePrefix("224.0.0.0/4"), never, "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), never, "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), never, "a reserved address"},

	{netip.MustParsePrefix("::/128"), never, "the unspecified address, which means this machine"},
	{netip.MustParsePrefix("::1/128"), loopback, "the loopback address, which means this machine"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), special, "an address of a local translation prefix"},
	{netip.MustParsePrefix("fe80::/10"), never, "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), special, "a site-local address"},
	{netip.MustParsePrefix("fc00::/7"), private, "a private address"},
	{netip.MustParsePrefix("ff00::/8"), never, "a multicast address"},
	{netip.MustParsePrefix("2001:2::/48"), special, "an address for benchmarks"},
	{netip.MustParsePrefix("2001:db8::/32"), special, "an address for documentation"},
	{netip.MustParsePrefix("3fff::/20"), special, "an address for documentation"},
	{teredo, open, ""}, // what it leads to is judged
	{netip.MustParsePrefix("2001:10::/28"), never, "an identifier of a host, which is no target"},
	{netip.MustParsePrefix("2001:20::/28"), never, "an identifier of a host, which is no target"},
	{netip.MustParsePrefix("2001::/23"), never, "an address that is reserved for protocols"},
}

// spansV6 are the parts of IPv6 that may be public: what is global unicast, and what stands for an IPv4 address.
var spansV6 = []netip.Prefix{
	netip.MustParsePrefix("2000::/3"),
	nat64,
}

// Prefixes under which an IPv6 address leads to an IPv4 address, which is then judged as well.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	teredo     = netip.MustParsePrefix("2001::/32")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// embedded returns the IPv4 addresses that an IPv6 address stands for or passes through.
func embedded(a netip.Addr) (list []netip.Addr) {
	if a.Is4() {
		return nil
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case nat64.Contains(a):
		list = append(list, at(12))
	case nat64Local.Contains(a): // the place depends on the length of the prefix there (RFC 6052)
		list = append(list, at(12), netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}))
	case sixToFour.Contains(a):
		list = append(list, at(2))
	case teredo.Contains(a): // the server, and the client with its bits turned over
		list = append(list, at(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, under any prefix
		list = append(list, at(12))
	}
	return list
}
