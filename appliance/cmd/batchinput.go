package cmd

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// Formats of a batch file.
const (
	formatJSON  = "json"  // one array of objects
	formatJSONL = "jsonl" // one object a line
	formatCSV   = "csv"   // a head of names, one object a row
)

// batchInputs reads the inputs of a batch file. format is empty to go by the file's name and, for names
// that say nothing, by its first character.
func batchInputs(name, format string, data []byte) ([]json.RawMessage, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if format == "" {
		format = guessFormat(name, data)
	}
	var inputs []json.RawMessage
	var err error
	switch format {
	case formatJSON:
		inputs, err = arrayInputs(data)
	case formatJSONL:
		inputs, err = lineInputs(data)
	case formatCSV:
		inputs, err = csvInputs(data)
	default:
		return nil, &usageError{
			message: fmt.Sprintf("cannot tell the format of %s", name),
			hint:    "say it with --format json, jsonl or csv",
		}
	}
	if err == nil && len(inputs) == 0 {
		err = errors.New("there are no items")
	}
	if err != nil {
		return nil, &usageError{message: fmt.Sprintf("%s: %s", name, err)}
	}
	return inputs, nil
}

func guessFormat(name string, data []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jsonl", ".ndjson":
		return formatJSONL
	case ".csv":
		return formatCSV
	}
	// A .json file may hold lines as well, so its name settles nothing.
	if text := bytes.TrimSpace(data); len(text) > 0 {
		switch text[0] {
		case '[':
			return formatJSON
		case '{':
			return formatJSONL
		}
	}
	return ""
}

func arrayInputs(data []byte) ([]json.RawMessage, error) {
	var inputs []json.RawMessage
	if err := json.Unmarshal(data, &inputs); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column := position(data, int(syntax.Offset))
			return nil, fmt.Errorf("not JSON: line %d, column %d: %w", line, column, err)
		}
		return nil, errors.New("must be a JSON array of objects")
	}
	for i, input := range inputs {
		if err := checkObject(input); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return inputs, nil
}

func lineInputs(data []byte) ([]json.RawMessage, error) {
	var inputs []json.RawMessage
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		value, err := decodeValue(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: not JSON: %w", number, err)
		}
		if _, ok := value.(map[string]any); !ok {
			return nil, fmt.Errorf("line %d: must be a JSON object, not %s", number, kindOf(value))
		}
		inputs = append(inputs, json.RawMessage(line))
	}
	return inputs, nil
}

// csvColumn is one column of a CSV file: `name` holds text, `name:type` what the type says.
type csvColumn struct{ name, kind string }

// csvInputs makes an object of each row. A cell is text, unless the head says `name:number`, `name:boolean`
// or `name:json`; an empty cell of such a column leaves the field out.
func csvInputs(data []byte) ([]json.RawMessage, error) {
	reader := csv.NewReader(bytes.NewReader(data))
	head, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	columns, err := csvHead(head)
	if err != nil {
		return nil, err
	}
	var inputs []json.RawMessage
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return inputs, nil
		}
		if err != nil {
			return nil, err // it names the line
		}
		line, _ := reader.FieldPos(0)
		object := make(map[string]any, len(columns))
		for i, c := range columns {
			value, err := c.value(row[i])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", line, c.name, err)
			}
			if value != nil {
				object[c.name] = value
			}
		}
		input, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		inputs = append(inputs, input)
	}
}

func csvHead(head []string) ([]csvColumn, error) {
	columns := make([]csvColumn, len(head))
	seen := map[string]bool{}
	for i, text := range head {
		c := csvColumn{name: strings.TrimSpace(text), kind: "string"}
		if at := strings.LastIndexByte(c.name, ':'); at >= 0 {
			c.name, c.kind = c.name[:at], c.name[at+1:]
		}
		switch c.kind {
		case "string", "number", "boolean", "json":
		default:
			return nil, fmt.Errorf("column %d: the type after the colon must be string, number, boolean or json, not %q",
				i+1, c.kind)
		}
		if c.name == "" {
			return nil, fmt.Errorf("column %d has no name", i+1)
		}
		if seen[c.name] {
			return nil, fmt.Errorf("column %q is given twice", c.name)
		}
		seen[c.name] = true
		columns[i] = c
	}
	return columns, nil
}

// value reads a cell; nil leaves the field out.
func (c csvColumn) value(text string) (any, error) {
	if c.kind == "string" {
		return text, nil
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	switch c.kind {
	case "boolean":
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not true or false", text)
		}
		return value, nil
	case "number":
		var number json.Number
		if err := json.Unmarshal([]byte(text), &number); err != nil || number == "" || text[0] == '"' {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return number, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not JSON", shorten(text, 40))
	}
	return json.RawMessage(text), nil
}
