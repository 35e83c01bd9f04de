package credential_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/credential"
)

// What an address carries as a credential does not stay in a text; the rest of the address does.
func TestMaskAddresses(t *testing.T) {
	const canary = "c4nary7x"
	for _, text := range []string{
		"https://example.com/x?key=" + canary + "&a=kept", "https://example.com/x?a=kept&sig=" + canary, `{"url":"http://h/?code=` + canary + `","b":"kept"}`,
		"https://bucket.example.com/kept?X-Amz-Signature=" + canary, "https://h/kept?api_key=" + canary, "https://h/kept?access_token=" + canary,
		"https://" + canary + "@example.com/kept", "https://:" + canary + "@example.com/kept", "https://bob:" + canary + "@example.com/kept",
		"clone of http://" + canary + "@h failed, which is kept",
	} {
		masked := credential.Mask(text)
		if strings.Contains(masked, canary) || !strings.Contains(masked, "kept") {
			t.Errorf("%s: %s", text, masked)
		}
	}
	for _, text := range []string{
		"ssh://git@example.com/app.git", "https://example.com/@scope/package", "https://example.com/a?page=2&sort=name", "mail bob@example.com about https://example.com/x", "what is the key?",
	} {
		if masked := credential.Mask(text); masked != text {
			t.Errorf("%s: %s", text, masked)
		}
	}
}

// A value in quotes is masked as a whole, whatever stands before its last quote, and what is behind it stays.
func TestMaskQuoted(t *testing.T) {
	for _, text := range []string{
		`password="c4nary c4nary\"`, `password='c4nary c4nary\' kept`, `password="c4nary\" c4nary" kept`, `password="c4nary c4nary\\" kept`,
		`{\"password\":\"c4nary c4nary\",\"a\":\"kept\"}`,
	} {
		masked := credential.Mask(text)
		if strings.Contains(masked, "c4nary") || strings.Contains(text, "kept") != strings.Contains(masked, "kept") {
			t.Errorf("%s: %s", text, masked)
		}
	}
}
