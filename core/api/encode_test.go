package api_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/sdk/wire"
)

type inner struct {
	At   time.Time `json:"at"`
	Zero time.Time `json:"zero,omitzero"`
}

type encoded struct {
	Name     string          `json:"name"`
	Hidden   string          `json:"-"`
	Flag     bool            `json:"flag,omitempty"`
	Number   float64         `json:"number"`
	Large    uint64          `json:"large"`
	Until    *time.Time      `json:"until,omitempty"`
	Ended    *time.Time      `json:"ended"`
	List     []string        `json:"list"`
	Left     []string        `json:"left,omitempty"`
	Map      map[string]any  `json:"map"`
	Raw      json.RawMessage `json:"raw"`
	Pointers []*inner        `json:"pointers"`
	Any      any             `json:"any"`

	inner
}

func TestEncode(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 120_999_000, time.FixedZone("", 3600))
	for _, tt := range []struct {
		name string
		body any
		want string
	}{
		{
			"Empty", encoded{inner: inner{At: at}},
			`{"name":"","number":0,"large":0,"ended":null,"list":[],"map":{},"raw":null,"pointers":[],"any":null,"at":"2026-01-02T02:04:05.120Z"}`,
		},
		{
			"Full", &encoded{
				Name: "<a&\"b\"", Hidden: "no", Flag: true, Number: 1.5, Large: math.MaxUint64, Until: &at, Ended: &at,
				List: []string{"x", ">"}, Left: []string{"y"}, Map: map[string]any{"k": "<"}, Raw: json.RawMessage(` {"z": "\u003c"} `),
				Pointers: []*inner{{At: at, Zero: at}, nil}, Any: []any{1, "&"},
			},
			`{"name":"<a&\"b\"","flag":true,"number":1.5,"large":18446744073709551615,"until":"2026-01-02T02:04:05.120Z",` +
				`"ended":"2026-01-02T02:04:05.120Z","list":["x",">"],"left":["y"],"map":{"k":"<"},"raw":{"z":"<"},` +
				`"pointers":[{"at":"2026-01-02T02:04:05.120Z","zero":"2026-01-02T02:04:05.120Z"},null],"any":[1,"&"],"at":"0001-01-01T00:00:00.000Z"}`,
		},
		{"Marshaler", struct {
			T *wire.TurnResponse `json:"t"`
		}{&wire.TurnResponse{Turn: 1}}, `{"t":{"text":"","turn":1,"durationMs":0}}`},
		{"Map", map[string]any{"b": 1, "a": nil}, `{"a":null,"b":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := api.Encode(tt.body); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
