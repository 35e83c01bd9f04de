package target

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// ErrRefused is what every refusal of a guard is, for errors.Is.
var ErrRefused = errors.New("target refused")

// Refusal says why an address is no target. It wraps ErrRefused.
type Refusal struct {
	Address string
	Reason  string // for people, with what to do where something can be done
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s is refused: %s", r.Address, r.Reason) }

// Unwrap makes a refusal an ErrRefused.
func (r *Refusal) Unwrap() error { return ErrRefused }

// Guard judges addresses. The zero value lets through public addresses only. It must not be changed once it is in use;
// methods are safe for concurrent use.
type Guard struct {
	// Development lets through loopback addresses and our own, and URLs with http.
	Development bool
	// Encrypted refuses URLs with http nevertheless, but for those of loopback where PlainLoopback is set.
	Encrypted, PlainLoopback bool
	// AllowPrivate lets through the private ranges: 10/8, 172.16/12, 192.168/16 and fc00::/7.
	AllowPrivate bool
	// AllowCIDRs open ranges that are closed by default: private ones, those shared behind a provider's NAT, for
	// documentation and benchmarks. They never open loopback and link-local addresses, metadata services, multicast and
	// reserved addresses.
	AllowCIDRs []netip.Prefix
	// DenyCIDRs close ranges, public ones included. They win over everything that opens one.
	DenyCIDRs []netip.Prefix
	// Elsewhere returns why deliveries must not go to a host, as it is outside of the region that data stays in; "" for one that
	// is not. nil: data may go anywhere.
	Elsewhere func(host string) string
	// Own are the addresses that we listen on ourselves. An unspecified one stands for every address of the machine.
	Own []netip.AddrPort
	// Interfaces lists the addresses of the machine; nil asks the operating system.
	Interfaces func() ([]net.Addr, error)
}

// Control is for net.Dialer: it judges the concrete address that is about to be dialled. The error is a *Refusal.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return &Refusal{address, "callbacks use TCP, not " + network}
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refusal{address, "it cannot be read as an address and a port"}
	}
	return g.Judge(to)
}

// Judge returns nil for an address that may be dialled, else a *Refusal.
func (g *Guard) Judge(to netip.AddrPort) error {
	refuse := func(reason string) error { return &Refusal{to.String(), reason} }
	addr := to.Addr()
	if !addr.IsValid() {
		return refuse("it is no address")
	}
	if to.Port() == 0 {
		return refuse("port 0 is no target")
	}
	if reason := g.judge(addr.WithZone("").Unmap()); reason != "" {
		return refuse(reason)
	}
	if addr.Zone() != "" {
		return refuse("it is of one network interface only")
	}
	if !g.Development && g.own(netip.AddrPortFrom(addr.Unmap(), to.Port())) {
		return refuse("it is an address of this service itself")
	}
	return nil
}

// judgeURL judges where a URL is, and the address in it; a name passes otherwise.
func (g *Guard) judgeURL(u *url.URL) error {
	if g.Elsewhere != nil {
		if reason := g.Elsewhere(u.Hostname()); reason != "" {
			return &Refusal{u.Host, reason}
		}
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return &Refusal{u.Host, "it has no port"}
	}
	return g.Judge(netip.AddrPortFrom(addr, uint16(n)))
}

// judge returns why an address is refused, or "".
func (g *Guard) judge(addr netip.Addr) string {
	for _, p := range g.DenyCIDRs {
		if contains(p, addr) {
			return "it is in " + p.String() + ", which the configuration denies"
		}
	}
	if reason := g.judgeRange(addr); reason != "" {
		return reason
	}
	for _, inner := range embedded(addr) {
		if reason := g.judge(inner); reason != "" {
			return "it leads to " + inner.String() + ": " + reason
		}
	}
	return ""
}

// judgeRange judges an address by the range that it lies in.
func (g *Guard) judgeRange(addr netip.Addr) string {
	for _, s := range spans {
		if !s.prefix.Contains(addr) {
			continue
		}
		switch {
		case s.class == open, s.class == loopback && g.Development, s.class == private && g.AllowPrivate:
			return ""
		case s.class == loopback:
			return "it is " + s.what + "; only the development environment lets it through"
		case s.class == never:
			return "it is " + s.what
		}
		for _, p := range g.AllowCIDRs {
			if contains(p, addr) {
				return ""
			}
		}
		if s.class == private {
			return "it is " + s.what + "; the configuration can allow its range, or all private ones"
		}
		return "it is " + s.what + "; the configuration can allow its range"
	}
	if addr.Is4() {
		return ""
	}
	for _, p := range spansV6 {
		if p.Contains(addr) {
			return ""
		}
	}
	return "it is a reserved address"
}

// contains reports whether a prefix of the configuration holds an address. One that is written as IPv4 within IPv6 means
// the IPv4 range.
func contains(p netip.Prefix, addr netip.Addr) bool {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Contains(addr)
}

// own reports whether we listen on an address ourselves. The machine's addresses are asked for only if the port is ours.
func (g *Guard) own(to netip.AddrPort) bool {
	for _, o := range g.Own {
		if o.Port() != to.Port() {
			continue
		}
		addr := o.Addr().Unmap()
		if addr == to.Addr() || !addr.IsValid() || addr.IsUnspecified() && g.local(to.Addr()) {
			return true
		}
	}
	return false
}

// local reports whether an address is one of the machine's. When they cannot be listed, every address is taken for one:
// the port is ours.
func (g *Guard) local(addr netip.Addr) bool {
	list := g.Interfaces
	if list == nil {
		list = net.InterfaceAddrs
	}
	all, err := list()
	if err != nil {
		return true
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().WithZone("").Unmap() == addr {
			return true
		}
	}
	return false
}
