package sanitize_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/sanitize"
)

var (
	noHTML    = sanitize.Options{HTML: true}
	noScripts = sanitize.Options{Scripts: true}
	neither   = sanitize.Options{HTML: true, Scripts: true}
)

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name     string
		options  sanitize.Options
		in, want string
		removed  string
	}{
		{"plain", noHTML, "a & b", "a & b", ""},
		{"comparison", noHTML, "if a < b and b > c, i <3 you", "if a < b and b > c, i <3 you", ""},
		{"tags", noHTML, "a <b>bold</b> <i class=x>word</i><br/>", "a bold word", "html"},
		{"comment", noHTML, "a<!-- b -->c<!doctype html>", "ac", "html"},
		{"script", noHTML, "a<script>alert(1)</script>b", "ab", "html"},
		{"script, both", neither, "a<script>alert(1)</script>b", "ab", "html scripts"},
		{"style", noHTML, "a<style>p{}</style>b", "ab", "html"},
		{"a tag in a tag", noHTML, "<scr<script>ipt>alert(1)</script>", "ipt>alert(1)", "html"},
		{"a tag without end", noHTML, "a <img src=x onerror=alert(1)", "a &lt;img src=x onerror=alert(1)", "html"},
		{"entities stay", noHTML, "&lt;script&gt;<b>x</b>", "&lt;script&gt;x", "html"},
		{"title", noHTML, "<title><b>x</b></title>", "x", "html"},

		{"other HTML stays", noScripts, `<p class="a">x <b>y</b></p>`, `<p class="a">x <b>y</b></p>`, ""},
		{"script element", noScripts, "<p>a<script>alert(1)</script>b</p>", "<p>ab</p>", "scripts"},
		{"any case", noScripts, "<p>a<ScRiPt src=//x>alert(1)</sCrIpT >b</p>", "<p>ab</p>", "scripts"},
		{"script without end", noScripts, "<p>a<script>alert(1)", "<p>a", "scripts"},
		{"iframe", noScripts, `a<iframe srcdoc="<script>1</script>"></iframe>b`, "ab", "scripts"},
		{"handler", noScripts, `<img src="a.png" onerror="alert(1)">`, `<img src="a.png">`, "scripts"},
		{"style inside of svg", noScripts, `<svg><style><img src=x onerror=a()></style></svg>`, `<svg><style>&lt;img src=x onerror=a()></style></svg>`, "scripts"},
		{"title inside of svg", noScripts, `<svg><title><img src=x onerror=a()></title>`, `<svg><title>&lt;img src=x onerror=a()></title>`, "scripts"},
		{"style inside of math", noScripts, `<math><style>a < b <!--</style><img src=x>--></style>`, `<math><style>a &lt; b &lt;!--</style><img src=x>--></style>`, "scripts"},
		{"noscript", noScripts, `<noscript><img src=x onerror=a()></noscript>`, `<noscript>&lt;img src=x onerror=a()></noscript>`, "scripts"},
		{"a style", noScripts, `<style>a > b { c: d }</style>1 < 2`, `<style>a > b { c: d }</style>1 < 2`, ""},
		{"handler behind a slash", noScripts, `<svg/onload=alert(1)>`, `<svg>`, "scripts"},
		{"address", noScripts, `<a href="java&#x0A;script:alert(1)" id="x">y</a>`, `<a id="x">y</a>`, "scripts"},
		{"data address", noScripts, `<a href="data:text/html,x">y</a>`, `<a>y</a>`, "scripts"},
		{"image in an address", noScripts, `<img src="data:image/png;base64,AAAA">`, `<img src="data:image/png;base64,AAAA">`, ""},
		{"ordinary address", noScripts, `<a href="https://example.com/?a=b">y</a>`, `<a href="https://example.com/?a=b">y</a>`, ""},
		{"conditional comment", noScripts, `a<!--[if IE]><script>1</script><![endif]-->b`, `ab`, "scripts"},
		{"a tag in a tag, scripts", noScripts, "a<scr<script>ipt>b", "aipt>b", "scripts"},
		{"tag without end", noScripts, `a<img onerror=alert(1) `, `a&lt;img onerror=alert(1) `, "scripts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, removed := sanitize.Text(tt.in, tt.options)
			if got != tt.want || strings.Join(removed, " ") != tt.removed {
				t.Errorf("%q became %q (%v), want %q (%s)", tt.in, got, removed, tt.want, tt.removed)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	in := `{"text": "a <b>b</b>", "n": 1.50, "list": [ "ok", "\u003cscript>x\u003c/script>", {"c": "<i>"} ]}`
	got, changes, err := sanitize.JSON([]byte(in), "input", noHTML)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"text":"a b","n":1.50,"list":["ok","",{"c":""}]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var fields []string
	for _, c := range changes {
		fields = append(fields, c.Field)
	}
	if want := []string{"input.text", "input.list[1]", "input.list[2].c"}; !slices.Equal(fields, want) {
		t.Errorf("changes of %q, want %q", fields, want)
	}
	same := []byte(`{"a": "1 < 2"}`)
	if got, changes, err := sanitize.JSON(same, "input", noHTML); err != nil || changes != nil || &got[0] != &same[0] {
		t.Errorf("what needs no change: %s, %v, %v", got, changes, err)
	}
	if _, _, err := sanitize.JSON([]byte(`{"<script>": 1}`), "input", noHTML); err == nil {
		t.Error("the name of a member that holds a tag is taken")
	}
	many, _ := json.Marshal(slices.Repeat([]string{"<b>"}, 2*sanitize.MaxChanges))
	if _, changes, _ := sanitize.JSON(many, "input", noHTML); len(changes) != sanitize.MaxChanges {
		t.Errorf("%d changes are told, want %d", len(changes), sanitize.MaxChanges)
	}
}

var scriptTag = regexp.MustCompile(`(?i)<script[\s/>]`)

// FuzzText: what was sanitized stays as it is, and has no tag that is to go.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"<b>x</b>", "<scr<script>ipt>", "a<!--<b>-->", "<img src=x onerror=1", "<svg/onload=1><style><a", "<<b>", "</script", "<a href='j\tavascript:1'>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range []sanitize.Options{noHTML, noScripts, neither} {
			clean, _ := sanitize.Text(text, o)
			if again, removed := sanitize.Text(clean, o); again != clean {
				t.Fatalf("%+v: %q became %q, and that %q (%v)", o, text, clean, again, removed)
			}
			if scriptTag.MatchString(clean) {
				t.Fatalf("%+v: %q became %q", o, text, clean)
			}
		}
	})
}
