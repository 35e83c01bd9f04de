package wire

import (
	"encoding/json"
	"strconv"
)

// Metadata is an object of free keys, which is kept for whoever gave it. Its numbers are json.Number, digit for digit as
// they were written: ids of 64 bits do not fit a float64.
type Metadata map[string]any

// UnmarshalJSON implements json.Unmarshaler. A *NumberRangeError is returned for a number that no reader could take.
func (m *Metadata) UnmarshalJSON(data []byte) error {
	free, err := exactly(data)
	if err != nil {
		return err
	}
	if err := checkNumbers(free); err != nil {
		return err
	}
	*m = free
	return nil
}

// NumberRangeError says that a number is beyond what a float64 holds.
type NumberRangeError struct{ Number string }

// Error implements error.
func (e *NumberRangeError) Error() string {
	const shown = 40
	text := e.Number
	if len(text) > shown {
		text = text[:shown] + "..."
	}
	return "must not have the number " + text + ", which is beyond the range of numbers"
}

// checkNumbers looks for a number out of range in a decoded value.
func checkNumbers(value any) error {
	switch v := value.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(string(v), 64); err != nil {
			return &NumberRangeError{string(v)}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}
