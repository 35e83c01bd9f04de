package limits

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Networks are ranges of addresses. Nil holds none.
type Networks []netip.Prefix

// Hold reports whether an address is in one of the ranges. An IPv4 address that is written as an IPv6 one is the same.
func (n Networks) Hold(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// maxHops bounds how many proxies a request may have come through.
const maxHops = 16

// Origin returns the address that a request comes from: that of its connection, or, if that is one of our proxies, the
// last address in X-Forwarded-For that is none of them. What proxies that are not ours wrote is not believed. It is not
// valid where the connection has no address (a socket file), or a proxy of ours wrote something else than addresses.
func Origin(r *http.Request, proxies Networks) netip.Addr {
	connection, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := connection.Addr().Unmap()
	if len(proxies) == 0 {
		return addr
	}
	rest := strings.Join(r.Header["X-Forwarded-For"], ",")
	for hops := 0; rest != "" && proxies.Hold(addr); hops++ {
		last := rest
		if i := strings.LastIndexByte(rest, ','); i >= 0 {
			rest, last = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		before, ok := parseHop(strings.TrimSpace(last))
		if !ok || hops == maxHops {
			return netip.Addr{}
		}
		addr = before
	}
	return addr
}

// parseHop reads an address with or without a port: proxies write both.
func parseHop(text string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap(), true
	}
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")); err == nil {
		return a.Unmap(), true
	}
	p, err := netip.ParseAddrPort(text)
	return p.Addr().Unmap(), err == nil
}

// Client returns the name by which requests of an address are counted. A host has many IPv6 addresses, all of one
// network of 64 bits, and counts as one client.
func Client(addr netip.Addr) string {
	if addr.Is6() && !addr.Is4In6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.Unmap().String()
}
