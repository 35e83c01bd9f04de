package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

var update = flag.Bool("update", false, "write the golden files anew")

// screen is one that has a golden tree, and a place on the contact sheet.
type screen struct{ name, path string }

// fixture starts a server of its own with a bit of everything, the same each time, and returns its screens.
func fixture(t *testing.T) (server *testbed.Server, screens []screen) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := testbed.NewDevServer(shared.binary, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	crew, err := shared.staff(t.Context(), server, dir)
	t.Cleanup(func() {
		for _, p := range crew {
			p.Kill()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	api := server.Client
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Part B asks something, and so ends last, which its critical path shows; on a busy machine not each time.
	var done *client.Execution
	must(testbed.Until(t.Context(), waiting, "a run whose Part B ends last", func(ctx context.Context) (bool, error) {
		var err error
		if done, err = api.Execute(ctx, client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)}); err != nil {
			return false, err
		}
		line, err := api.GetTimeline(ctx, done.ExecutionID)
		if err != nil {
			return false, err
		}
		ends := map[string]time.Time{}
		for _, e := range line.Entries {
			if e.EndedAt != nil {
				ends[e.Name] = *e.EndedAt
			}
		}
		if ends["Part B"].After(ends["Part A"]) {
			return true, nil
		}
		return false, api.DeleteExecution(ctx, done.ExecutionID)
	}))
	_, err = api.CreatePattern(t.Context(), client.PatternInput{Definition: urgency})
	must(err)
	waits, err := api.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)})
	must(err)
	batch, err := api.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: []json.RawMessage{[]byte(`{"text": "x"}`), []byte(`{"text": "y"}`)}})
	must(err)
	asks, err := api.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a word counter"}`)})
	must(err)
	thread, err := api.SpawnThread(t.Context(), client.ThreadSpec{ExecutionID: "new", AgentType: "bash", Name: "shell", Objective: "echo hello"})
	must(err)
	must(testbed.Until(t.Context(), waiting, "a question, and a turn of the thread", func(ctx context.Context) (bool, error) {
		list, err := api.ListQuestions(ctx, client.QuestionFilter{Status: "open"})
		now, err2 := api.GetThread(ctx, thread.ID)
		return err == nil && err2 == nil && len(list.Questions) == 1 && now.TurnCount == 1, nil
	}))
	at := "/executions/" + done.ExecutionID
	return server, []screen{
		{"overview", "/"}, {"inbox", "/inbox"}, {"timeline", at}, {"workflow", at + "?tab=workflow"},
		{"messages", at + "?tab=messages"}, {"data", at + "?tab=data"}, {"asking", "/executions/" + asks.ExecutionID}, {"pending", "/executions/" + waits.ExecutionID},
		{"batches", "/batches"}, {"batch", "/batches/" + batch.BatchID}, {"patterns", "/patterns"}, {"pattern", "/patterns/startup-team"}, {"editor", "/patterns/urgency?tab=edit"},
		{"threads", "/threads"}, {"board", "/threads?board=state"}, {"newthread", "/threads?tab=new"}, {"thread", "/threads/" + thread.ID}, {"agents", "/agents"}, {"managed", "/agents?tab=managed"}, {"schedules", "/schedules"}, {"triggers", "/triggers"},
		{"memory", "/memory"}, {"webhooks", "/webhooks"}, {"audit", "/audit"}, {"system", "/system"},
	}
}

// What changes from run to run: ids, times, amounts.
var masks = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^longest task .*`), "longest task, whichever it was"},
	{regexp.MustCompile(`\b[a-z]+_(…|[0-9A-HJKMNP-TV-Z]{22})[0-9A-Z]{4}\b`), "ID"},
	{regexp.MustCompile(`/tmp/[^\s"]*`), "PATH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][\d:.]+Z?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{regexp.MustCompile(`\b\d\d-\d\d\b`), "DAY"},
	{regexp.MustCompile(`\b\d[\d,.]*( ?(ms|s|m|h|d|KiB|MiB|GiB|B))?( \d+ ?(ms|s|m|h))?( ago)?\b`), "N"},
	{regexp.MustCompile(`\bdevel\b`), "N"}, // a build without a version
	{regexp.MustCompile(`(N )+N`), "N"},
	{regexp.MustCompile(`\b(just )?now\b`), "N"},
	{regexp.MustCompile(`\b(ada|tom|eve|kim|quinn)\b`), "AGENT"}, // whoever was free
}

// silent are roles without a meaning of their own; what lies in them is told in their place.
var silent = map[string]bool{"none": true, "generic": true, "InlineTextBox": true, "LineBreak": true, "LayoutTable": true, "LayoutTableRow": true, "LayoutTableCell": true, "ListMarker": true}

// said are the properties of a node that a reader is told.
var said = map[accessibility.PropertyName]bool{"pressed": true, "expanded": true, "checked": true, "selected": true, "disabled": true, "level": true, "live": true, "multiselectable": true}

// tree writes the accessibility tree of the page, or of what lies in its frame, as text. Of equal neighbours, such as rows, one stands for all.
func (p *page) tree(whole bool) string {
	p.t.Helper()
	var nodes []*accessibility.Node
	p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	text := func(v *accessibility.Value) string {
		var s string
		if v != nil && json.Unmarshal(v.Value, &s) != nil {
			s = string(v.Value)
		}
		for _, m := range masks {
			s = m.from.ReplaceAllString(s, m.to)
		}
		return strings.Join(strings.Fields(s), " ")
	}
	var lines func(n *accessibility.Node, parent string) []string
	lines = func(n *accessibility.Node, parent string) (out []string) {
		role, name := text(n.Role), text(n.Name)
		own := !n.Ignored && !silent[role]
		if own && role == "StaticText" && (name == parent || name == "") {
			return nil
		}
		if own {
			line := role
			if name != "" {
				line += fmt.Sprintf(" %q", name)
			}
			for _, prop := range n.Properties {
				if v := strings.Trim(string(prop.Value.Value), `"`); said[prop.Name] && v != "false" && v != "off" {
					line += " " + string(prop.Name) + "=" + v
				}
			}
			out, parent = append(out, line), name
			if role == "image" && name != "" { // its name describes it; how many marks its axes have depends on the figures
				return out
			}
		}
		last := ""
		for _, id := range n.ChildIDs {
			child := byID[id]
			if child == nil {
				continue
			}
			below := lines(child, parent)
			joined := strings.Join(below, "\n")
			if joined == last && len(below) > 0 {
				continue
			}
			last = joined
			for _, l := range below {
				if own {
					l = "  " + l
				}
				out = append(out, l)
			}
		}
		return out
	}
	root := nodes[0]
	if !whole {
		for _, n := range nodes {
			if text(n.Role) == "main" {
				root = n
			}
		}
	}
	return strings.Join(lines(root, ""), "\n") + "\n"
}

// settled is that a screen has what it shows.
const settled = `document.querySelector("h1") && !document.querySelector("main .waiting") && document.querySelector(".live:not(.off)")?.innerText.includes("live")`

// Each screen says the same to those who do not see it as when its golden was written, and breaks no rule of axe's.
func TestScreens(t *testing.T) {
	server, screens := fixture(t)
	sheet := os.Getenv("CONSOLE_SHEET")
	var shots []image.Image
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			p := openIn(t, server.URL+s.path)
			p.until("the screen", settled)
			if s.name == "editor" {
				p.until("the drawing", `document.querySelector(".drawn .box")`)
			}
			file := filepath.Join("testdata", "screens", s.name+".txt")
			var got string
			stays := time.Now()
			// Charts and what is beside a list come a moment later: the tree is what it is once it stays.
			err := testbed.Until(p.ctx, waiting, "the golden tree", func(context.Context) (bool, error) {
				before := got
				got = p.tree(s.name == "overview")
				if *update {
					if got != before {
						stays = time.Now()
					}
					return time.Since(stays) > 3*time.Second, nil
				}
				want, err := os.ReadFile(file)
				return string(want) == got, err
			})
			if *update && err == nil {
				err = os.WriteFile(file, []byte(got), 0o644)
			}
			if err != nil {
				want, _ := os.ReadFile(file)
				t.Errorf("%v; with -update it is written anew\n%s", err, firstDifference(string(want), got))
			}
			p.checkAxe(t, s.name)
			if sheet == "" {
				return
			}
			for _, theme := range []string{"light", "dark"} {
				for _, width := range []int64{1440, 768, 390} {
					var shot []byte
					p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
						chromedp.EmulateViewport(width, 900), browserpage.BringToFront(), chromedp.CaptureScreenshot(&shot))
					img, err := png.Decode(bytes.NewReader(shot))
					if err != nil {
						t.Fatal(err)
					}
					shots = append(shots, smaller(img, 4))
				}
			}
		})
	}
	if sheet == "" || t.Failed() {
		return
	}
	if err := writeSheet(sheet, shots, 6); err != nil {
		t.Error(err)
	}
}

// firstDifference shows where two texts begin to differ.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			from := max(0, i-2)
			return fmt.Sprintf("line %d\nwant\n%s\ngot\n%s", i+1, strings.Join(w[min(from, len(w)):min(i+6, len(w))], "\n"), strings.Join(g[min(from, len(g)):min(i+6, len(g))], "\n"))
		}
	}
	return "they are equal"
}

// smaller shrinks a picture by a whole number, to the mean of what becomes one point.
func smaller(img image.Image, by int) image.Image {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()/by, b.Dy()/by))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var sum [3]uint32
			for dy := range by {
				for dx := range by {
					r, g, bl, _ := img.At(b.Min.X+x*by+dx, b.Min.Y+y*by+dy).RGBA()
					sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+bl>>8
				}
			}
			n := uint32(by * by)
			out.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return out
}

// writeSheet puts pictures into one file, so many in a row; those of a column are of one width.
func writeSheet(file string, shots []image.Image, columns int) error {
	const gap = 8
	widths := make([]int, columns)
	height := 0
	for i, s := range shots {
		widths[i%columns] = max(widths[i%columns], s.Bounds().Dx())
		height = max(height, s.Bounds().Dy())
	}
	total := gap
	for _, w := range widths {
		total += w + gap
	}
	rows := (len(shots) + columns - 1) / columns
	out := image.NewRGBA(image.Rect(0, 0, total, rows*(height+gap)+gap))
	draw.Draw(out, out.Rect, image.NewUniform(color.RGBA{128, 128, 128, 255}), image.Point{}, draw.Src)
	x, y := gap, gap
	for i, s := range shots {
		draw.Draw(out, image.Rect(x, y, x+s.Bounds().Dx(), y+s.Bounds().Dy()), s, image.Point{}, draw.Src)
		x += widths[i%columns] + gap
		if i%columns == columns-1 {
			x, y = gap, y+height+gap
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := png.Encode(f, out); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
