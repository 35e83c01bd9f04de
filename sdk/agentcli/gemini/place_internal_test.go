package gemini

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// The place of a dialog may stand right behind words that were cut short, or go on in the next row.
func TestPlace(t *testing.T) {
	for text, want := range map[string]string{
		"? Shell  touch one      1 of 2\ntouch one":                      "1 of 2",
		"? Shell touch some words some word…1 of 2\ntouch":               "1 of 2",
		"? Shelltouch some words some w…12 of\n13\ntouch":                "12 of 13",
		"? Shell  makes a file that…1 of\n  the second row     2\ntouch": "1 of 2",
		"? Shell  touch 3 of 4 of 5\ntouch":                              "4 of 5",
		"? Shell  touch 1 of 2 files\n3":                                 "",
		"? Shell  touch one\n1 of 2":                                     "",
		"":                                                               "",
	} {
		if got := placeOf(&dialog.Standing{Text: text}); got != want {
			t.Errorf("the place of %q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"? Shell  touch one      1 of 2\ntouch one": "? Shell  touch one      \x00\ntouch one",
		"? Shelltouch w…1 of\n2\ntouch":             "? Shelltouch w…\x00\ntouch",
		"? Shell  a…1 of\n  b    2\ntouch":          "? Shell  a…\x00\n  b    \x00\ntouch",
		"? Shell  touch one\ntouch one":             "? Shell  touch one\ntouch one",
	} {
		if got := unplaced(text); got != want {
			t.Errorf("%q without its place is %q, want %q", text, got, want)
		}
	}
}

// The second question of a dialog is not another prompt, but what a tool asks behind it is.
func TestQuestionBesideTool(t *testing.T) {
	input := map[string]any{"questions": []any{map[string]any{"question": "first?"}, map[string]any{"question": "second?"}}}
	tools := []tool{{questionTool, input}, {"run", map[string]any{"command": "touch a"}}}
	p := &runtime.Prompt{Tool: questionTool, Input: input}
	for text, want := range map[string]bool{"first?": true, "second?": true, "? Shell  touch a\ntouch a\nAllow execution of [Shell]?": false} {
		if got := isOf(p, tools, &dialog.Standing{Text: text}); got != want {
			t.Errorf("%q is that of the question: %v", text, got)
		}
	}
}

// A dialog that shows what two calls have in common is about neither, as far as can be known: the prompt has its own words.
func TestWordsOfTwo(t *testing.T) {
	write := func(path string) tool {
		return tool{"write_file", map[string]any{"file_path": path, "content": "x"}}
	}
	now := &dialog.Standing{Text: "? WriteFile main.go\nx\nApply this change?"}
	if about := standsFor([]tool{write("/a/main.go"), write("/b/main.go")}, now); about != nil {
		t.Errorf("it is taken for %v", about.Input)
	}
	if about := standsFor([]tool{write("/a/main.go"), write("/a/main.go")}, now); about == nil {
		t.Error("it is not known, though both are the same")
	}
	if about := standsFor([]tool{write("/a/main.go"), write("/b/other.go")}, now); about == nil || about.Input["file_path"] != "/a/main.go" {
		t.Errorf("it is taken for %v", about)
	}
}
