package fakemodel_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func ptr[T any](v T) *T { return &v }

func TestParseDirectives(t *testing.T) {
	type D = fakemodel.Directives
	for _, tt := range []struct {
		name, text string
		want       D
	}{
		{"none", "say hello", D{}},
		{"say", "SAY[hello]", D{Say: ptr("hello")}},
		{"say nothing", "SAY[]", D{Say: ptr("")}},
		{"nested brackets", "SAY[a [b [c]] d] SAY[second]", D{Say: ptr("a [b [c]] d")}},
		{"within a value is text", "SAY[USE_TOOL and FAIL[401] and THINK]", D{Say: ptr("USE_TOOL and FAIL[401] and THINK")}},
		{"never closed", "SAY[hello", D{}},
		{"never closed, then closed", "SAY[hello SAY[x]", D{Say: ptr("x")}},
		{"closed once too often", "] SAY[a] b]", D{Say: ptr("a")}},
		{"end of another word", "ESSAY[x] MASK[y] MYUSE_TOOL[z]", D{}},
		{"lower case", "say[x] use_tool", D{}},
		{"tool", "USE_TOOL", D{UseTool: true, Command: "echo hi"}},
		{"tool with a command", "USE_TOOL[ls [a-z]*]", D{UseTool: true, Command: "ls [a-z]*"}},
		{"tool with an empty command", "USE_TOOL[]", D{UseTool: true, Command: "echo hi"}},
		{"tools", "USE_TOOLS[3]", D{Tools: ptr(3)}},
		{"too many tools", "USE_TOOLS[1000]", D{Tools: ptr(50)}},
		{"tools without a number", "USE_TOOLS[x]", D{Tools: ptr(0)}},
		{"escalated tool", "USE_TOOL[touch x] ESCALATE.", D{UseTool: true, Command: "touch x", Escalate: true}},
		{"ask", "ASK[which?]", D{Ask: ptr("which?")}},
		{"read", "READ[a b.md] then QUOTE[words]", D{Read: ptr("a b.md"), Quote: ptr("words")}},
		{"calls", `CALL[Edit {"a": [1, "x[2]"]}] and CALL[Plan {}]`, D{Calls: []fakemodel.Call{
			{Tool: "Edit", Input: map[string]any{"a": []any{1.0, "x[2]"}}}, {Tool: "Plan", Input: map[string]any{}},
		}}},
		{"calls of nothing", `CALL[] CALL[Edit] CALL[Edit 1] CALL[Edit null] CALL[ {}]`, D{}},
		{"report", `REPORT[{"artifacts": []}]`, D{Report: ptr(`{"artifacts": []}`)}},
		{"cut", "please CUT.", D{Cut: ptr(-1)}},
		{"cut after", "CUT[12] TIMES[2]", D{Cut: ptr(12), Times: 2}},
		{"cut by no number", "CUT[x] UNCUT", D{Cut: ptr(-1)}},
		{"loop", "LOOP[99999999]", D{Loop: 20000}},
		{"stall", "STALL[1.5]", D{Stall: 1500 * time.Millisecond}},
		{"slow", "SLOW[2.5]", D{Slow: ptr(2500 * time.Millisecond)}},
		{"too slow", "SLOW[1e9]", D{Slow: ptr(2 * time.Minute)}},
		{"slower than nothing", "SLOW[-1]", D{Slow: ptr(time.Duration(0))}},
		{"not a number", "SLOW[NaN]", D{Slow: ptr(time.Duration(0))}},
		{"long", "LONG[7]", D{Lines: 7}},
		{"too long", "LONG[Inf]", D{Lines: 20000}},
		{"think", "THINK", D{Think: true}},
		{"thinking is not THINK", "THINKING RETHINK", D{}},
		{"fail", "FAIL[429]", D{Fail: 429}},
		{"fail with words", "FAIL[429 Please retry in 0.1s]", D{Fail: 429, Why: "Please retry in 0.1s"}},
		{"fail without a number", "FAIL[]", D{Fail: 500}},
		{"fail with success", "FAIL[200]", D{Fail: 400}},
		{"hang", "HANG[3]", D{Hang: 3 * time.Second}},
		{"hold", "HOLD[door] please", D{Hold: ptr("door")}},
		{"several", "SLOW[1]LONG[2]THINK", D{Slow: ptr(time.Second), Lines: 2, Think: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := dumped(t, fakemodel.ParseDirectives(tt.text)), dumped(t, tt.want); got != want {
				t.Errorf("%q means\n%s, want\n%s", tt.text, got, want)
			}
		})
	}
}

// Brackets that never close take no more time than others: a parser that looks at the rest again for each would take hours.
func TestParseDirectivesIsLinear(t *testing.T) {
	begun := time.Now()
	for _, unit := range []string{"SAY[", "[", "]", "SAY[a]", "SAY[a", "a_"} {
		fakemodel.ParseDirectives(strings.Repeat(unit, 1<<18))
	}
	if took := time.Since(begun); took > 5*time.Minute {
		t.Errorf("took %s", took)
	}
}

func dumped(t *testing.T, d fakemodel.Directives) string {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func FuzzParseDirectives(f *testing.F) {
	for _, seed := range []string{
		"", "hello", "SAY[hello]", "SAY[a [b] c]", "SAY[hello SAY[x]", "USE_TOOL[echo hi] ESCALATE", "USE_TOOLS[3]",
		"ASK[which?]SLOW[1.5]LONG[10]THINK", "FAIL[401]HANG[2]HOLD[x]", "]][[SAY[]", "SLOW[NaN] HANG[-Inf] FAIL[0x1p9]",
		"SAY[\xff\x00]", "SAY[SAY[SAY[a]]]", `READ[a]QUOTE[b]REPORT[{"c":[]}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := fakemodel.ParseDirectives(text)
		for what, value := range map[string]*string{
			"SAY": d.Say, "ASK": d.Ask, "HOLD": d.Hold, "READ": d.Read, "QUOTE": d.Quote, "REPORT": d.Report,
		} {
			if value != nil && !strings.Contains(text, what+"["+*value+"]") {
				t.Errorf("%s means %q, which %q does not say", what, *value, text)
			}
		}
		if d.UseTool != (d.Command != "") {
			t.Errorf("a tool is used: %t, with the command %q", d.UseTool, d.Command)
		}
		if d.Tools != nil && (*d.Tools < 0 || *d.Tools > 50) {
			t.Errorf("%d tools", *d.Tools)
		}
		if d.Slow != nil && (*d.Slow < 0 || *d.Slow > 2*time.Minute) || d.Hang < 0 || d.Hang > 2*time.Minute {
			t.Errorf("slow %v, hang %v", d.Slow, d.Hang)
		}
		if d.Fail != 0 && (d.Fail < 400 || d.Fail > 599) || d.Lines < 0 || d.Lines > 20000 {
			t.Errorf("fail %d, lines %d", d.Fail, d.Lines)
		}
		// What SAY takes can say anything with balanced brackets.
		if balanced(text) {
			if d := fakemodel.ParseDirectives("SAY[" + text + "]"); d.Say == nil || *d.Say != text {
				t.Errorf("SAY[%s] says %v", text, d.Say)
			}
		}
	})
}

func balanced(text string) bool {
	depth := 0
	for _, b := range []byte(text) {
		switch b {
		case '[':
			depth++
		case ']':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}
