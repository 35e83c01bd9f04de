package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxFile bounds a file read by a command; the server's own bounds are lower.
const maxFile = 256 << 20

// readFile reads a file, or stdin for "-".
func (c *cli) readFile(path string) ([]byte, error) {
	from, name := c.stdin(), "stdin"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fileError(err)
		}
		defer f.Close()
		from, name = &interruptible{c.ctx, f}, path
	}
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, fileError(fmt.Errorf("read %s: %w", name, err))
	}
	if len(data) > maxFile {
		return nil, &usageError{message: fmt.Sprintf("%s is larger than %d MiB", name, maxFile>>20)}
	}
	return data, nil
}

// fileError makes a mistake in naming a file a mistake in usage.
func fileError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) && (errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EISDIR)) {
		return &usageError{message: path.Path + ": " + path.Err.Error()}
	}
	return err
}

// readValue reads the value of a flag: text, @FILE, or - for stdin. name is what errors speak of.
func (c *cli) readValue(flag, value string) (data []byte, name string, err error) {
	path, isFile := strings.CutPrefix(value, "@")
	switch {
	case value == "-":
		path, name = "-", "stdin"
	case isFile:
		name = path
	default:
		return []byte(value), flag, nil
	}
	data, err = c.readFile(path)
	return data, name, err
}

// objectFlag reads the value of a flag: JSON text, @file, or - for stdin. It must be an object.
func (c *cli) objectFlag(flag, value string) (json.RawMessage, error) {
	data, name, err := c.readValue(flag, value)
	if err != nil {
		return nil, err
	}
	if err := checkObject(data); err != nil {
		return nil, &usageError{
			message: fmt.Sprintf("%s: %s", name, err),
			hint:    fmt.Sprintf(`give a JSON object such as %s '{"text":"hello"}', a file as %s @FILE, or - for stdin`, flag, flag),
		}
	}
	return data, nil
}

// checkObject returns what keeps data from being one JSON object.
func checkObject(data []byte) error {
	var syntax *json.SyntaxError
	var value json.RawMessage // numbers stay as they are written, however large
	err := json.Unmarshal(data, &value)
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("there is no JSON")
	case errors.As(err, &syntax):
		line, column := position(data, int(syntax.Offset))
		return fmt.Errorf("not JSON: line %d, column %d: %w", line, column, syntax)
	case err != nil:
		return fmt.Errorf("not JSON: %w", err)
	}
	if value[0] != '{' {
		return fmt.Errorf("must be a JSON object, not %s", kindOf(value))
	}
	return nil
}

// position turns the offset of a syntax error (just after the bad byte) into a line and a column from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset-1, 0), len(data))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// kindOf returns what a JSON value is, by its first byte.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return "a number"
}

// keyValues reads the key=value pairs of a flag; nil if there are none.
func keyValues[V any](cmd *cobra.Command, flag string, pairs []string) (map[string]V, error) {
	var values map[string]V
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef(cmd, "--%s wants key=value, not %q", flag, pair)
		}
		if values == nil {
			values = make(map[string]V, len(pairs))
		}
		values[key], _ = any(text).(V) // V holds texts
	}
	return values, nil
}

// metadataFlag reads --metadata. Values are texts, but for consent, which is true or false: a server that
// requires it takes no text.
func metadataFlag(cmd *cobra.Command, pairs []string) (map[string]any, error) {
	values, err := keyValues[any](cmd, "metadata", pairs)
	switch values[core.ConsentKey] {
	case "true":
		values[core.ConsentKey] = true
	case "false":
		values[core.ConsentKey] = false
	}
	return values, err
}

// addMetadata adds --metadata to what is there.
func addMetadata(cmd *cobra.Command, metadata *wire.Metadata, pairs []string) error {
	values, err := metadataFlag(cmd, pairs)
	if *metadata == nil {
		*metadata = values
		return err
	}
	maps.Copy(*metadata, values)
	return err
}

// confirm shows a question, and returns nil where the answer is yes, and otherwise that nothing was done, and how not to be asked.
func (c *cli) confirm(question *screen, nothing, hint string) error {
	if _, err := question.WriteTo(c.deps.Stderr); err != nil {
		return err
	}
	line, err := c.stdinLine()
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &outcomeError{code: exitFailed, message: nothing, hint: hint}
}
