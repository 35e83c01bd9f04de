package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// checkHost refuses requests that were sent to a name which is not ours, as long as nobody has to say who he is: a page
// whose name is pointed to this machine (DNS rebinding) is of the same origin as far as a browser can tell.
func (s *Server) checkHost(config *Config, r *http.Request) error {
	if s.opts.Authenticate != nil || servedHost(config.Hosts, r) {
		return nil
	}
	return withStatus(http.StatusMisdirectedRequest, foreignHost(schema.Clip(strings.ToValidUTF8(r.Host, "\uFFFD"))))
}

// ServesHost reports whether a request was sent to a host that is ours; what others mount beside the API goes by it too.
func (s *Server) ServesHost(r *http.Request) bool { return s.checkHost(s.config.Load(), r) == nil }

// foreignHost is the error for a request that was sent to a host which is not ours.
func foreignHost(host string) *core.Error {
	return &core.Error{
		Code: core.CodeValidation,
		Message: "requests for the host " + host + " are not served here; use the address of the server, " +
			"or name the host in server.baseUrl or server.hosts",
		Details: map[string]any{"field": "Host", "reason": "must be a loopback name, the listen address or a configured host"},
	}
}

// servedHost reports whether a request was sent to a loopback name, to the very address that it came in at, or to one of
// hosts. Ports do not count. The unspecified address, which programs on this machine reach a server at that listens on
// all of them, is as good as a loopback one: no name can be pointed to it and keep its own origin.
func servedHost(hosts []string, r *http.Request) bool {
	host := hostName(r.Host)
	if host == "localhost" || host != "" && slices.ContainsFunc(hosts, func(h string) bool { return hostName(h) == host }) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	local := localAddress(r)
	return err == nil && (addr.IsLoopback() || addr == local || addr.IsUnspecified() && local.IsLoopback())
}

// hostName is the host of a Host header in the form in which hosts are compared: without a port, brackets, the dot at
// the end of a full name, and capitals.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// localAddress is the address of this machine that a request came in at.
func localAddress(r *http.Request) netip.Addr {
	if tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
