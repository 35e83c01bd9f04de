package audit

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// ssnMask masks a field ssn.
type ssnMask struct{ noMask }

func (ssnMask) Active() bool { return true }
func (ssnMask) Mask(raw []byte) []byte {
	return bytes.ReplaceAll(raw, []byte(`"ssn":"CANARY"`), []byte(`"ssn":"***"`))
}

// What stands around a body changes nothing of what is masked in it.
func TestTextOfSpacedBodies(t *testing.T) {
	clock := coretest.NewClock()
	s := New(Options{Clock: clock, IDs: core.NewIDs(clock), Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Mask: ssnMask{}})
	s.ApplyConfig(Config{Enabled: true, Level: Verbose})
	for _, space := range []string{"", " ", "\n", "\r\n\t  "} {
		text := s.Text([]byte(space + `{"input":{"ssn":"CANARY"},"headers":{"X-Own":"CANARY"},"name":"stays"}` + space))
		if strings.Contains(text, "CANARY") || !strings.Contains(text, "stays") {
			t.Errorf("%q before it: %s", space, text)
		}
	}
}

// A body with a number that no float64 holds is masked member by member like any other, and numbers are recorded with the digits
// that were sent.
func TestMaskOfNumbers(t *testing.T) {
	for _, text := range []string{`{"headers":{"X-Own":"CANARY"},"n":1e400}`, `{"token":{"deep":["CANARY"]},"n":[-1e999]}`, `{"env":{"ANY":1e400,"B":"CANARY"}}`} {
		if got := maskBody([]byte(text)); strings.Contains(got, "CANARY") || !strings.HasPrefix(got, "{") {
			t.Errorf("%s\nbecomes %s", text, got)
		}
	}
	const text = `{"far":1e400,"id":9007199254740993,"list":[0.1000000000000000055,1.0]}`
	if got := maskBody([]byte(text)); got != text {
		t.Errorf("%s becomes %s", text, got)
	}
}

// Canaries in the places where bodies, answers and terminals have secrets do not get into a record; what is none stays.
func TestMask(t *testing.T) {
	for _, text := range []string{
		`{"name":"ci","secret":"CANARY"}`, `{"a":[{"apiKey":"CANARY"}]}`, `{"headers":{"X-Own":"CANARY"}}`, `{"env":{"ANY":"CANARY"}}`,
		`{"privateKey":"CANARY"}`, `{"clientCert":"c","client_key":"CANARY"}`, `{"Authorization":"Bearer CANARY"}`, `{"token":{"deep":["CANARY"]}}`,
		"export API_KEY=CANARY\r", `curl -H "Authorization: Bearer CANARY-0123456789"`, "psql postgres://ann:CANARY@db/x", `password: "CANARY with blanks"`,
		"my_token = 'CANARY'", `{"input":{"task":"log in with password=CANARY"}}`, "aws_secret_access_key=CANARY",
		"-----BEGIN RSA PRIVATE KEY-----\nCANARY\n-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nCANARY",
	} {
		if got := maskBody([]byte(text)); strings.Contains(got, "CANARY") {
			t.Errorf("%s\nbecomes %s", text, got)
		}
	}
	for _, text := range []string{
		"wr_01K4ZW8M2V_abcdefghijklmnopqrstuvwx_1a2b3c", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "sk-ant-0123456789abcdefghij", "AKIAIOSFODNN7EXAMPLE",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.sig", "hvs.CAESIJ0123456789abcdefgh", "glpat-0123456789abcdefghij", "xoxb-123456789012-abcdef",
	} {
		if got := maskBody([]byte("see " + text + " there")); strings.Contains(got, text) || !strings.HasPrefix(got, "see ") || !strings.HasSuffix(got, " there") {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for _, text := range []string{`{"environment":"production","keyboard":"de","monkey":1}`, "deploy to production at 10:30", `{"task":"review the tokenizer"}`} {
		if got := maskBody([]byte(text)); got != text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	long := strings.Repeat("é", maxText)
	if got := maskBody([]byte(long)); len(got) > maxText+3 || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-8:])
	}
	if got := maskBody([]byte{0xff, 'a'}); got != "\uFFFDa" {
		t.Errorf("%q", got)
	}
}

// Secrets in names of members, in JSON within JSON, and in a body of which only the begin is kept, are none of a record either.
func TestMaskOfOddPlaces(t *testing.T) {
	const token = "ghp_CANARY6789abcdefghijABCDEFGHIJ012345"
	pad := strings.Repeat(`,"n":1`, 4*maxText)
	for _, text := range []string{
		`{"` + token + `":1}`, `{"input":[{"Bearer CANARY-0123456789":"x"}]}`, `{"a":{"postgres://ann:CANARY@db/x":{"b":1}}}`,
		`{"input":"{\"password\":\"a\\\"CANARY\"}"}`, `{"input":"password='a\\'CANARY'"}`,
		`{"input":"{\"a\":\"{\\\"password\\\":\\\"a CANARY\\\"}\"}"}`,
		`{"name":"stays","headers":{"X-Own":"CANARY"}` + pad + `}`, `{"name":"stays","privateKey":["CANARY",{"a":"CANARY"}]` + pad + `}`,
		`[{"name":"stays","env":{"ANY":"CANARY"}}` + strings.Repeat(",1", 10*maxText) + `]`,
		`{"name":"stays","list":["` + token + `"],"` + token + `":"a"` + pad + `}`, `{"name":"stays"` + pad + `,"headers":{"X-Own":"CANARY"}}`,
		`{"name":"stays","headers":{"X-Own":"CANARY` + strings.Repeat(".", 20*maxText) + `"}}`,
	} {
		got := maskBody([]byte(text))
		if strings.Contains(got, "CANARY") || len(got) > maxText+3 || strings.Contains(text, "stays") && !strings.Contains(got, `"name":"stays"`) {
			t.Errorf("%.200s\nbecomes %.300s", text, got)
		}
	}
}

// Secrets in a body that is JSON but for a fault are none of a record: what is behind the fault is left out.
func TestMaskOfBrokenBodies(t *testing.T) {
	for _, text := range []string{
		`{"name":"stays","headers":{"X-Own":"CANARY"},}`, `{"name":"stays","privateKey":"CANARY"`, `{"name":"stays","env":{"ANY":"CANARY`,
		`{"name":"stays" "env":{"ANY":"CANARY"}}`, `{"name":"stays"} {"headers":{"X-Own":"CANARY"}}`, `[{"name":"stays"},{"auth":"CANARY"}}]`,
	} {
		if got := maskBody([]byte(text)); strings.Contains(got, "CANARY") || !strings.Contains(got, `"name":"stays"`) || !strings.HasSuffix(got, "...") {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for _, text := range []string{"[ann@host ~]$ ls", "{see} there", `["a"] is a list`, "[", `{"`} { // which are no JSON
		if got := maskBody([]byte(text)); got != text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}
