package appliance_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The README shows the code that is executed in the tests of the page about verifying, and no other.
func TestVerificationInREADME(t *testing.T) {
	page, err := os.ReadFile("../docs/webhooks-verify.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(\\w+) verify\n(.*?```)").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 5 {
		t.Errorf("%d languages, want 5", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(string(readme), "```"+block[1]+"\n"+block[2]) {
			t.Errorf("the README does not have the %s of docs/webhooks-verify.md", block[1])
		}
	}
}
