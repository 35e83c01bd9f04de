package chartdraw_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/appliance/chartdraw"
	"github.com/wardroom/wardroom/core/pattern"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

// draw parses a definition of testdata or of those that are shipped.
func draw(t testing.TB, source string) *chartdraw.Drawing {
	t.Helper()
	plan, problems := pattern.Parse(source)
	if len(problems) > 0 {
		t.Fatalf("the definition is not valid: %v", problems)
	}
	full, ok := plan.(interface{ JSON() json.RawMessage })
	if !ok {
		t.Fatalf("%T has no JSON", plan)
	}
	return chartdraw.New(plan, full.JSON())
}

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := read(t, file); got != want {
		t.Errorf("%s differs (write it anew with -update)\n got\n%s\nwant\n%s", file, got, want)
	}
}

// definitions are what the golden drawings are of.
var definitions = map[string]string{
	"flat":     "testdata/flat.yaml",
	"pipeline": "testdata/pipeline.yaml",
	"nested":   "testdata/nested.yaml",
}

func TestText(t *testing.T) {
	for name, file := range definitions {
		t.Run(name, func(t *testing.T) {
			d := draw(t, read(t, file))
			golden(t, name+".txt", d.Text(chartdraw.TextOptions{}))
			plain := d.Text(chartdraw.TextOptions{ASCII: true, Width: 60})
			golden(t, name+".ascii.txt", plain)
			for _, r := range plain {
				if r > 126 {
					t.Fatalf("%q is no ASCII", r)
				}
			}
			body, err := json.MarshalIndent(d, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", string(body)+"\n")
		})
	}
}

// Drawings of what is shipped are complete: each role and each step has its line.
func TestTextOfShippedPatterns(t *testing.T) {
	files, err := filepath.Glob("../../configs/patterns/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no shipped patterns: %v", err)
	}
	for _, file := range files {
		d := draw(t, read(t, file))
		text := d.Text(chartdraw.TextOptions{})
		if len(d.Roles) == 0 || len(d.Steps) == 0 {
			t.Errorf("%s: %d tops, %d steps", file, len(d.Roles), len(d.Steps))
		}
		for _, step := range d.Steps {
			if !strings.Contains(text, "\n"+step.Path+"  "+step.Kind) {
				t.Errorf("%s: step %s is not drawn:\n%s", file, step.Path, text)
			}
		}
	}
}

func TestTextWidth(t *testing.T) {
	source := strings.ReplaceAll(read(t, "testdata/nested.yaml"), "Build the service", strings.Repeat("日本語 wide ", 7))
	d := draw(t, source)
	for _, width := range []int{1, 10, 40, 79, 200} {
		for i, line := range strings.Split(d.Text(chartdraw.TextOptions{Width: width}), "\n") {
			if got := uniseg.StringWidth(line); got > width {
				t.Errorf("width %d: line %d has %d columns: %s", width, i+1, got, line)
			}
		}
	}
}

// What a definition says cannot write to the terminal what it likes.
func TestTextIsHarmless(t *testing.T) {
	source := strings.ReplaceAll(read(t, "testdata/nested.yaml"), "Describe", `\e[2J\u202eevil\r\n\x07`)
	text := draw(t, source).Text(chartdraw.TextOptions{})
	if strings.ContainsAny(text, "\x1b\r\x07\u202e") || !strings.Contains(text, "evil") {
		t.Errorf("the drawing holds control characters: %q", text)
	}
}
