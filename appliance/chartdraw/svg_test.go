package chartdraw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/chartdraw"
)

// elements reads an SVG to its end and counts its elements; it fails the test when it is not well-formed.
func elements(t testing.TB, svg []byte) (count map[string]int, text string) {
	t.Helper()
	count = map[string]int{}
	var words strings.Builder
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return count, words.String()
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			count[token.Name.Local]++
			for _, attr := range token.Attr {
				if strings.Contains(attr.Value, "NaN") || strings.Contains(attr.Value, "Inf") {
					t.Errorf("%s has %s=%q", token.Name.Local, attr.Name.Local, attr.Value)
				}
			}
		case xml.CharData:
			words.Write(token)
			words.WriteByte('\n')
		}
	}
}

func TestSVG(t *testing.T) {
	for name, file := range definitions {
		t.Run(name, func(t *testing.T) {
			svg := draw(t, read(t, file)).SVG()
			elements(t, svg)
			golden(t, name+".svg", string(svg))
		})
	}
}

func TestSVGIsSelfContained(t *testing.T) {
	svg := draw(t, read(t, "testdata/nested.yaml")).SVG()
	count, text := elements(t, svg)
	if count["svg"] != 1 || count["desc"] != 1 || count["script"]+count["image"]+count["a"]+count["use"] != 0 {
		t.Errorf("elements: %v", count)
	}
	if n := bytes.Count(svg, []byte("http")); n != 1 {
		t.Errorf("%d addresses, want that of the namespace only", n)
	}
	for _, want := range []string{"prefers-color-scheme:dark", "Chief & owner (chief)", "managed", "then", "else", "Build the service <core> of ${plan}"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there", want)
		}
	}
	// Each of 4 roles and 13 steps is a group, and says all of itself where it is pointed at; one more title is the drawing's.
	if count["g"] != 17 || count["title"] != 18 {
		t.Errorf("%d groups, %d titles", count["g"], count["title"])
	}
}

func TestSVGEscapes(t *testing.T) {
	d := &chartdraw.Drawing{
		Name: `<script>"&'`, Version: "]]>", Description: "a\x00b\ufffe",
		Roles: []*chartdraw.Role{{Key: "a<b", Name: "&amp;"}},
		Steps: []*chartdraw.Step{{Path: "0", Kind: "assign", Role: `"><x`, Text: "\x1b[31m"}},
	}
	count, text := elements(t, d.SVG())
	if count["script"]+count["x"] != 0 || !strings.Contains(text, `<script>"&'`) {
		t.Errorf("elements %v, text %s", count, text)
	}
}

// Boxes hold their text and do not lie on each other, whatever the names are.
func TestSVGLayout(t *testing.T) {
	wide := &chartdraw.Drawing{Name: "n", Version: "1", Steps: []*chartdraw.Step{{Path: "0", Kind: "parallel"}}}
	for i := 0; i < 200; i++ {
		name := strings.Repeat("W日", i%40)
		wide.Steps[0].Steps = append(wide.Steps[0].Steps, &chartdraw.Step{Path: fmt.Sprintf("0.%d", i), Kind: "assign", Role: name, Name: name})
	}
	top := &chartdraw.Role{Key: "top", Name: "Top"}
	wide.Roles = []*chartdraw.Role{top, {Key: "alone", Name: strings.Repeat("long ", 30)}}
	for i := 0; i < 3; i++ {
		manager := &chartdraw.Role{Key: fmt.Sprint("m", i), Managed: true}
		for j := 0; j < i*5; j++ {
			manager.Reports = append(manager.Reports, &chartdraw.Role{Key: strings.Repeat("r", 1+j*7), Capabilities: []string{"a", "b"}})
		}
		top.Reports = append(top.Reports, manager)
	}
	checkBoxes(t, wide.SVG())
	for name, file := range definitions {
		t.Run(name, func(t *testing.T) { checkBoxes(t, draw(t, read(t, file)).SVG()) })
	}
}

type rect struct{ x, y, w, h float64 }

func checkBoxes(t *testing.T, svg []byte) {
	t.Helper()
	var rects []rect
	page := rect{}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "rect" {
			continue
		}
		var r rect
		class := ""
		for _, attr := range start.Attr {
			switch attr.Name.Local {
			case "class":
				class = attr.Value
			case "x":
				fmt.Sscan(attr.Value, &r.x)
			case "y":
				fmt.Sscan(attr.Value, &r.y)
			case "width":
				fmt.Sscan(attr.Value, &r.w)
			case "height":
				fmt.Sscan(attr.Value, &r.h)
			}
		}
		switch class {
		case "bg":
			page = r
		case "box":
			rects = append(rects, r)
		}
	}
	if len(rects) == 0 {
		t.Fatal("no boxes")
	}
	const slack = 0.2 // of rounding
	inside := func(a, b rect) bool {
		return a.x >= b.x-slack && a.y >= b.y-slack && a.x+a.w <= b.x+b.w+slack && a.y+a.h <= b.y+b.h+slack
	}
	for i, a := range rects {
		if !inside(a, page) {
			t.Errorf("box %+v leaves the page %+v", a, page)
		}
		for _, b := range rects[i+1:] {
			apart := a.x+a.w <= b.x+slack || b.x+b.w <= a.x+slack || a.y+a.h <= b.y+slack || b.y+b.h <= a.y+slack
			if !apart && !inside(b, a) {
				t.Errorf("boxes %+v and %+v overlap", a, b)
			}
		}
	}
}

func TestSVGOfManySteps(t *testing.T) {
	d := &chartdraw.Drawing{Name: "n", Version: "1"}
	deep := &chartdraw.Step{Path: "0", Kind: "sequential"}
	d.Steps = append(d.Steps, deep)
	for i := 0; i < 200; i++ {
		next := &chartdraw.Step{Path: "x", Kind: "sequential"}
		deep.Steps = []*chartdraw.Step{next}
		deep = next
	}
	for i := 0; i < 10_000; i++ {
		d.Steps = append(d.Steps, &chartdraw.Step{Path: fmt.Sprint(i + 1), Kind: "assign", Role: "a"})
	}
	count, _ := elements(t, d.SVG())
	if count["g"] != 10_201 {
		t.Errorf("%d groups", count["g"])
	}
	if n := strings.Count(d.Text(chartdraw.TextOptions{}), "\n"); n < 10_201 {
		t.Errorf("%d lines", n)
	}
}
