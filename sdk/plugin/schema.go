package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schema is the compiled schema of a configuration; a nil one is that of a plugin without settings.
type schema struct{ compiled *jsonschema.Schema }

const schemaURL = "config.schema.json"

// compile compiles a schema, which must be complete in itself: nothing is loaded from elsewhere.
func compile(raw []byte) (*schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return &schema{compiled}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside of the schema", url)
}

// normal returns the configuration as an object: none is an empty one.
func normal(config []byte) json.RawMessage {
	if len(bytes.TrimSpace(config)) == 0 {
		return json.RawMessage("{}")
	}
	return config
}

// check returns what is wrong with a configuration.
func (s *schema) check(config []byte) []Problem {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(normal(config)))
	if err != nil {
		return []Problem{{Severity: SeverityError, Text: "is not JSON"}}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return []Problem{{Severity: SeverityError, Text: "must be an object"}}
	}
	if s == nil {
		if len(object) == 0 {
			return nil
		}
		names := slices.Sorted(maps.Keys(object))
		return []Problem{{Path: pointer(names[:1]), Severity: SeverityError, Text: "this plugin has no settings"}}
	}
	err = s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []Problem{{Severity: SeverityError, Text: "cannot be checked against the schema"}}
	}
	var out []Problem
	collect(invalid, &out)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

// collect takes the leaves: what is above them only says that something below is wrong.
func collect(e *jsonschema.ValidationError, out *[]Problem) {
	if len(e.Causes) == 0 {
		*out = append(*out, Problem{Path: pointer(e.InstanceLocation), Severity: SeverityError, Text: wrong(e.ErrorKind)})
		return
	}
	for _, cause := range e.Causes {
		collect(cause, out)
	}
}

var english = message.NewPrinter(language.English)

// wrong says what a configuration should be. It never says what it is, since any value may be a secret.
func wrong(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Pattern:
		return fmt.Sprintf("must match %s", k.Want)
	case *kind.Format:
		return fmt.Sprintf("must be a valid %s", k.Want)
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want)
	case *kind.ContentEncoding, *kind.ContentMediaType, *kind.ContentSchema:
		return "is not encoded as the schema wants it"
	case *kind.Minimum:
		return fmt.Sprintf("must be at least %s", k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("must be at most %s", k.Want.RatString())
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("must be more than %s", k.Want.RatString())
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("must be less than %s", k.Want.RatString())
	case *kind.MultipleOf:
		return fmt.Sprintf("must be a multiple of %s", k.Want.RatString())
	case *kind.AdditionalProperties:
		return "unknown setting " + strings.Join(slices.Sorted(slices.Values(k.Properties)), ", ")
	case *kind.Required:
		return "lacks " + strings.Join(k.Missing, ", ")
	}
	return k.LocalizedString(english)
}

// pointer makes a JSON pointer.
func pointer(parts []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(escape.Replace(p))
	}
	return b.String()
}
