package config_test

import (
	"strings"
	"testing"
)

// What a destination needs, and what would be given for nothing, is named.
func TestAuditDestinations(t *testing.T) {
	for name, tt := range map[string]struct{ destination, want string }{
		"NoHost":       {"elasticsearch, elasticsearch: {username: a, password: b}", "elasticsearch.hosts: is missing"},
		"Plain":        {"elasticsearch, elasticsearch: {hosts: ['http://search.example.com:9200'], username: a, password: b}", "must be https"},
		"NoPassword":   {"elasticsearch, elasticsearch: {hosts: ['https://search.example.com:9200'], username: a}", "elasticsearch.password: is missing for the user"},
		"NoUser":       {"elasticsearch, elasticsearch: {hosts: ['https://search.example.com:9200'], password: b}", "elasticsearch.username: is missing for the password"},
		"NoCredential": {"elasticsearch, elasticsearch: {hosts: ['https://search.example.com:9200']}", ""},
		"Both":         {"elasticsearch, elasticsearch: {hosts: ['https://search.example.com:9200'], username: a, password: b}", ""},
		"NoToken":      {"splunk, splunk: {host: h}", "splunk.token: is missing"},
		"NoRegion":     {"cloudwatch, cloudwatch: {logGroup: g}", "cloudwatch.region: is missing"},
	} {
		_, err := parse("security: {audit: {enabled: true, destination: " + tt.destination + "}}")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
