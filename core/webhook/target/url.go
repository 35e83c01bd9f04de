package target

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/wardroom/wardroom/core"
)

// maxURL is the longest URL of an endpoint, in bytes.
const maxURL = 2048

// field is the field that the errors of CheckURL name.
const field = "url"

// CheckURL checks the URL of an endpoint and returns it with scheme and host in their plain form: lower case, an
// international name in its ASCII form. An address in the URL is judged by the guard at once. The error is a
// VALIDATION_ERROR for the field url.
func (g *Guard) CheckURL(raw string) (*url.URL, error) {
	switch {
	case raw == "":
		return nil, core.Invalid(field, "must not be empty")
	case len(raw) > maxURL:
		return nil, core.Invalid(field, "is longer than %d bytes", maxURL)
	case strings.Contains(raw, "#"):
		return nil, core.Invalid(field, "must not have a fragment (#...): it would not be sent")
	}
	u, err := url.Parse(raw)
	if err != nil {
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err // without the URL, which may hold a password
		}
		return nil, core.Invalid(field, "is not a URL: %v", err)
	}
	switch {
	case u.Scheme == "https", u.Scheme == "http" && g.plain(u.Hostname()):
	case u.Scheme == "http":
		return nil, core.Invalid(field, "must begin with https://; http is for the development environment only")
	case u.Scheme == "":
		return nil, core.Invalid(field, "must begin with https://")
	default:
		return nil, core.Invalid(field, "must begin with https://, not with %q", u.Scheme+":")
	}
	switch {
	case u.Opaque != "", u.Host == "":
		return nil, core.Invalid(field, "must name a host: https://host/path")
	case u.User != nil:
		return nil, core.Invalid(field, "must not hold a user or password: use headers, or verify the signature")
	}
	if u.Host, err = g.checkHost(u); err != nil {
		return nil, err
	}
	if g.Elsewhere != nil {
		if reason := g.Elsewhere(u.Hostname()); reason != "" {
			return nil, core.Invalid(field, "is refused: %s", reason)
		}
	}
	return u, nil
}

// checkHost returns the plain form of host and port.
func (g *Guard) checkHost(u *url.URL) (string, error) {
	port, number := u.Port(), uint64(443)
	if strings.HasSuffix(u.Host, ":") {
		return "", core.Invalid(field, "must have a port after the colon, or no colon")
	}
	if u.Scheme == "http" {
		number = 80
	}
	if port != "" {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return "", core.Invalid(field, "must have a port between 1 and 65535, not %s", port)
		}
		port = ":" + strconv.FormatUint(number, 10)
	}
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		switch {
		case err != nil || !addr.Is6():
			return "", core.Invalid(field, "must have an IPv6 address in the brackets, which %q is not", host)
		case addr.Zone() != "":
			return "", core.Invalid(field, "must not have a zone (%%...) in its address: it is of one network interface only")
		}
		return "[" + addr.String() + "]" + port, g.checkAddr(addr, uint16(number))
	}
	host, err := plainName(host)
	if err != nil {
		return "", err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return host + port, g.checkAddr(addr, uint16(number))
	}
	if numeric(host) {
		return "", core.Invalid(field, "must write an address as four decimal numbers or in brackets, which %q is not", host)
	}
	if !g.Development && (host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return "", core.Invalid(field, "must not name this machine (%s)", host)
	}
	return host + port, nil
}

func (g *Guard) checkAddr(addr netip.Addr, port uint16) error {
	err := g.Judge(netip.AddrPortFrom(addr, port))
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return core.Invalid(field, "must not lead to %s: %s", addr, refusal.Reason)
	}
	return err
}

// plainName returns the ASCII form of a host name in lower case.
func plainName(host string) (string, error) {
	name := strings.ToLower(host)
	for i := range len(host) {
		if host[i] < 0x80 {
			continue
		}
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", core.Invalid(field, "must have a valid host name, which %q is not: %v", host, err)
		}
		name = ascii
		break
	}
	if len(name) > 253 {
		return "", core.Invalid(field, "must have a host name of at most 253 bytes")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "", core.Invalid(field, "must have a host name without empty parts, and without a dot at its end")
		case len(label) > 63:
			return "", core.Invalid(field, "must have a host name whose parts have at most 63 bytes")
		case strings.HasPrefix(label, "-"), strings.HasSuffix(label, "-"):
			return "", core.Invalid(field, "must have a host name whose parts do not begin or end with a hyphen")
		case strings.HasPrefix(label, "xn--"):
			if _, err := idna.Lookup.ToUnicode(label); err != nil {
				return "", core.Invalid(field, "must have a valid host name, which %q is not: %v", host, err)
			}
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", core.Invalid(field, "must have a host name of letters, digits, hyphens and dots, which %q is not", host)
			}
		}
	}
	return name, nil
}

// numeric reports whether resolvers may read a name as an IPv4 address: its last part is a number, in decimal, octal
// or hexadecimal.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	digits, hex := strings.CutPrefix(last, "0x")
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (!hex || c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// plain reports whether a host may be spoken to without TLS.
func (g *Guard) plain(host string) bool {
	if !g.Development || !g.Encrypted {
		return g.Development
	}
	addr, err := netip.ParseAddr(host)
	return g.PlainLoopback && (strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback())
}
