package config_test

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/config"
)

const oneEndpoint = "webhooks: {endpoints: [{url: 'https://h/a', events: ['*'], secret: one, headers: {X-A: b}}]}"

func TestEndpoints(t *testing.T) {
	c := mustParse(t, oneEndpoint)
	want := []config.Endpoint{{
		URL: "https://h/a", Events: []string{"*"}, Secret: config.NewSecret("one"), Headers: config.Headers{"X-A": config.NewSecret("b")},
		Enabled: true, Retries: 3, Timeout: 30 * time.Second,
	}}
	if got := c.Webhooks.Endpoints; !reflect.DeepEqual(got, want) {
		t.Errorf("endpoints %+v, want %+v", got, want)
	}
	if got := c.Webhooks.Endpoints[0].Headers.Reveal(); !reflect.DeepEqual(got, map[string]string{"X-A": "b"}) {
		t.Errorf("headers %v", got)
	}
	if shown := mustShow(t, c); strings.Contains(shown, "one") || strings.Contains(shown, "X-A: b") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
}

// A later file replaces the endpoints, and what an earlier one said of them is forgotten.
func TestEndpointsOfDropIns(t *testing.T) {
	c, err := config.Parse([]config.File{
		{Name: "/w.yaml", Data: []byte("webhooks: {endpoints: [{url: 'http://h/a', secret: x}]}")},
		{Name: "/conf.d/x.yaml", Data: []byte(oneEndpoint)},
	}, config.Options{Lookup: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Webhooks.Endpoints; len(got) != 1 || got[0].URL != "https://h/a" {
		t.Errorf("endpoints %+v", got)
	}
}

func TestChangesOfWebhooks(t *testing.T) {
	prev := mustParse(t, oneEndpoint)
	next := mustParse(t, strings.Replace(oneEndpoint, "one", "two", 1))
	changes := config.Changes(prev, next)
	if len(changes) != 1 || changes[0].Key != "webhooks.endpoints" || !changes[0].Reloaded ||
		!strings.Contains(changes[0].New, "https://h/a") || strings.Contains(changes[0].New, "two") || strings.Contains(changes[0].New, "\n") {
		t.Errorf("changes %+v", changes)
	}
	if got := config.Changes(prev, mustParse(t, oneEndpoint)); len(got) != 0 {
		t.Errorf("the same file changes %+v", got)
	}
	if got := config.Changes(prev, mustParse(t, strings.Replace(oneEndpoint, "X-A: b", "X-A: c", 1))); len(got) != 1 {
		t.Errorf("another header changes %+v", got)
	}
	if got := prev.With(next).Webhooks.Endpoints[0].Secret.Reveal(); got != "two" {
		t.Errorf("the secret is %q after a reload", got)
	}
}

func TestEndpointsOverHTTP(t *testing.T) {
	plain := strings.Replace(oneEndpoint, "https", "http", 1)
	if _, err := parse(plain); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("http in production: %v", err)
	}
	mustParse(t, plain+"\nserver: {environment: development}")
}

func TestBoundsOfEndpoints(t *testing.T) {
	entry := "url: 'https://h/a', events: ['*']"
	for text, want := range map[string]string{
		"[" + strings.Repeat("{url: 'https://h/a'},", 1001) + "]":                                           "webhooks.endpoints",
		"[{" + entry + ", secret: " + strings.Repeat("s", 1025) + "}]":                                      "webhooks.endpoints[0].secret",
		"[{" + entry + ", secret: s, headers: {A: " + strings.Repeat("x", 8192) + "}}]":                     "webhooks.endpoints[0].headers",
		"[{" + entry + ", secret: s, filters: {pattern: [" + strings.Repeat("x,", 101) + "]}}]":             "webhooks.endpoints[0].filters.pattern",
		"[{" + entry + ", secret: s, filters: {metadata: {a: " + strings.Repeat("x", 257) + "}}}]":          "webhooks.endpoints[0].filters.metadata.a",
		"[{url: 'https://h/" + strings.Repeat("x", 2048) + "', events: ['*'], secret: s}]":                  "webhooks.endpoints[0].url",
		"[{" + entry + ", secret: s, headers: {A: a}, filters: {metadata: {a: b}}, timeout: 6m}]":           "webhooks.endpoints[0].timeout",
		"[{" + entry + ", secret: s, filters: {pattern: [" + strings.Repeat("x", 257) + "]}, ordered: on}]": "webhooks.endpoints[0].filters.pattern[0]",
	} {
		_, err := parse("webhooks: {endpoints: " + text + "}")
		if problems := config.Problems(err); len(problems) == 0 || problems[0].Key != want {
			t.Errorf("problems %v, want one of %s", problems, want)
		}
	}
}

func TestValidateWebhooksInCode(t *testing.T) {
	c := config.Default()
	c.Webhooks.Endpoints = []config.Endpoint{
		{URL: "https://h", Events: []string{"*"}, Secret: config.NewSecret("s"), Timeout: time.Second},
		{URL: "https://h", Events: []string{"*"}, Timeout: time.Second},
	}
	problems := config.Problems(c.Validate())
	if len(problems) != 2 || problems[0].Key != "webhooks.endpoints[1].secret" || problems[1].Key != "webhooks.endpoints[1].url" {
		t.Errorf("problems %v", problems)
	}
	for name, e := range map[string]config.Endpoint{
		"url":              {URL: "h"},
		"events":           {URL: "https://h", Events: []string{"x"}},
		"headers":          {URL: "https://h", Headers: config.Headers{"Host": config.NewSecret("a")}},
		"timeout":          {URL: "https://h"},
		"filters.metadata": {URL: "https://h", Timeout: time.Second, Filters: config.EndpointFilters{Metadata: map[string]string{"": "a"}}},
	} {
		c.Webhooks.Endpoints = []config.Endpoint{e}
		problems := config.Problems(c.Validate())
		if !slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Key == "webhooks.endpoints[0]."+name }) {
			t.Errorf("%s: problems %v", name, problems)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "192.0.2.1": "192.0.2.1/32", "fd00::/8": "fd00::/8", "::1": "::1/128",
		"10.0.0.1/8": "", "fe80::1%eth0": "", "10.0.0.0/33": "", "": "", "example.com": "",
	} {
		got, err := config.ParsePrefix(text)
		if (err != nil) != (want == "") || err == nil && got != netip.MustParsePrefix(want) {
			t.Errorf("%q is %v, %v; want %q", text, got, err, want)
		}
	}
}
