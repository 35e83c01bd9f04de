package target_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/webhook/target"
)

// The columns say what lets the address through: nothing (-), the development environment (d), AllowPrivate (p),
// AllowCIDRs with the whole address space (c), or the default (*).
var addresses = []struct{ addr, by string }{
	{"8.8.8.8", "*"}, {"1.1.1.1", "*"}, {"9.255.255.255", "*"}, {"11.0.0.0", "*"}, {"100.63.255.255", "*"},
	{"100.128.0.0", "*"}, {"172.15.255.255", "*"}, {"172.32.0.0", "*"}, {"192.167.255.255", "*"}, {"192.169.0.0", "*"},
	{"169.253.255.255", "*"}, {"169.255.0.0", "*"}, {"198.17.255.255", "*"}, {"198.20.0.0", "*"}, {"223.255.255.255", "*"},
	{"126.255.255.255", "*"}, {"128.0.0.0", "*"}, {"192.0.1.0", "*"},

	{"0.0.0.0", "-"}, {"0.0.0.1", "-"}, {"0.255.255.255", "-"},
	{"127.0.0.1", "d"}, {"127.0.0.0", "d"}, {"127.255.255.255", "d"}, {"127.1.2.3", "d"},
	{"10.0.0.0", "pc"}, {"10.0.0.1", "pc"}, {"10.255.255.255", "pc"}, {"172.16.0.0", "pc"}, {"172.31.255.255", "pc"},
	{"192.168.0.0", "pc"}, {"192.168.255.255", "pc"},
	{"100.64.0.0", "c"}, {"100.100.100.100", "c"}, {"100.127.255.255", "c"},
	{"169.254.0.0", "-"}, {"169.254.1.1", "-"}, {"169.254.255.255", "-"},
	{"169.254.169.254", "-"}, {"169.254.170.2", "-"}, {"169.254.169.253", "-"}, {"100.100.100.200", "-"}, {"192.0.0.192", "-"},
	{"168.63.129.16", "-"}, {"168.63.129.15", "*"}, {"168.63.129.17", "*"},
	{"192.0.0.0", "-"}, {"192.0.0.171", "-"}, {"192.0.2.1", "c"}, {"198.51.100.255", "c"}, {"203.0.113.7", "c"},
	{"198.18.0.0", "c"}, {"198.19.255.255", "c"}, {"192.88.99.1", "-"},
	{"224.0.0.1", "-"}, {"239.255.255.255", "-"}, {"240.0.0.1", "-"}, {"254.1.2.3", "-"}, {"255.255.255.255", "-"},

	{"2606:4700:4700::1111", "*"}, {"2a00:1450:4001::1", "*"}, {"2000::1", "*"}, {"3ffe::1", "*"}, {"2001:200::1", "*"},
	{"::", "-"}, {"::1", "d"}, {"::2", "-"}, {"::ffff", "-"},
	{"fe80::1", "-"}, {"febf::1", "-"}, {"fe80::1%eth0", "-"}, {"2606:4700::1%eth0", "-"}, {"fec0::1", "c"},
	{"fc00::1", "pc"}, {"fd12:3456::1", "pc"}, {"fdff::1", "pc"},
	{"fd00:ec2::254", "-"}, {"fd00:ec2::23", "-"}, {"fd20:ce::254", "-"}, {"fd00:42::42", "-"},
	{"ff02::1", "-"}, {"ff0e::1", "-"}, {"2001:db8::1", "c"}, {"3fff::1", "c"}, {"3fff:1000::1", "*"}, {"2001:2::1", "c"},
	{"2001:10::1", "-"}, {"2001:20::1", "-"}, {"2001:1::1", "-"}, {"100::1", "-"}, {"5f00::1", "-"}, {"4000::1", "-"},
	{"fe00::1", "-"}, {"1000::1", "-"},

	// IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo (the client is turned over), ISATAP.
	{"::ffff:8.8.8.8", "*"}, {"::ffff:127.0.0.1", "d"}, {"::ffff:10.0.0.1", "pc"}, {"::ffff:169.254.169.254", "-"},
	{"::ffff:0.0.0.0", "-"}, {"::ffff:7f00:1", "d"}, {"::127.0.0.1", "-"}, {"::10.0.0.1", "-"}, {"::8.8.8.8", "-"},
	{"::ffff:0:127.0.0.1", "-"}, {"::ffff:0:8.8.8.8", "-"},
	{"64:ff9b::8.8.8.8", "*"}, {"64:ff9b::127.0.0.1", "d"}, {"64:ff9b::10.0.0.1", "pc"}, {"64:ff9b::169.254.169.254", "-"},
	{"64:ff9b::224.0.0.1", "-"}, {"64:ff9b:1::8.8.8.8", "-"}, {"64:ff9b:1:808:8:800:808:808", "c"}, {"64:ff9b:1::169.254.169.254", "-"},
	{"64:ff9b:1:a9fe:a9:fe00:808:808", "-"}, {"64:ff9b:0:1::1", "-"},
	{"2002:808:808::1", "*"}, {"2002:7f00:1::1", "d"}, {"2002:a00:1::1", "pc"}, {"2002:a9fe:a9fe::1", "-"}, {"2002:0:0::1", "-"},
	{"2001:0:808:808:0:0:f7f7:f7f7", "*"}, {"2001:0:808:808:0:0:80ff:fffe", "d"}, {"2001:0:808:808:0:0:5601:5601", "-"},
	{"2001:0:a00:1:0:0:f7f7:f7f7", "pc"}, {"2001:0:a9fe:a9fe:0:0:f7f7:f7f7", "-"},
	{"2606:4700::5efe:8.8.8.8", "*"}, {"2606:4700::5efe:127.0.0.1", "d"}, {"2606:4700::200:5efe:a9fe:a9fe", "-"},
	{"2606:4700::200:5efe:a00:1", "pc"},
}

func TestJudge(t *testing.T) {
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	guards := map[string]*target.Guard{
		"*": {}, "d": {Development: true}, "p": {AllowPrivate: true}, "c": {AllowCIDRs: everything},
	}
	if len(addresses) < 80 {
		t.Fatalf("only %d addresses", len(addresses))
	}
	seen := map[string]bool{}
	for _, row := range addresses {
		if seen[row.addr] {
			t.Errorf("%s is there twice", row.addr)
		}
		seen[row.addr] = true
		to := netip.AddrPortFrom(netip.MustParseAddr(row.addr), 443)
		for by, g := range guards {
			err := g.Judge(to)
			if want := row.by == "*" || strings.Contains(row.by, by); (err == nil) != want {
				t.Errorf("%s with %q: let through is %v, want %v (%v)", row.addr, by, err == nil, want, err)
			}
			var refusal *target.Refusal
			if err != nil && (!errors.Is(err, target.ErrRefused) || !errors.As(err, &refusal) || refusal.Reason == "") {
				t.Errorf("%s: the refusal %v cannot be told from other errors", row.addr, err)
			}
			if controlled := g.Control("tcp", to.String(), nil); (controlled == nil) != (err == nil) {
				t.Errorf("%s: dialling says %v, judging %v", row.addr, controlled, err)
			}
		}
		denied := &target.Guard{Development: true, AllowPrivate: true, AllowCIDRs: everything, DenyCIDRs: everything}
		if err := denied.Judge(to); err == nil {
			t.Errorf("%s is let through although it is denied", row.addr)
		}
	}
}

func TestDenyCIDRs(t *testing.T) {
	g := &target.Guard{AllowPrivate: true, DenyCIDRs: []netip.Prefix{
		netip.MustParsePrefix("10.9.0.0/16"), netip.MustParsePrefix("8.8.8.8/32"), netip.MustParsePrefix("::ffff:10.8.0.0/112"),
		netip.MustParsePrefix("2606:4700::/32"),
	}}
	for addr, want := range map[string]bool{
		"10.9.0.1": false, "10.7.0.1": true, "10.8.1.1": false, "8.8.8.8": false, "8.8.4.4": true, "::ffff:8.8.8.8": false,
		"64:ff9b::8.8.8.8": false, "2606:4700::1": false, "2002:a09:1::1": false, "2002:a07:1::1": true,
	} {
		if err := g.Judge(netip.AddrPortFrom(netip.MustParseAddr(addr), 443)); (err == nil) != want {
			t.Errorf("%s: let through is %v, want %v (%v)", addr, err == nil, want, err)
		}
	}
}

func TestOwnAddresses(t *testing.T) {
	machine := func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.ParseIP("10.0.0.5"), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2606:4700::5"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}
	failing := func() ([]net.Addr, error) { return nil, errors.New("no") }
	exact, all := netip.MustParseAddrPort("10.0.0.5:8080"), netip.MustParseAddrPort("[::]:8080")
	for _, row := range []struct {
		name        string
		own         netip.AddrPort
		interfaces  func() ([]net.Addr, error)
		development bool
		to          string
		want        bool
	}{
		{"the address", exact, machine, false, "10.0.0.5:8080", false},
		{"mapped", exact, machine, false, "[::ffff:10.0.0.5]:8080", false},
		{"another port", exact, machine, false, "10.0.0.5:8081", true},
		{"another address", exact, machine, false, "10.0.0.6:8080", true},
		{"in development", exact, machine, true, "10.0.0.5:8080", true},
		{"any of the machine", all, machine, false, "10.0.0.5:8080", false},
		{"any of the machine, IPv6", all, machine, false, "[2606:4700::5]:8080", false},
		{"none of the machine", all, machine, false, "10.0.0.6:8080", true},
		{"unknown", all, failing, false, "10.0.0.6:8080", false},
		{"unknown, another port", all, failing, false, "10.0.0.6:8081", true},
	} {
		g := &target.Guard{AllowPrivate: true, Own: []netip.AddrPort{row.own}, Interfaces: row.interfaces, Development: row.development}
		if err := g.Judge(netip.MustParseAddrPort(row.to)); (err == nil) != row.want {
			t.Errorf("%s: let through is %v, want %v (%v)", row.name, err == nil, row.want, err)
		}
	}
	g := &target.Guard{Own: []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:8080")}} // asks the operating system
	if err := g.Judge(netip.MustParseAddrPort("8.8.8.8:8080")); err != nil {
		t.Error(err)
	}
}

func TestControlRefuses(t *testing.T) {
	g := &target.Guard{Development: true}
	for _, row := range [][2]string{
		{"udp", "8.8.8.8:443"}, {"unix", "/run/x.sock"}, {"tcp", "example.org:443"}, {"tcp", "8.8.8.8"}, {"tcp", ""},
		{"tcp", "8.8.8.8:0"}, {"tcp4", "10.0.0.1:443"},
	} {
		if err := g.Control(row[0], row[1], nil); !errors.Is(err, target.ErrRefused) {
			t.Errorf("%s %q: got %v", row[0], row[1], err)
		}
	}
	if err := g.Judge(netip.AddrPort{}); !errors.Is(err, target.ErrRefused) {
		t.Errorf("no address: got %v", err)
	}
	if err := g.Control("tcp6", "[2606:4700::1]:443", nil); err != nil {
		t.Error(err)
	}
}
