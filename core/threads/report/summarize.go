package report

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"github.com/wardroom/wardroom/core/internal/clip"
)

// MaxExtract is how many characters Summarize returns at most.
const MaxExtract = 600

// Summarize takes a summary from what an agent said, the newest message last: the first paragraph of the newest
// message that says something, without code and markup. It returns "" when no message does.
func Summarize(texts []string) string {
	fallback := ""
	for i := len(texts) - 1; i >= 0; i-- {
		for _, p := range paragraphs(texts[i]) {
			if meaningful(p) {
				return cut(p, MaxExtract)
			}
			fallback = cmp.Or(fallback, p)
		}
	}
	return cut(strings.TrimRight(fallback, ":"), MaxExtract)
}

// meaningful reports whether a paragraph says more than "Done." or "Here it is:".
func meaningful(p string) bool {
	letters := 0
	for _, r := range p {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 10 && (len(strings.Fields(p)) >= 3 || letters*2 < len(p)) && !strings.HasSuffix(p, ":")
}

var (
	listItem  = regexp.MustCompile(`^(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?`)
	heading   = regexp.MustCompile(`^#{1,6}\s`)
	ruler     = regexp.MustCompile(`^(?:[-*_=]\s*){3,}$`)
	image     = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	link      = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	htmlTag   = regexp.MustCompile(`</?[a-zA-Z][^<>]*>|<!--`)
	strong    = regexp.MustCompile(`(?:\*{2,3}|_{2,3}|~~)(\S(?:[^*~]*?\S)?)(?:\*{2,3}|_{2,3}|~~)`)
	emphasis  = regexp.MustCompile(`(^|[\s(])\*([^*\s][^*]*)\*`)
	codeSpans = regexp.MustCompile("`{1,2}([^`\n]+)`{1,2}")
)

// paragraphs returns the paragraphs of a message, each on one line. A list behind a line that announces it is one with
// that line.
func paragraphs(text string) []string {
	text = clean(strings.ReplaceAll(text, "\r\n", "\n"))
	var out []string
	var lines []string
	listing := false // the open paragraph is one that a list goes on with
	flush := func() {
		if p := unmark(strings.Join(lines, " ")); p != "" {
			out = append(out, p)
		}
		lines, listing = nil, false
	}
	var open fence
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		if inside {
			inside = !open.closes(line)
			continue
		}
		if f, ok := openFence(line); ok {
			open, inside = f, true
			flush()
			continue
		}
		code := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		item := listItem.FindString(line)
		announced := len(lines) > 0 && strings.HasSuffix(lines[len(lines)-1], ":")
		switch {
		case line == "":
			if !announced && !listing {
				flush()
			}
		case heading.MatchString(line), ruler.MatchString(line), strings.HasPrefix(line, "|"), strings.HasPrefix(line, ">"),
			strings.HasPrefix(line, "{"), code && item == "" && len(lines) == 0:
			flush()
		case item != "":
			body := strings.TrimSpace(line[len(item):])
			if !announced && !listing {
				flush()
			} else if listing {
				lines[len(lines)-1] = strings.TrimRight(lines[len(lines)-1], ".;,") + ";"
			}
			lines, listing = append(lines, body), announced || listing
			if !listing {
				flush()
			}
		default:
			if listing && !code {
				flush()
			}
			lines = append(lines, line)
		}
	}
	flush()
	return out
}

// maxParagraph bounds what is looked at of a paragraph, in bytes: its end is cut off anyway.
const maxParagraph = 16 * MaxExtract

// unmark removes the markup of a line.
func unmark(s string) string {
	s = clip.Text(s, maxParagraph)
	s = image.ReplaceAllString(s, "")
	s = link.ReplaceAllString(s, "$1")
	s = htmlTag.ReplaceAllString(s, "")
	s = strong.ReplaceAllString(s, "$1")
	s = emphasis.ReplaceAllString(s, "$1$2")
	s = codeSpans.ReplaceAllString(s, "$1")
	return strings.Join(strings.Fields(s), " ")
}
