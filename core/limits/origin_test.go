package limits_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/limits"
)

func networks(t testing.TB, list ...string) (n limits.Networks) {
	t.Helper()
	for _, text := range list {
		n = append(n, netip.MustParsePrefix(text))
	}
	return n
}

func TestOrigin(t *testing.T) {
	proxies := networks(t, "10.0.0.0/8", "fd00::/8")
	for name, c := range map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"no proxy":                          {"192.0.2.1:1", nil, "192.0.2.1"},
		"told by who is no proxy":           {"192.0.2.1:1", []string{"127.0.0.1"}, "192.0.2.1"},
		"one proxy":                         {"10.0.0.1:1", []string{"192.0.2.1"}, "192.0.2.1"},
		"proxy without a word":              {"10.0.0.1:1", nil, "10.0.0.1"},
		"two proxies":                       {"10.0.0.1:1", []string{"192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		"two lines":                         {"10.0.0.1:1", []string{"192.0.2.1", "10.0.0.2"}, "192.0.2.1"},
		"what the client wrote":             {"10.0.0.1:1", []string{"127.0.0.1, 192.0.2.1"}, "192.0.2.1"},
		"what the client wrote of a proxy":  {"10.0.0.1:1", []string{"10.9.9.9, 192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		"all are proxies":                   {"10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"with a port":                       {"10.0.0.1:1", []string{"192.0.2.1:999"}, "192.0.2.1"},
		"IPv6":                              {"[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 in brackets":                  {"[fd00::1]:1", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 with a port":                  {"[fd00::1]:1", []string{"[2001:db8::1]:5"}, "2001:db8::1"},
		"IPv4 as IPv6":                      {"[::ffff:10.0.0.1]:1", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		"no address":                        {"10.0.0.1:1", []string{"unknown"}, "invalid IP"},
		"empty part":                        {"10.0.0.1:1", []string{"192.0.2.1,"}, "invalid IP"},
		"garbage far back is never reached": {"10.0.0.1:1", []string{"<script>, 192.0.2.1"}, "192.0.2.1"},
		"too many hops":                     {"10.0.0.1:1", []string{strings.Repeat("10.0.0.1,", 5000) + "10.0.0.1"}, "invalid IP"},
		"a socket file":                     {"@", nil, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := limits.Origin(r, proxies).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestNetworks(t *testing.T) {
	n := networks(t, "192.0.2.0/24", "2001:db8::/32", "127.0.0.1/32")
	for text, want := range map[string]bool{
		"192.0.2.255": true, "192.0.3.0": false, "::ffff:192.0.2.1": true, "2001:db8:ffff::1": true, "2001:db9::": false,
		"127.0.0.1": true, "127.0.0.2": false, "fe80::1%eth0": false,
	} {
		if got := n.Hold(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if n.Hold(netip.Addr{}) || limits.Networks(nil).Hold(netip.MustParseAddr("127.0.0.1")) {
		t.Error("an address that is none, or no networks")
	}
}

func TestClient(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64",
		"2001:db8:0:1::1": "2001:db8:0:1::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := limits.Client(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func FuzzOrigin(f *testing.F) {
	f.Add("10.0.0.1:1", "192.0.2.1, 10.0.0.2")
	f.Add("[fd00::1]:1", "[::1]:x,")
	proxies := networks(f, "10.0.0.0/8", "fd00::/8")
	f.Fuzz(func(t *testing.T, remote, forwarded string) {
		r := &http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {forwarded}}}
		addr := limits.Origin(r, proxies)
		if conn, err := netip.ParseAddrPort(remote); err == nil && !proxies.Hold(conn.Addr()) && addr != conn.Addr().Unmap() {
			t.Fatalf("a connection from %s, that is no proxy, counts as %s", remote, addr)
		}
	})
}
