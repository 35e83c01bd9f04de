package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/threads/report"
)

func TestSummarize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"Nothing", nil, ""},
		{"Empty", []string{"", "\n\n"}, ""},
		{"Plain", []string{"I fixed the leak in the pool."}, "I fixed the leak in the pool."},
		{"NewestFirst", []string{"The old message says this.", "The new message says that."}, "The new message says that."},
		{"SkipsShort", []string{"The parser is done and tested.", "Done."}, "The parser is done and tested."},
		{"ShortWhenAlone", []string{"Done."}, "Done."},
		{"FirstParagraph", []string{"The first\nparagraph counts.\n\nThe second does not."}, "The first paragraph counts."},
		{"SkipsHeading", []string{"## Summary\n\nThe queue is bounded now."}, "The queue is bounded now."},
		{"SkipsCode", []string{"```go\nfunc main() {}\n```\nThe program starts again."}, "The program starts again."},
		{"SkipsBlock", []string{"The program starts again.\n" + fenced("wardroom", `{"state":"complete"}`)}, "The program starts again."},
		{"SkipsIndentedCode", []string{"    func main() {}\n\nThe program starts again."}, "The program starts again."},
		{"SkipsTable", []string{"| a | b |\n|---|---|\n\nThe table above tells it all."}, "The table above tells it all."},
		{"SkipsQuote", []string{"> somebody said a thing or two\n\nI disagree with what was said."}, "I disagree with what was said."},
		{"SkipsObject", []string{"{\"state\":\"complete\"}\n\nThe program starts again."}, "The program starts again."},
		{"JoinsList", []string{"I changed these things:\n\n- the parser\n- the **lexer**.\n- [the docs](https://x.test)\n\nBye for now, see you."},
			"I changed these things: the parser; the lexer; the docs"},
		{"ListAlone", []string{"- the parser takes comments\n- the lexer too"}, "the parser takes comments"},
		{"Checkboxes", []string{"- [x] the parser takes comments"}, "the parser takes comments"},
		{"Markup", []string{"I made **`Pool.Get`** and __others__ <b>fast</b> ![x](y.png) in [the pool](a.go)."},
			"I made Pool.Get and others fast in the pool."},
		{"SnakeCase", []string{"The names a_b_c and 2*3*4 are kept as they are."}, "The names a_b_c and 2*3*4 are kept as they are."},
		{"OtherScript", []string{"连接池中的泄漏已经修复并且测试通过。"}, "连接池中的泄漏已经修复并且测试通过。"},
		{"Controls", []string{"I \x1b[1mfixed\x1b[0m the leak."}, "I [1mfixed[0m the leak."},
		{"CarriageReturns", []string{"One line here.\r\n\r\nAnother line there."}, "One line here."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := report.Summarize(tt.texts); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSummarizeIsCut(t *testing.T) {
	got := report.Summarize([]string{strings.Repeat("wörter ", 200)})
	if n := utf8.RuneCountInString(got); n > report.MaxExtract || n < report.MaxExtract-10 || !strings.HasSuffix(got, "wörter…") {
		t.Errorf("%d characters, ending with %q", n, got[len(got)-12:])
	}
}

func FuzzSummarize(f *testing.F) {
	f.Add("# a\n\nb: \n- c\n```\nd", "e")
	f.Add("***", "[[[](((")
	f.Fuzz(func(t *testing.T, a, b string) {
		got := report.Summarize([]string{a, b})
		if utf8.RuneCountInString(got) > report.MaxExtract || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00\x1b") {
			t.Fatalf("%q", got)
		}
	})
}
