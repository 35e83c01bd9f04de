package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
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
		return fmt.Errorf("%q is not the name of a header", shorten(name))
	case strings.HasPrefix(lower, "x-service-") || slices.Contains(heldHeaders, lower):
		return errors.New("is a header that Wardroom sets itself")
	}
	return nil
}

// checkHeader tells what is wrong with a header, without showing its value.
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

func checkLabel(name, value string) error {
	if err := checkFilter(name); err != nil {
		return fmt.Errorf("its name %w", err)
	}
	if value == "" {
		return nil
	}
	return checkFilter(value)
}

// valid checks each key of an endpoint by itself.
func (e Endpoint) valid(i int) error {
	none := &Config{} // the fields of an endpoint ask for none
	for _, f := range endpointFields {
		bound := f.bind(i, &e) // set writes into this copy
		var err error
		switch ref := f.of(&e).(type) {
		case *Headers:
			for name, value := range *ref {
				if err = checkHeader(name, value.Reveal()); err != nil {
					break
				}
			}
		case *map[string]string:
			for name, value := range *ref {
				if err = checkLabel(name, value); err != nil {
					break
				}
			}
		case *string:
			if *ref != "" {
				err = bound.valid(none)
			}
		case *[]string:
			err = bound.valid(none)
		default:
			err = bound.set(none, "", bound.text(none))
		}
		if err != nil {
			return fmt.Errorf("endpoint %d, %s: %w", i, f.key, err)
		}
	}
	return nil
}

// endpoint reports what is missing in an endpoint, or does not go together.
func (r *ruling) endpoint(i int, e *Endpoint) {
	entry := endpointKey(i, "")
	for key := range r.wrong { // such as one of its events
		if strings.HasPrefix(key, entry) {
			return
		}
	}
	secret := e.Secret.Reveal()
	switch {
	case e.URL == "":
		r.refuse(entry, "url", "is missing: give the URL of the receiver")
	case strings.HasPrefix(strings.ToLower(e.URL), "http:") && r.config.Server.Environment != Development:
		r.refuse(entry, "url", "must begin with https:// unless server.environment is %s", Development)
	}
	switch {
	case len(e.Events) == 0:
		r.refuse(entry, "events", `is missing: list types of events, or "*" for all`)
	case twice(e.Events) != "":
		r.refuse(entry, "events", "names %s twice", twice(e.Events))
	}
	switch {
	case secret == "":
		r.refuse(entry, "secret", "is missing: give what deliveries are signed with, such as ${WEBHOOK_SECRET}")
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
			r.refuse(entry, "url", "is declared with the same events in %s already", endpointKey(j, ""))
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
