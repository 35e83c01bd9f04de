package team

import (
	"regexp"
	"slices"
	"strings"
)

// brief holds what the rules can read of a task.
type brief struct {
	task     string    // what the customer wants
	measures []measure // that it speaks of
	wanted   []string  // functions to be written, in order
	draft    bool      // a first version: comments come later
	remarks  string    // of an earlier review, or ""
}

// planned finds the functions that a plan names, each with the part that it stands in.
var (
	planned    = regexp.MustCompile(`(?m)^- func (\w+)\(`)
	partHeader = regexp.MustCompile(`(?m)^Part ([AB]):`)
	wantedPart = regexp.MustCompile(`Build Part ([AB]) of the plan`)
	remarks    = regexp.MustCompile(`(?s)with these remarks:\n\n(.*?)\n\nRefine the work`)
)

// readBrief reads the text of an assignment. ErrUnknownWork when it speaks of nothing that the rules know.
func readBrief(text string) (brief, error) {
	b := brief{task: customer(text), draft: strings.Contains(text, "Implement it.")}
	if b.measures = spokenOf(b.task); len(b.measures) == 0 {
		return brief{}, ErrUnknownWork
	}
	if m := remarks.FindStringSubmatch(text); m != nil {
		b.remarks = m[1]
	}
	parts := partsOf(text)
	switch part := wantedPart.FindStringSubmatch(text); {
	case part != nil:
		b.wanted = parts[part[1]]
	case parts != nil:
		b.wanted = slices.Concat(parts["A"], parts["B"])
	}
	if len(b.wanted) == 0 {
		b.wanted = functions(b.measures)
	}
	return b, nil
}

// customer finds what the customer wants: the paragraph after the first one that ends with a colon. Without one it
// is the whole text.
func customer(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs[:len(paragraphs)-1] {
		if strings.HasSuffix(strings.TrimSpace(p), ":") {
			return strings.TrimSpace(paragraphs[i+1])
		}
	}
	return strings.TrimSpace(text)
}

// partsOf finds the functions of both parts of the first plan in a text, or nil without a plan.
func partsOf(text string) map[string][]string {
	headers := partHeader.FindAllStringSubmatchIndex(text, 2)
	if len(headers) < 2 {
		return nil
	}
	parts := make(map[string][]string)
	for i, h := range headers {
		end := len(text)
		if i == 0 {
			end = headers[1][0]
		} else if stop := strings.Index(text[h[0]:], "\n\n"); stop >= 0 {
			end = h[0] + stop
		}
		for _, m := range planned.FindAllStringSubmatch(text[h[0]:end], -1) {
			parts[text[h[2]:h[3]]] = append(parts[text[h[2]:h[3]]], m[1])
		}
	}
	return parts
}
