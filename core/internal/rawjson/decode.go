package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode is json.Unmarshal but for numbers in values of type any: they are json.Number, with the digits that they were written with,
// also where no float64 holds them.
func Decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the JSON value")
	}
	return nil
}
