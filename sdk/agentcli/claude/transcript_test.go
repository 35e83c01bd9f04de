package claude

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Lines of a transcript as claude 2.1.197 writes them, with what does not matter left out.
const (
	prompt1   = `{"parentUuid":null,"promptId":"P1","type":"user","message":{"role":"user","content":"one"},"uuid":"u1"}`
	attached1 = `{"parentUuid":"u1","attachment":{"type":"skill_listing"},"type":"attachment","uuid":"x1"}`
	words1    = `{"parentUuid":"x1","type":"assistant","uuid":"a1","message":{"id":"m1","model":"big","stop_reason":"tool_use","content":[{"type":"text","text":"I look first."}],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":5,"cache_creation_input_tokens":7}}}`
	tool1     = `{"parentUuid":"a1","type":"assistant","uuid":"a2","message":{"id":"m1","model":"big","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":10,"output_tokens":4,"cache_read_input_tokens":5,"cache_creation_input_tokens":7}}}`
	result1   = `{"parentUuid":"a2","promptId":"P1","type":"user","uuid":"r1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`
	answer1   = `{"parentUuid":"r1","type":"assistant","uuid":"a3","message":{"id":"m2","model":"big","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":2}}}`
	hooks1    = `{"parentUuid":"a3","type":"system","subtype":"stop_hook_summary","uuid":"s1"}`
	over1     = `{"parentUuid":"s1","type":"system","subtype":"turn_duration","uuid":"s2"}`
	prompt2   = `{"parentUuid":"s2","promptId":"P2","type":"user","message":{"role":"user","content":"two"},"uuid":"u2"}`
	failed2   = `{"parentUuid":"u2","type":"assistant","uuid":"a4","message":{"id":"e","model":"<synthetic>","stop_reason":"stop_sequence","content":[{"type":"text","text":"API Error: 529"}],"usage":{"input_tokens":0}},"error":"overloaded","isApiErrorMessage":true,"apiErrorStatus":529}`
	partial2  = `{"parentUuid":"u2","type":"assistant","uuid":"a5","message":{"id":"p","model":"<synthetic>","content":[{"type":"text","text":"half an"}]},"isApiErrorMessage":false}`
	stopped2  = `{"parentUuid":"a5","promptId":"P2","type":"user","uuid":"i","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
	answer2   = `{"parentUuid":"u2","type":"assistant","uuid":"a6","message":{"id":"m3","model":"big","stop_reason":"end_turn","content":[{"type":"text","text":"Two."}],"usage":{"input_tokens":3,"output_tokens":3}}}`
	side2     = `{"parentUuid":"u2","isSidechain":true,"type":"assistant","uuid":"a7","message":{"id":"m4","model":"small","stop_reason":"end_turn","content":[{"type":"text","text":"of a helper"}],"usage":{"input_tokens":1,"output_tokens":1}}}`
	command   = `{"parentUuid":"s2","promptId":"P3","type":"user","uuid":"c","message":{"role":"user","content":"<command-name>/compact</command-name>"}}`
)

func fed(prompt string, lines ...string) *transcript {
	t := &transcript{}
	t.follow(prompt)
	t.feed([]byte(strings.Join(lines, "\n") + "\n"))
	return t
}

func TestTranscript(t *testing.T) {
	long1 := strings.Replace(result1, `"ok"`, `"`+strings.Repeat("x", maxLine)+`"`, 1) // as of a large document that was read
	all1 := []string{prompt1, attached1, words1, tool1, result1, answer1, hooks1, over1}
	for _, tt := range []struct {
		name   string
		prompt string
		lines  []string
		want   account
	}{
		{"Whole", "P1", all1, account{
			asked: true, texts: []string{"I look first.", "Done."}, said: 2, last: "Done.", final: true, over: true, stops: 1, model: "big",
			usage: map[string]usage{"m1": {10, 4, 5, 7}, "m2": {Input: 20, Output: 2}},
		}},
		{"Out of order", "P1", []string{hooks1, over1, prompt1, attached1, answer1, words1, tool1, result1}, account{
			asked: true, texts: []string{"I look first.", "Done."}, said: 2, last: "Done.", final: true, over: true, stops: 1, model: "big",
			usage: map[string]usage{"m1": {10, 4, 5, 7}, "m2": {Input: 20, Output: 2}},
		}},
		{"The next one", "P2", append(all1, prompt2, answer2), account{
			asked: true, texts: []string{"Two."}, said: 1, last: "Two.", final: true, model: "big", usage: map[string]usage{"m3": {Input: 3, Output: 3}},
		}},
		{"Without an id", "", []string{command, prompt2, answer2}, account{
			asked: true, texts: []string{"Two."}, said: 1, last: "Two.", final: true, model: "big", usage: map[string]usage{"m3": {Input: 3, Output: 3}},
		}},
		{"Failed", "P2", []string{prompt2, failed2}, account{asked: true, failure: &apiFailure{"overloaded", 529, "API Error: 529"}}},
		{"Overcome", "P2", []string{prompt2, failed2, answer2}, account{
			asked: true, texts: []string{"Two."}, said: 1, last: "Two.", final: true, model: "big", usage: map[string]usage{"m3": {Input: 3, Output: 3}},
		}},
		{"Stopped", "P2", []string{prompt2, partial2, stopped2}, account{
			asked: true, texts: []string{"half an"}, said: 1, last: "half an", final: true, interrupted: true,
		}},
		{"A helper's", "P2", []string{prompt2, side2, answer2}, account{
			asked: true, texts: []string{"Two."}, said: 1, last: "Two.", final: true, model: "big",
			usage: map[string]usage{"m3": {Input: 3, Output: 3}, "m4": {Input: 1, Output: 1}},
		}},
		{"Of others", "P9", append(all1, prompt2, answer2), account{}},
		{"Written twice", "P2", []string{prompt2, failed2, answer2, prompt2, failed2, answer2, answer2}, account{
			asked: true, texts: []string{"Two."}, said: 1, last: "Two.", final: true, model: "big", usage: map[string]usage{"m3": {Input: 3, Output: 3}},
		}},
		{"With a broken line", "P1", []string{prompt1, attached1, words1, tool1, result1[:90], answer1, hooks1, over1}, account{
			asked: true, texts: []string{"I look first.", "Done."}, said: 2, last: "Done.", final: true, over: true, stops: 1, model: "big",
			usage: map[string]usage{"m1": {10, 4, 5, 7}, "m2": {Input: 20, Output: 2}},
		}},
		{"With a line that is too long", "P1", []string{prompt1, attached1, words1, tool1, long1, answer1, hooks1, over1}, account{
			asked: true, texts: []string{"I look first.", "Done."}, said: 2, last: "Done.", final: true, over: true, stops: 1, model: "big",
			usage: map[string]usage{"m1": {10, 4, 5, 7}, "m2": {Input: 20, Output: 2}},
		}},
		{"Not understood", "P2", []string{"", "{", "[]", `{"uuid":7}`, `{"uuid":"z","message":"x"}`, prompt2}, account{asked: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fed(tt.prompt, tt.lines...).account; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
	total := fed("P1", all1...).account.total()
	want := &runtime.Usage{Model: "big", InputTokens: 30, OutputTokens: 6, CacheReadTokens: 5, CacheWriteTokens: 7, Requests: 2}
	if !reflect.DeepEqual(total, want) {
		t.Errorf("usage %+v, want %+v", total, want)
	}
	if u := fed("P2", prompt2, failed2).account.total(); u != nil {
		t.Errorf("usage %+v of nothing", u)
	}
}

// However the lines are cut, they are read the same; one that is too long, or was begun before, is left out.
func TestTranscriptInParts(t *testing.T) {
	data := prompt1 + "\n" + attached1 + "\n" + words1 + "\n" + tool1 + "\n" + result1 + "\n" + answer1 + "\n"
	want := fed("P1", strings.Split(strings.TrimSuffix(data, "\n"), "\n")...).account
	for size := 1; size < 200; size += 13 {
		var tr transcript
		tr.follow("P1")
		for at := 0; at < len(data); at += size {
			tr.feed([]byte(data[at:min(at+size, len(data))]))
		}
		if !reflect.DeepEqual(tr.account, want) {
			t.Errorf("in parts of %d bytes: %+v", size, tr.account)
		}
	}
	var tr transcript
	tr.follow("P2")
	tr.restart(true)
	tr.feed([]byte(answer1[20:] + "\n" + prompt2 + "\n" + `{"uuid":"` + strings.Repeat("x", maxLine)))
	tr.feed([]byte(`"}` + "\n" + answer2 + "\n"))
	if texts := tr.take(); len(texts) != 1 || texts[0] != "Two." || len(tr.take()) != 0 {
		t.Errorf("%q was said", texts)
	}
}

func TestTranscriptIsBounded(t *testing.T) {
	var tr transcript
	tr.follow("P1")
	tr.feed([]byte(prompt1 + "\n"))
	parent := "u1"
	for i := range 3 * maxOwned {
		id := fmt.Sprint("n", i)
		tr.feed(fmt.Appendf(nil, `{"uuid":%q,"parentUuid":%q,"type":"attachment"}`+"\n", id, parent))
		tr.feed(fmt.Appendf(nil, `{"uuid":"o%d","parentUuid":"nobody%d"}`+"\n", i, i))
		parent = id
	}
	tr.feed(fmt.Appendf(nil, `{"uuid":"last","parentUuid":%q,"type":"assistant","message":{"content":"here"}}`+"\n", parent))
	if n := len(tr.owned) + len(tr.older); n > 2*maxOwned || tr.many > maxOrphans || tr.account.last != "here" {
		t.Errorf("%d entries and %d orphans are remembered; %q was said last", n, tr.many, tr.account.last)
	}
}

func FuzzTranscript(f *testing.F) {
	f.Add(prompt1+"\n"+words1+"\n"+answer1+"\n"+over1+"\n", "P1", 7)
	f.Add(prompt2+"\n"+failed2+"\n"+stopped2, "", 100)
	f.Add(`{"uuid":"a","parentUuid":"a"}`+"\n"+`{"uuid":"b","parentUuid":"c"}`+"\n"+`{"uuid":"c","parentUuid":"b"}`+"\n", "", 3)
	f.Fuzz(func(t *testing.T, data, prompt string, size int) {
		var whole, parts transcript
		whole.follow(prompt)
		whole.feed([]byte(data))
		parts.follow(prompt)
		size = max(1, size)
		for rest := data; rest != ""; {
			n := min(size, len(rest))
			parts.feed([]byte(rest[:n]))
			rest = rest[n:]
		}
		if !reflect.DeepEqual(whole.account, parts.account) {
			t.Errorf("%+v in parts of %d, %+v as a whole", parts.account, size, whole.account)
		}
		whole.account.total()
		if len(whole.account.texts) != whole.account.said {
			t.Errorf("%d texts, %d were said", len(whole.account.texts), whole.account.said)
		}
	})
}
