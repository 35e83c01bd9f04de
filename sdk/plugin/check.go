package plugin

import (
	"context"
	"encoding/json"
)

// Check returns what is wrong with a configuration, by the schema first and then by Validate, as a host would be
// told. It is for a program that is started by hand and has its configuration from elsewhere. An error means that
// the definition itself is wrong.
func (d *Definition) Check(ctx context.Context, config json.RawMessage) ([]Problem, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	schema, err := compile(d.Schema)
	if err != nil {
		return nil, err
	}
	s := server{def: d, schema: schema}
	return s.problems(ctx, config), nil
}
