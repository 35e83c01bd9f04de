package cmd

import (
	"strings"
	"testing"
)

// A tool that fails is left out of a bundle with its own words, and not with its exit status alone.
func TestBundleNamesFailure(t *testing.T) {
	for _, tt := range []struct{ script, text, failure string }{
		{"echo seen; echo warning >&2; exit 3", "seen\n", ""},
		{"printf '\\nno journal files: password=hunter2\\nmore\\n' >&2; exit 1", "", "exit status 1: no journal files: password=***"},
		{"exit 4", "", "exit status 4"},
		{"", "", "it printed nothing"},
	} {
		text, err := runForText(t.Context(), []string{"sh", "-c", tt.script})
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		if string(text) != tt.text || failure != tt.failure {
			t.Errorf("%s: %q, %q", tt.script, text, failure)
		}
	}
}

// Lines of a log hold what others sent, in the quotes that they had and in those of the log.
func TestRedact(t *testing.T) {
	for _, text := range []string{
		`password=hunter2`, `"password": "hunter2"`, `password: 'hunter2'`, `OPENAI_API_KEY=hunter2`, `{"token":"hunter2","a":1}`,
		`body="{\"password\":\"hunter2\"}"`, `body="{\"clientSecret\": \"hunter2\", \"a\": 1}"`,
		`password="correct horse hunter2"`, `{"password": "correct horse hunter2"}`, `body="{\"password\":\"correct horse hunter2\"}"`,
		`password="correct \"horse\" hunter2"`,
		`AWS_SECRET_ACCESS_KEY=hunter2`, `aws_secret_access_key = hunter2`, `"secretKey": "hunter2"`, `passphrase: hunter2`,
		`wardroom-store-key-1:abcd1234:hunter2hunter2`, `AGE-SECRET-KEY-1HUNTER2QQQQ`, `github_pat_11hunter2hunter2hunter2`, `ghu_hunter2hunter2hunter2`,
		`Authorization: Bearer hunter2hunter2`, `https://me:hunter2@example.com/x`,
	} {
		if got := string(redact([]byte(text))); strings.Contains(strings.ToLower(got), "hunter2") || !strings.Contains(got, "***") {
			t.Errorf("%s is left as %s", text, got)
		}
	}
	for _, text := range []string{
		`service_tokens_total{kind="agent"} 5`, `pattern=urgency key=abc status=200`, `{"tokens": 12, "apiKeys": {"enabled": true}}`, `secretIdFile: /etc/wardroom/id`,
	} {
		if got := string(redact([]byte(text))); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
