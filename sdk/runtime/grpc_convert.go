package runtime

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// text makes a string fit for a message: one byte that is not UTF-8 would cost the whole of it.
func text(s string) string { return pluginv1.Text(s) }

func texts(in []string) []string {
	out := in
	for i, s := range in {
		clean := text(s)
		if clean == s {
			continue
		}
		if &out[0] == &in[0] {
			out = append([]string(nil), in...)
		}
		out[i] = clean
	}
	return out
}

func textMap(in map[string]string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[text(k)] = text(v)
	}
	return out
}

func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// number fits an int into the wire's; negative ones are not on it.
func number(n int) uint32 {
	switch {
	case n < 0:
		return 0
	case n > math.MaxInt32:
		return math.MaxInt32
	}
	return uint32(n)
}

// finite returns a measurement, or 0 for one that is no number: JSON has none of these.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func exitToProto(e *Exit) *pluginv1.Exit {
	if e == nil {
		return nil
	}
	return &pluginv1.Exit{Code: int32(e.Code), Reason: text(e.Reason)}
}

func exitFromProto(e *pluginv1.Exit) *Exit {
	if e == nil {
		return nil
	}
	return &Exit{Code: int(e.Code), Reason: e.Reason}
}

func handleToProto(h Handle) *pluginv1.Handle {
	if h.IsZero() {
		return nil
	}
	return &pluginv1.Handle{Id: text(h.ID), Data: h.Data}
}

func handleFromProto(h *pluginv1.Handle) Handle {
	return Handle{ID: h.GetId(), Data: h.GetData()}
}

func promptToProto(p *Prompt) *pluginv1.Prompt {
	if p == nil {
		return nil
	}
	out := &pluginv1.Prompt{
		Id: text(p.ID), Kind: text(p.Kind), Text: text(p.Text), Tool: text(p.Tool), Url: text(p.URL),
	}
	out.Input, out.InputJson = inputToProto(p.Input)
	for _, o := range p.Options {
		out.Options = append(out.Options, &pluginv1.Option{Id: text(o.ID), Label: text(o.Label)})
	}
	return out
}

func promptFromProto(p *pluginv1.Prompt) *Prompt {
	if p == nil {
		return nil
	}
	out := &Prompt{ID: p.Id, Kind: p.Kind, Text: p.Text, Tool: p.Tool, Input: inputFromProto(p.Input, p.InputJson), URL: p.Url}
	for _, o := range p.Options {
		out.Options = append(out.Options, Option{ID: o.GetId(), Label: o.GetLabel()})
	}
	return out
}

func commandsToProto(missing []string) *pluginv1.Commands {
	if missing == nil {
		return nil
	}
	return &pluginv1.Commands{MissingTypes: texts(missing)}
}

func commandsFromProto(c *pluginv1.Commands) []string {
	if c == nil {
		return nil
	}
	return append([]string{}, c.MissingTypes...)
}

func isolationToProto(i *Isolation) *pluginv1.Isolation {
	if i == nil {
		return nil
	}
	return &pluginv1.Isolation{NoNewPrivs: i.NoNewPrivs, Landlock: number(i.Landlock), User: text(i.User), Reason: text(i.Reason)}
}

func isolationFromProto(i *pluginv1.Isolation) *Isolation {
	if i == nil {
		return nil
	}
	return &Isolation{NoNewPrivs: i.NoNewPrivs, Landlock: int(i.Landlock), User: i.User, Reason: i.Reason}
}
