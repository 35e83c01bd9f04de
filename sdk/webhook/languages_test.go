package webhook_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/webhook"
)

// page is what people who build a receiver read.
const page = "../../docs/webhooks-verify.md"

// A harness surrounds a snippet of the page (@@). It reads a case a line, fields in base64 and a tab between: secret,
// signature, timestamp, body and the time in seconds; it writes true or false for each.
var harnesses = []struct {
	language, file string
	command        []string // the file comes after it
	required       bool     // where WARDROOM_REQUIRE_REAL is 1
	text           string
}{
	{"go", "main.go", []string{"go", "run"}, true, `package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

@@
func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var f [5]string
		for i, text := range strings.Split(in.Text(), "\t") {
			raw, _ := base64.StdEncoding.DecodeString(text)
			f[i] = string(raw)
		}
		now, _ := strconv.ParseInt(f[4], 10, 64)
		fmt.Println(verify(f[0], f[1], f[2], []byte(f[3]), now))
	}
}
`},
	{"python", "main.py", []string{"python3"}, true, `
@@
import base64, sys
for line in sys.stdin.read().splitlines():
    f = [base64.b64decode(text) for text in line.split("\t")]
    print(str(verify(f[0].decode(), f[1].decode(), f[2].decode(), f[3], int(f[4]))).lower())
`},
	{"js", "main.js", []string{"node"}, true, `
@@
for (const line of require("node:fs").readFileSync(0, "utf8").trimEnd().split("\n")) {
  const f = line.split("\t").map((text) => Buffer.from(text, "base64"));
  console.log(verify(f[0].toString(), f[1].toString(), f[2].toString(), f[3], Number(f[4].toString())));
}
`},
	{"ruby", "main.rb", []string{"ruby"}, false, `
@@
require "base64"
STDIN.each_line do |line|
  f = line.chomp.split("\t", -1).map { |text| Base64.decode64(text) }
  puts verify(f[0], f[1], f[2], f[3], f[4].to_i)
end
`},
	{"java", "Main.java", []string{"java"}, false, `
import java.nio.charset.StandardCharsets;
import java.security.*;
import java.util.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Main {
@@
    public static void main(String[] args) throws Exception {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            byte[][] f = new byte[5][];
            String[] texts = in.nextLine().split("\t", -1);
            for (int i = 0; i < 5; i++) f[i] = Base64.getDecoder().decode(texts[i]);
            System.out.println(verify(text(f[0]), text(f[1]), text(f[2]), f[3], Long.parseLong(text(f[4]))));
        }
    }

    static String text(byte[] raw) { return new String(raw, StandardCharsets.UTF_8); }
}
`},
}

// TestSnippets runs the receivers of the page against deliveries good and bad.
func TestSnippets(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	cases := snippetCases()
	var input strings.Builder
	want := make([]string, len(cases))
	for i, c := range cases {
		fields := make([]string, len(c.fields))
		for k, f := range c.fields {
			fields[k] = base64.StdEncoding.EncodeToString([]byte(f))
		}
		input.WriteString(strings.Join(fields, "\t") + "\n")
		want[i] = fmt.Sprint(c.good)
	}
	for _, h := range harnesses {
		t.Run(h.language, func(t *testing.T) {
			_, rest, found := strings.Cut(string(text), "```"+h.language+" verify\n")
			snippet, _, ended := strings.Cut(rest, "```")
			if !found || !ended {
				t.Fatalf("%s has no snippet for %s", page, h.language)
			}
			if _, err := exec.LookPath(h.command[0]); err != nil {
				if h.required && os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
					t.Fatalf("%s is not installed", h.command[0])
				}
				t.Skipf("%s is not installed", h.command[0])
			}
			file := filepath.Join(t.TempDir(), h.file)
			if err := os.WriteFile(file, []byte(strings.Replace(h.text, "@@", snippet, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(h.command[0], append(h.command[1:], file)...)
			cmd.Stdin = strings.NewReader(input.String())
			out, err := cmd.Output()
			if err != nil {
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					out = append(out, exit.Stderr...)
				}
				t.Fatalf("%v\n%s", err, out)
			}
			got := strings.Fields(string(out))
			if len(got) != len(want) {
				t.Fatalf("%d answers for %d deliveries: %s", len(got), len(want), out)
			}
			for i, c := range cases {
				if got[i] != want[i] {
					t.Errorf("%s: verify says %s, want %s", c.name, got[i], want[i])
				}
			}
		})
	}
}

type snippetCase struct {
	name   string
	fields [5]string // secret, signature, timestamp, body, now
	good   bool
}

func snippetCases() []snippetCase {
	const both = vectorSignature + "," + formerSignature
	now := vectorTimestamp
	return []snippetCase{
		{"plain", [5]string{vectorSecret, vectorSignature, vectorTimestamp, vectorBody, now}, true},
		{"newest of two", [5]string{vectorSecret, both, vectorTimestamp, vectorBody, now}, true},
		{"former of two", [5]string{vectorFormer, both, vectorTimestamp, vectorBody, now}, true},
		{"with a space", [5]string{vectorFormer, vectorSignature + ", " + formerSignature, vectorTimestamp, vectorBody, now}, true},
		{"five minutes old", [5]string{vectorSecret, both, vectorTimestamp, vectorBody, "1767323345"}, true},
		{"five minutes early", [5]string{vectorSecret, both, vectorTimestamp, vectorBody, "1767322745"}, true},
		{"too old", [5]string{vectorSecret, both, vectorTimestamp, vectorBody, "1767323346"}, false},
		{"too early", [5]string{vectorSecret, both, vectorTimestamp, vectorBody, "1767322744"}, false},
		{"other secret", [5]string{"other", both, vectorTimestamp, vectorBody, now}, false},
		{"changed body", [5]string{vectorSecret, both, vectorTimestamp, vectorBody + " ", now}, false},
		{"changed timestamp", [5]string{vectorSecret, both, "1767323046", vectorBody, now}, false},
		{"no scheme", [5]string{vectorSecret, strings.TrimPrefix(vectorSignature, "sha256="), vectorTimestamp, vectorBody, now}, false},
		{"cut short", [5]string{vectorSecret, vectorSignature[:40], vectorTimestamp, vectorBody, now}, false},
		{"no signature", [5]string{vectorSecret, "", vectorTimestamp, vectorBody, now}, false},
		{"commas", [5]string{vectorSecret, ",,,", vectorTimestamp, vectorBody, now}, false},
		{"no timestamp", [5]string{vectorSecret, both, "", vectorBody, now}, false},
		{"no number", [5]string{vectorSecret, both, "soon", vectorBody, now}, false},
		{"another script's digits", [5]string{vectorSecret, both, "١٧٦٧٣٢٣٠٤٥", vectorBody, now}, false},
		{"huge number", [5]string{vectorSecret, both, strings.Repeat("9", 40), vectorBody, now}, false},
		{"signature not ASCII", [5]string{vectorSecret, "sha256=é", vectorTimestamp, vectorBody, now}, false},
	}
}

// TestSnippetCases holds the cases to the package itself.
func TestSnippetCases(t *testing.T) {
	for _, c := range snippetCases() {
		var seconds int64
		if _, err := fmt.Sscan(c.fields[4], &seconds); err != nil {
			t.Fatal(err)
		}
		header := http.Header{"X-Service-Signature": {c.fields[1]}, "X-Service-Timestamp": {c.fields[2]}}
		_, err := webhook.Verify(c.fields[0], header, []byte(c.fields[3]), 0, time.Unix(seconds, 0))
		if (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestVectorIsDocumented holds the page's own delivery to the one that is tested.
func TestVectorIsDocumented(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{vectorSecret, vectorTimestamp, vectorSignature, vectorBody} {
		if !strings.Contains(string(text), "`"+want+"`") {
			t.Errorf("%s does not show %s", page, want)
		}
	}
}
