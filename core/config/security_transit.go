package config

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Encryption is how what is stored and sent is protected from reading.
type Encryption struct {
	// What is stored.
	AtRest AtRest `json:"atRest"`
	// What is sent over networks.
	InTransit InTransit `json:"inTransit"`
}

// InTransit is how what is sent over networks is protected from reading.
type InTransit struct {
	// Refuse to send or take anything in plain text: the listener needs security.mtls, addresses in this file and targets of
	// webhooks must begin with https, ssh or the like, and answers tell browsers to stay with HTTPS (HSTS).
	Enabled bool `json:"enabled"`
	// Take plain text on loopback nevertheless, for a proxy, a runtime or a receiver on the same machine.
	AllowLoopback bool `json:"allowLoopback"`
}

// inTransit reports what would be sent in plain text though nothing may.
func (r *ruling) inTransit() {
	c := r.config
	transit := c.Security.Encryption.InTransit
	const rule = "security.encryption.inTransit.enabled refuses plain text"
	if !transit.Enabled {
		if transit.AllowLoopback {
			r.refuse("security.encryption.inTransit", "allowLoopback", "is given without enabled")
		}
		return
	}
	allowed := func(host string) bool { return transit.AllowLoopback && onLoopback(host) }
	if host, _, err := net.SplitHostPort(c.Server.Listen); !c.Security.MTLS.Enabled && (err != nil || !allowed(host)) {
		r.refuse("security.encryption.inTransit", "enabled", "needs security.mtls, so that the server speaks HTTPS; behind a proxy on this machine listen on loopback and set allowLoopback")
	}
	plain := func(entry, name, address string) {
		host, found := plainHost(address)
		if found && !allowed(host) {
			r.refuse(entry, name, "is not encrypted: %s", rule)
		}
	}
	plain("server", "baseUrl", c.Server.BaseURL)
	plain("security.authentication.jwt", "jwksUri", c.Security.Authentication.JWT.JWKSURI)
	for _, name := range sortedKeys(c.Runtimes) {
		plain("runtimes."+name, "url", c.Runtimes[name].URL)
	}
	for _, name := range sortedKeys(c.Threads.Repositories) {
		plain("threads.repositories."+name, "url", c.Threads.Repositories[name].URL)
	}
	for i := range c.Webhooks.Endpoints {
		plain(endpointKey(i), "url", c.Webhooks.Endpoints[i].URL)
	}
	for i, glob := range c.Threads.Workspaces.AllowedURLs {
		if _, found := plainHost(glob); found {
			r.refuse("threads.workspaces", fmt.Sprintf("allowedUrls[%d]", i), "is not encrypted: %s", rule)
		}
	}
}

// plainHost returns the host of an address that is spoken to in plain text.
func plainHost(address string) (host string, found bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	switch strings.ToLower(scheme) {
	case "http", "git", "ftp", "ws":
	default:
		return "", false
	}
	host, _, _ = strings.Cut(rest, "/")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]"), ok
}

// onLoopback reports whether a host is this machine by its address or name alone.
func onLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
