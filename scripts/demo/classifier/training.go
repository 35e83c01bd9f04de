package classifier

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

//go:embed training.jsonl
var training []byte

// Example is a message with the category that a person gave it.
type Example struct {
	ID   string   `json:"id"`
	Text string   `json:"text"`
	Gold Category `json:"gold"`
}

// Training returns the bundled training set. It shares no message with the demo's corpus.
func Training() ([]Example, error) { return ParseExamples(training) }

// ParseExamples reads examples, one JSON object a line. The error names the line.
func ParseExamples(data []byte) ([]Example, error) {
	var examples []Example
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var e Example
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if e.Text == "" || !slices.Contains(Categories, e.Gold) {
			return nil, fmt.Errorf("line %d: needs a text, and gold must be one of %v", n, Categories)
		}
		examples = append(examples, e)
	}
	return examples, lines.Err()
}
