package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// heldHeaders are those that Wardroom, or the transport, sets itself.
var heldHeaders = []string{
	"connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authenticate",
	"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

func checkHeaderName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is not the name of a header", schema.Clip(name))
	case strings.HasPrefix(lower, "x-service-") || slices.Contains(heldHeaders, lower):
		return errors.New("is a header that Wardroom sets itself")
	}
	return nil
}

// checkHeader returns what is wrong with a header, without showing its value.
func checkHeader(name, value string) error {
	if err := checkHeaderName(name); err != nil {
		return err
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return errors.New("holds a line break or another character that a header cannot hold")
	}
	return nil
}

func checkFilter(text string) error {
	switch {
	case text == "":
		return errors.New("must not be empty")
	case len(text) > maxFilterText || !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return fmt.Errorf("is no text of at most %d bytes", maxFilterText)
	}
	return nil
}

// endpointKey is the dotted key of an endpoint.
func endpointKey(i int) string { return fmt.Sprintf("webhooks.endpoints[%d]", i) }

// endpoint reports what is missing in an endpoint, or does not go together.
func (r *ruling) endpoint(i int, e *Endpoint) {
	entry := endpointKey(i)
	if r.isWrong(entry) { // such as one of its events
		return
	}
	secret := e.Secret.Reveal()
	if strings.HasPrefix(strings.ToLower(e.URL), "http:") && r.config.Server.Environment != Development {
		r.refuse(entry, "url", "must begin with https:// unless server.environment is %s", Development)
	}
	if twice(e.Events) != "" {
		r.refuse(entry, "events", "names %s twice", twice(e.Events))
	}
	switch {
	case len(secret) > maxSecretBytes:
		r.refuse(entry, "secret", "is longer than %d bytes", maxSecretBytes)
	case !utf8.ValidString(secret) || strings.ContainsFunc(secret, unicode.IsControl):
		r.refuse(entry, "secret", "holds a line break or another control character")
	}
	switch {
	case len(e.Headers) > maxHeaders || e.Headers.size() > maxHeaderBytes:
		r.refuse(entry, "headers", "are %d of %d bytes; at most %d of %d bytes together are allowed", len(e.Headers), e.Headers.size(), maxHeaders, maxHeaderBytes)
	case twice(e.Headers.lower()) != "":
		r.refuse(entry, "headers", "hold %s twice, in different cases", twice(e.Headers.lower()))
	case len(e.Filters.Pattern) > maxFilters:
		r.refuse(entry, "filters.pattern", "has %d names; at most %d are allowed", len(e.Filters.Pattern), maxFilters)
	case len(e.Filters.Metadata) > maxFilters:
		r.refuse(entry, "filters.metadata", "has %d keys; at most %d are allowed", len(e.Filters.Metadata), maxFilters)
	}
	switch {
	case e.ClientCertFile != "" && e.ClientKeyFile == "":
		r.refuse(entry, "clientKeyFile", "is missing beside clientCertFile")
	case e.ClientKeyFile != "" && e.ClientCertFile == "":
		r.refuse(entry, "clientCertFile", "is missing beside clientKeyFile")
	}
	for j := range r.config.Webhooks.Endpoints[:i] {
		if other := &r.config.Webhooks.Endpoints[j]; e.URL != "" && other.URL == e.URL && sameEvents(other.Events, e.Events) {
			r.refuse(entry, "url", "is declared with the same events in %s already", endpointKey(j))
		}
	}
}

// size is the length of all names and values, in bytes.
func (h Headers) size() int {
	n := 0
	for name, value := range h {
		n += len(name) + len(value.Reveal())
	}
	return n
}

func (h Headers) lower() []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return names
}

// twice returns the first text that a list has more than once, or "".
func twice(list []string) string {
	for i, text := range list {
		if slices.Contains(list[:i], text) {
			return text
		}
	}
	return ""
}

func sameEvents(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func (r *ruling) proxy(w *Webhooks) {
	if w.Proxy != "" {
		return
	}
	if w.ProxyUsername != "" {
		r.refuse("webhooks", "proxyUsername", "is given without a proxy")
	}
	if !w.ProxyPassword.IsZero() {
		r.refuse("webhooks", "proxyPassword", "is given without a proxy")
	}
}
