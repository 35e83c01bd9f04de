package target_test

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/webhook/target"
)

func TestCheckURL(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, row := range []struct {
		url  string
		want string // the plain form, or a part of the reason
		ok   bool
	}{
		{"https://example.org", "https://example.org", true},
		{"https://example.org/", "https://example.org/", true},
		{"HTTPS://Example.ORG/Hook?a=B&c", "https://example.org/Hook?a=B&c", true},
		{"https://example.org:8443/hook", "https://example.org:8443/hook", true},
		{"https://example.org:00443/hook", "https://example.org:443/hook", true},
		{"https://my_service.corp/hook", "https://my_service.corp/hook", true},
		{"https://intranet/hook", "https://intranet/hook", true},
		{"https://1e100.net/", "https://1e100.net/", true},
		{"https://0x.example.org/", "https://0x.example.org/", true},
		{"https://127.0.0.1.example.org/", "https://127.0.0.1.example.org/", true},
		{"https://bücher.example/pfad", "https://xn--bcher-kva.example/pfad", true},
		{"https://BÜCHER.example/", "https://xn--bcher-kva.example/", true},
		{"https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/", true},
		{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/", true},
		{"https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/", true},
		{"https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/", true},
		{"https://8.8.8.8/", "https://8.8.8.8/", true},
		{"https://[2606:4700::1]:8443/", "https://[2606:4700::1]:8443/", true},
		{"https://[2606:4700:0:0::1]/", "https://[2606:4700::1]/", true},
		{"https://" + long + "." + long + ".org/", "https://" + long + "." + long + ".org/", true},

		{"", "must not be empty", false},
		{"https://example.org/" + strings.Repeat("a", 2048), "is longer than 2048 bytes", false},
		{"example.org/hook", "must begin with https://", false},
		{"//example.org/hook", "must begin with https://", false},
		{"/hook", "must begin with https://", false},
		{"http://example.org/hook", "development environment", false},
		{"ftp://example.org/", `not with "ftp:"`, false},
		{"file:///etc/passwd", `not with "file:"`, false},
		{"gopher://example.org/", `not with "gopher:"`, false},
		{"javascript:alert(1)", `not with "javascript:"`, false},
		{"unix:///run/docker.sock", `not with "unix:"`, false},
		{"https:example.org", "must name a host", false},
		{"https:/example.org", "must name a host", false},
		{"https://", "must name a host", false},
		{"https:///hook", "must name a host", false},
		{"https://:443/", "without empty parts", false},
		{"https://user@example.org/", "must not hold a user", false},
		{"https://user:pass@example.org/", "must not hold a user", false},
		{"https://@example.org/", "must not hold a user", false},
		{"https://example.org/#part", "must not have a fragment", false},
		{"https://example.org/#", "must not have a fragment", false},
		{"https://example.org:0/", "between 1 and 65535", false},
		{"https://example.org:65536/", "between 1 and 65535", false},
		{"https://example.org:99999999999999999999/", "between 1 and 65535", false},
		{"https://example.org:/", "port after the colon", false},
		{"https://example.org:-1/", "is not a URL", false},
		{"https://example.org:http/", "is not a URL", false},
		{"https://exa mple.org/", "is not a URL", false},
		{"https://example.org\r\nX-A: b/", "is not a URL", false},
		{"https://example.org\x00/", "is not a URL", false},
		{`https://example.org\@evil.org/`, "is not a URL", false},
		{"https://%65xample.org/", "is not a URL", false},
		{"https://example.org/%zz", "is not a URL", false},
		{"https://example..org/", "without empty parts", false},
		{"https://example.org./", "without a dot at its end", false},
		{"https://.example.org/", "without empty parts", false},
		{"https://-a.example.org/", "hyphen", false},
		{"https://a-.example.org/", "hyphen", false},
		{"https://exa*mple.org/", "letters, digits", false},
		{"https://" + long + "a.org/", "at most 63 bytes", false},
		{"https://" + strings.Repeat("a.", 130) + "org/", "at most 253 bytes", false},
		{"https://xn--a.example/", "valid host name", false},
		{"https://a\u200bb\ufffe.example/", "valid host name", false},
		{"https://\u2100.example/", "valid host name", false}, // would become a/c
		{"https://localhost/", "this machine", false},
		{"https://LOCALHOST:8443/", "this machine", false},
		{"https://a.localhost/", "this machine", false},

		// Addresses, in all their disguises.
		{"https://127.0.0.1/", "loopback", false},
		{"https://10.1.2.3/", "private", false},
		{"https://169.254.169.254/latest/meta-data", "metadata", false},
		{"https://0.0.0.0/", "unspecified", false},
		{"https://255.255.255.255/", "broadcast", false},
		{"https://224.0.0.1/", "multicast", false},
		{"https://2130706433/", "four decimal numbers", false},
		{"https://017700000001/", "four decimal numbers", false},
		{"https://0x7f000001/", "four decimal numbers", false},
		{"https://0X7F.0.0.1/", "four decimal numbers", false},
		{"https://0x7f.1/", "four decimal numbers", false},
		{"https://127.0.0.0x1/", "four decimal numbers", false},
		{"https://0x/", "four decimal numbers", false},
		{"https://127.1/", "four decimal numbers", false},
		{"https://127.0.0.01/", "four decimal numbers", false},
		{"https://0177.0.0.1/", "four decimal numbers", false},
		{"https://8.8.8.8.8/", "four decimal numbers", false},
		{"https://256.1.1.1/", "four decimal numbers", false},
		{"https://example.1/", "four decimal numbers", false},
		{"https://１２７.0.0.1/", "loopback", false},
		{"https://①②⑦.⓪.⓪.①/", "loopback", false},
		{"https://127。0。0。1/", "loopback", false},
		{"https://%E2%91%A027.0.0.1/", "loopback", false},
		{"https://[::1]/", "loopback", false},
		{"https://[::]/", "unspecified", false},
		{"https://[::ffff:127.0.0.1]/", "loopback", false},
		{"https://[::ffff:7f00:1]/", "loopback", false},
		{"https://[64:ff9b::a9fe:a9fe]/", "leads to 169.254.169.254", false},
		{"https://[2002:7f00:1::]/", "leads to 127.0.0.1", false},
		{"https://[fd00:ec2::254]/", "metadata", false},
		{"https://[fe80::1]/", "link-local", false},
		{"https://[fe80::1%25eth0]/", "must not have a zone", false},
		{"https://[2606:4700::1%25eth0]/", "must not have a zone", false},
		{"https://[127.0.0.1]/", "is not a URL", false},
		{"https://[example.org]/", "is not a URL", false},
		{"https://[]/", "is not a URL", false},
		{"https://[::1/", "is not a URL", false},
		{"https://::1/", "", false},
	} {
		u, err := new(target.Guard).CheckURL(row.url)
		if !row.ok {
			wantInvalid(t, row.url, err, row.want)
			continue
		}
		if err != nil || u.String() != row.want {
			t.Errorf("%q: got %v, %v, want %s", row.url, u, err, row.want)
		}
	}
}

func TestCheckURLInDevelopment(t *testing.T) {
	g := &target.Guard{Development: true}
	for _, raw := range []string{
		"http://127.0.0.1:9000/hook", "http://localhost:9000/", "http://[::1]:9000/", "https://a.localhost/", "http://example.org/",
	} {
		if _, err := g.CheckURL(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for raw, reason := range map[string]string{
		"http://169.254.169.254/": "metadata", "http://10.0.0.1/": "private", "http://127.1/": "four decimal numbers",
		"http://a:b@127.0.0.1/": "user", "ftp://127.0.0.1/": "https",
	} {
		_, err := g.CheckURL(raw)
		wantInvalid(t, raw, err, reason)
	}
}

func wantInvalid(t *testing.T, raw string, err error, reason string) {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) || e.Code != core.CodeValidation || e.Details["field"] != "url" || !strings.Contains(e.Message, reason) {
		t.Errorf("%q: got %v, want one for url with %q", raw, err, reason)
	}
}

// What passes is plain: it passes again as it is, names no user, fragment, port 0 or zone, and a host that is an
// address is one that may be dialled.
func FuzzCheckURL(f *testing.F) {
	for _, raw := range []string{
		"https://example.org/hook?a=b", "https://①②⑦.0.0.1:8443", "https://[64:ff9b::a9fe:a9fe]:1/", "http://localhost",
		"https://u:p@h/#f", "https://0x7f.1", "https://xn--bcher-kva.example.", "https://%E2%91%A0.例え。テスト:65535/%41",
	} {
		f.Add(raw, true)
		f.Add(raw, false)
	}
	f.Fuzz(func(t *testing.T, raw string, development bool) {
		g := &target.Guard{Development: development}
		u, err := g.CheckURL(raw)
		if err != nil {
			if core.ErrorCode(err) != core.CodeValidation {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if again, err := g.CheckURL(u.String()); err != nil || again.String() != u.String() {
			// Escaping may make a URL longer than the bound.
			if err == nil || !strings.Contains(err.Error(), "is longer than") {
				t.Fatalf("%q became %q, which became %v, %v", raw, u, again, err)
			}
		}
		if u.User != nil || u.Fragment != "" || u.Scheme != "https" && !development || strings.ContainsAny(u.Host, "%@ \\") {
			t.Fatalf("%q passed as %+v", raw, u)
		}
		for i := range len(u.Host) {
			if u.Host[i] >= 0x80 || u.Host[i] >= 'A' && u.Host[i] <= 'Z' {
				t.Fatalf("%q passed with the host %q", raw, u.Host)
			}
		}
		if addr := hostAddr(u); addr.IsValid() && g.Judge(addr) != nil {
			t.Fatalf("%q passed with an address that may not be dialled", raw)
		}
	})
}

// hostAddr returns the address in a URL, if there is one in any notation that a resolver takes.
func hostAddr(u *url.URL) netip.AddrPort {
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	if err != nil {
		n, err := strconv.ParseUint(host, 0, 32)
		if err != nil {
			return netip.AddrPort{}
		}
		addr = netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	return netip.AddrPortFrom(addr, 443)
}
