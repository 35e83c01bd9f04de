package chartdraw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

const margin = 24.0

// maxDescription is how many characters of the drawing in words its description has.
const maxDescription = 4000

// fixedStyle is what is the same in light and dark.
const fixedStyle = `
.wr{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;font-size:12px}
.wr text{white-space:pre}
.wr .h1{font-size:18px;font-weight:600}
.wr .h2{font-size:14px;font-weight:600}
.wr .first{font-weight:600}
.wr .way{fill:none;stroke-width:1.3}
.wr .managed>.box{stroke-dasharray:4 3}
`

// palette is one set of colours. They are written into each rule: many viewers of SVG know no CSS variables.
type palette struct {
	paper, ink, soft, way, box, group, edge string
	agent, judge, fold, fork                string // of the mark at the left edge, by what the step does
}

var (
	light = palette{
		paper: "#ffffff", ink: "#1f2328", soft: "#59636e", way: "#7d8590", box: "#f6f8fa", group: "#eaeef2", edge: "#c8d1da",
		agent: "#0969da", judge: "#8250df", fold: "#1a7f37", fork: "#bc4c00",
	}
	dark = palette{
		paper: "#0d1117", ink: "#f0f6fc", soft: "#a3abb4", way: "#7d8590", box: "#151b23", group: "#212830", edge: "#3d444d",
		agent: "#4493f8", judge: "#ab7df8", fold: "#3fb950", fork: "#db6d28",
	}
)

func (c palette) rules() string {
	return strings.NewReplacer("@paper", c.paper, "@ink", c.ink, "@soft", c.soft, "@way", c.way, "@box", c.box, "@group", c.group,
		"@edge", c.edge, "@agent", c.agent, "@judge", c.judge, "@fold", c.fold, "@fork", c.fork).Replace(
		`.wr .bg{fill:@paper}
.wr text{fill:@ink}
.wr text.soft{fill:@soft}
.wr .way{stroke:@way}
.wr .tip,.wr .mark{fill:@way}
.wr .box{fill:@box;stroke:@edge}
.wr .composite>.box{fill:@group}
.wr .managed>.box{stroke:@agent}
.wr .role>.mark,.wr .k-assign>.mark,.wr .k-agents>.mark{fill:@agent}
.wr .k-review>.mark,.wr .k-approve>.mark{fill:@judge}
.wr .k-aggregate>.mark,.wr .k-pattern>.mark{fill:@fold}
.wr .k-condition>.mark{fill:@fork}
`)
}

// SVG draws one self-contained document: no script, no font and no link leads out of it.
func (d *Drawing) SVG() []byte {
	p := &picture{y: margin}
	p.heading(d)
	if len(d.Roles) > 0 {
		p.section("Roles")
		p.roles(d.Roles)
		p.messages(d)
	}
	p.section("Workflow")
	p.workflow(d.Steps)

	width, height := p.width+2*margin, p.y+margin
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="wr" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`role="img" aria-labelledby="wr-title wr-desc">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title id=\"wr-title\">%s</title>\n", escape(d.Name+" "+d.Version))
	words := d.Text(TextOptions{ASCII: true})
	if runes := []rune(words); len(runes) > maxDescription {
		words = string(runes[:maxDescription]) + "..."
	}
	fmt.Fprintf(&out, "<desc id=\"wr-desc\">%s</desc>\n", escape(words))
	fmt.Fprintf(&out, "<style>%s%s@media (prefers-color-scheme:dark){\n%s}</style>\n", fixedStyle, light.rules(), dark.rules())
	out.WriteString(`<defs><marker id="wr-arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">` +
		`<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>` + "\n")
	fmt.Fprintf(&out, "<rect class=\"bg\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height)
	out.Write(p.out.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// picture gathers the elements from above to below.
type picture struct {
	out   bytes.Buffer
	y     float64 // where the next section begins
	width float64 // of the widest section
}

func (p *picture) text(class string, x, y float64, text string) {
	fmt.Fprintf(&p.out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, x, y, escape(text))
}

// prose writes a line of text that makes room for itself.
func (p *picture) prose(class string, text string) {
	p.y += lineHeight
	p.text(class, margin, p.y-4, text)
	p.width = max(p.width, float64(uniseg.StringWidth(text))*cellWidth)
}

func (p *picture) heading(d *Drawing) {
	title := cut(d.Name+" "+d.Version, 80, "…")
	p.text("h1", margin, p.y+14, title)
	p.y += 28
	p.width = max(p.width, float64(uniseg.StringWidth(title))*cellWidth*1.5)
	for _, part := range wrap(d.Description, maxText) {
		p.prose("soft", cut(part, maxText, "…"))
	}
}

func (p *picture) section(name string) {
	p.y += 22
	p.text("h2", margin, p.y+10, name)
	p.y += 26
}

func (p *picture) messages(d *Drawing) {
	p.y += 10
	for _, r := range d.Rules {
		p.prose("soft", cut(r.From+" → "+r.To+" · "+about(r), maxText, "…"))
	}
	if d.Escalation != nil {
		p.prose("soft", cut(sentence(d.Escalation), maxText, "…"))
	}
}

func (p *picture) roles(tops []*Role) {
	x, tallest := margin, 0.0
	for _, top := range tops {
		b, w, h := layoutRole(top)
		shift(b, x, p.y)
		p.role(b)
		x += w + siblingGap
		tallest = max(tallest, h)
	}
	p.width = max(p.width, x-siblingGap-margin)
	p.y += tallest
}

// role draws a role, and the ways of those below to it.
func (p *picture) role(b *box) {
	for _, kid := range b.kids {
		if b.stacked {
			p.way("M%.1f %.1fH%.1fV%.1f", kid.x, kid.y+kid.h/2, b.x+indent/2, b.y+b.h)
		} else {
			p.way("M%.1f %.1fV%.1fH%.1fV%.1f", kid.x+kid.w/2, kid.y, kid.y-levelGap/2, b.x+b.w/2, b.y+b.h)
		}
		p.role(kid)
	}
	p.begin(b)
	p.end()
}

func (p *picture) workflow(steps []*Step) {
	boxes := make([]*box, 0, len(steps))
	for _, step := range steps {
		boxes = append(boxes, layoutStep(step))
	}
	w, h := arrange(boxes, true)
	for i, b := range boxes {
		place(b, margin, p.y)
		if i > 0 {
			p.below(boxes[i-1], b)
		}
		p.step(b)
	}
	p.width = max(p.width, w)
	p.y += h
}

// step draws a step and what is in it.
func (p *picture) step(b *box) {
	p.begin(b)
	for i, kid := range b.kids {
		switch {
		case b.stacked && i > 0:
			p.below(b.kids[i-1], kid)
		case kid.y < b.y+b.head+headGap+1:
			p.way("M%.1f %.1fV%.1f", kid.x+kid.w/2, b.y+b.head+2, kid.y-1)
		}
		if kid.label != "" {
			p.text("soft", kid.x+kid.w/2+6, kid.y-9, kid.label)
		}
		p.step(kid)
	}
	p.end()
}

func (p *picture) below(before, after *box) {
	p.way("M%.1f %.1fV%.1f", before.x+before.w/2, before.y+before.h, after.y-1)
}

// begin opens the group of a box with its rectangle and its text; end closes it.
func (p *picture) begin(b *box) {
	fmt.Fprintf(&p.out, "<g class=\"%s\"><title>%s</title>", b.class, escape(b.tip))
	fmt.Fprintf(&p.out, `<rect class="box" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/>`, b.x, b.y, b.w, b.h)
	fmt.Fprintf(&p.out, "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"3\" height=\"%.1f\" rx=\"1.5\"/>\n", b.x, b.y+5, b.head-10)
	for i, text := range b.lines {
		class := "soft"
		if i == 0 {
			class = "first"
		}
		p.text(class, b.x+padding, b.y+padding+float64(i)*lineHeight+10, text)
	}
}

func (p *picture) end() { p.out.WriteString("</g>\n") }

func (p *picture) way(path string, at ...any) {
	p.out.WriteString(`<path class="way" marker-end="url(#wr-arrow)" d="`)
	fmt.Fprintf(&p.out, path, at...)
	p.out.WriteString("\"/>\n")
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
