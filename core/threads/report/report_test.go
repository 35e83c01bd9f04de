package report_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/threads/report"
)

func fenced(info, body string) string { return "```" + info + "\n" + body + "\n```" }

func TestRead(t *testing.T) {
	complete := core.AgentOutcome{State: core.CompletionComplete, Summary: "done"}
	const plain = `{"state":"complete","summary":"done"}`
	for _, tt := range []struct {
		name, text string
		want       *core.AgentOutcome // nil: no report
	}{
		{"Whole", "I did it.\n\n" + fenced("wardroom", `{
			"state": "partial", "summary": "Two of three.",
			"tests": {"run": 12, "passed": 11, "failed": 1, "command": "go test ./..."},
			"artifacts": [{"type": "commit", "value": "abc1234"}, {"type": "file", "value": "a/b.go"}],
			"decisions": ["The cache is per tenant."]
		}`), &core.AgentOutcome{
			State: core.CompletionPartial, Summary: "Two of three.",
			Tests:     &core.TestReport{Run: 12, Passed: 11, Failed: 1, Command: "go test ./..."},
			Artifacts: []core.Artifact{{Type: "commit", Value: "abc1234"}, {Type: "file", Value: "a/b.go"}},
			Decisions: []string{"The cache is per tenant."},
		}},
		{"Failed", fenced("wardroom", `{"state":"failed"}`), &core.AgentOutcome{State: core.CompletionFailed}},
		{"Working", fenced("wardroom", `{"state":"working","summary":"half"}`), &core.AgentOutcome{Summary: "half"}},
		{"WithoutState", fenced("wardroom", `{"decisions":["x"]}`), &core.AgentOutcome{Decisions: []string{"x"}}},
		{"NullState", fenced("wardroom", `{"state":null,"summary":"half"}`), &core.AgentOutcome{Summary: "half"}},
		{"Empty", fenced("wardroom", `{}`), nil},
		{"UpperCase", fenced("Wardroom", `{"State":"COMPLETE","Summary":"done"}`), &complete},
		{"OtherWord", fenced("wardroom", `{"state":"done","summary":"done"}`), &complete},
		{"InProgress", fenced("wardroom", `{"state":"in_progress","summary":"half"}`), &core.AgentOutcome{Summary: "half"}},
		{"UnknownState", fenced("wardroom", `{"state":"superb","summary":"done"}`), nil},
		{"Placeholder", fenced("wardroom", `{"state":"complete | partial | failed | working"}`), nil},
		{"StateIsNumber", fenced("wardroom", `{"state":1,"summary":"done"}`), nil},
		{"Tildes", "~~~wardroom\n" + plain + "\n~~~", &complete},
		{"LongFence", "````wardroom\n" + plain + "\n````", &complete},
		{"Indented", "1. Report:\n   ```wardroom\n   " + plain + "\n   ```", &complete},
		{"CarriageReturns", "ok\r\n```wardroom\r\n" + plain + "\r\n```\r\n", &complete},
		{"NotClosed", "```wardroom\n" + plain, &complete},
		{"OneLine", "```wardroom " + plain + "```", &complete},
		{"ObjectBehindMark", "```wardroom " + `{"state":"complete",` + "\n" + `"summary":"done"}` + "\n```", &complete},
		{"MarkInside", fenced("json", "wardroom\n"+plain), &complete},
		{"InfoWithMore", fenced("wardroom json", plain), &complete},
		{"OtherInfo", fenced("wardroom-example", plain), &complete}, // looks like a report by itself
		{"ShortWordsBehind", fenced("wardroom", plain) + "\n\nLet me know if you need anything else.", &complete},
		{"ManyWordsBehind", fenced("wardroom", plain) + "\n\n" + strings.Repeat("I go on. ", 100), nil},

		{"MarkedJSON", fenced("json", plain), &complete},
		{"NoInfo", fenced("", plain), &complete},
		{"OtherJSON", fenced("json", `{"state":"complete","id":7}`), nil},
		{"StateOnly", fenced("json", `{"state":"failed"}`), nil},
		{"OtherState", fenced("json", `{"state":"running","summary":"x"}`), nil},
		{"OtherSynonym", fenced("json", `{"state":"done","summary":"x"}`), nil},
		{"NoState", fenced("json", `{"summary":"x"}`), nil},
		{"EmptySummary", fenced("json", `{"state":"complete","summary":" "}`), nil},

		{"LastCounts", fenced("wardroom", `{"state":"failed"}`) + "\nNo:\n" + fenced("wardroom", plain), &complete},
		{"LastIsCode", fenced("wardroom", plain) + "\nRun it:\n" + fenced("sh", "make"), nil},
		{"LastIsOtherObject", fenced("wardroom", plain) + "\nIt answers:\n" + fenced("json", `{"a":1}`), nil},
		{"Nested", "````markdown\n" + fenced("wardroom", plain) + "\n````", nil},
		{"NestedBadly", "```markdown\n" + fenced("wardroom", plain) + "\n```", nil},
		{"Quoted", "> ```wardroom\n> " + plain + "\n> ```", nil},
		{"InlineCode", "End with `{\"state\":\"complete\",\"summary\":\"x\"}`", nil},

		{"ObjectAtEnd", "All good.\n\n" + plain + "\n", &complete},
		{"ObjectAlone", plain, &complete},
		{"ObjectOnLines", "Ok.\n{\n  \"state\": \"complete\",\n  \"summary\": \"done\",\n  \"tests\":\n  {}\n}", &complete},
		{"ObjectBehindWord", "Ok.\nwardroom: " + `{"state":"done","summary":"done"}`, &complete},
		{"ObjectBelowWord", "Ok.\n\n**wardroom**\n" + `{"state":"done","summary":"done"}`, &complete},
		{"ObjectWithinLine", "The answer is " + plain, nil},
		{"ObjectInTheMiddle", plain + "\nThat is what I would say.", nil},
		{"OtherObjectAtEnd", "It answers\n" + `{"state":"complete"}`, nil},

		{"SmartQuotes", fenced("wardroom", `{“state”: “complete”, “summary”: “done”}`), &complete},
		{"SingleQuotes", fenced("wardroom", `{'state': 'complete', 'summary': 'done'}`), &complete},
		{"BareKeys", fenced("wardroom", `{state: complete, summary: "done"}`), &complete},
		{"TrailingCommas", fenced("wardroom", `{"state":"complete","summary":"done","artifacts":[],}`), &complete},
		{"Comments", fenced("wardroom", "{\"state\":\"complete\", // yes\n/* and */\"summary\":\"done\"}"), &complete},
		{"LineEndInString", fenced("wardroom", "{\"state\":\"complete\",\"summary\":\"a\nb\"}"),
			&core.AgentOutcome{State: "complete", Summary: "a\nb"}},
		{"Escapes", fenced("wardroom", `{"state":"complete","summary":"\u0041\t\"b\"",}`),
			&core.AgentOutcome{State: "complete", Summary: "A\t\"b\""}},
		{"Constants", fenced("wardroom", `{state:complete,summary:"done",tests:None,more:True,no:false,}`), &complete},
		{"Broken", fenced("wardroom", `{"state":"complete"`), nil},
		{"BrokenString", fenced("wardroom", `{"state":"complete","summary":"done}`), nil},
		{"TwoObjects", fenced("wardroom", plain+plain), nil},
		{"List", fenced("wardroom", `["complete"]`), nil},
		{"TooDeep", fenced("wardroom", `{"state":"complete",'a':`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`), nil},
		{"TooLong", fenced("wardroom", `{"state":"complete","summary":"`+strings.Repeat("x", 300<<10)+`"}`), nil},
		{"OrdinaryText", "I fixed the state machine: {complete} is now a state.", nil},
		{"Nothing", "", nil},
		{"Fence", "```", nil},

		{"Controls", fenced("wardroom", `{"state":"complete","summary":"\u001b[31mdone\u0007"}`),
			&core.AgentOutcome{State: "complete", Summary: "[31mdone"}},
		{"TestsAsTexts", fenced("wardroom", `{"tests":{"passed":"3","failed":2,"run":"x"}}`),
			&core.AgentOutcome{Tests: &core.TestReport{Run: 5, Passed: 3, Failed: 2}}},
		{"AbsurdTests", fenced("wardroom", `{"tests":{"run":1e300,"passed":-4}}`),
			&core.AgentOutcome{Tests: &core.TestReport{Run: 100_000_000}}},
		{"ArtifactsAsTexts", fenced("wardroom",
			`{"artifacts":["https://x.test/1","0123abc","cmd/main.go","a longer report","cmd/main.go",7,{"type":"pod","value":"x"},{"type":"URL","value":""}]}`),
			&core.AgentOutcome{Artifacts: []core.Artifact{
				{Type: "url", Value: "https://x.test/1"}, {Type: "commit", Value: "0123abc"},
				{Type: "file", Value: "cmd/main.go"}, {Type: "report", Value: "a longer report"},
			}}},
		{"DecisionAsText", fenced("wardroom", `{"decisions":"one"}`), &core.AgentOutcome{Decisions: []string{"one"}}},
		{"DecisionsMixed", fenced("wardroom", `{"decisions":["a","a",{"summary":"b"},"",3]}`),
			&core.AgentOutcome{Decisions: []string{"a", "b"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := report.Read(tt.text)
			if ok != (tt.want != nil) {
				t.Fatalf("a report is %v, want %v: %+v", ok, tt.want != nil, got)
			}
			if ok && !reflect.DeepEqual(got, *tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, *tt.want)
			}
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	long := strings.Repeat("wörd ", 3000)
	item := `{"type":"report","value":"` + long + `"}`
	text := fenced("wardroom", `{"state":"complete","summary":"`+long+`","artifacts":[`+item+`],"decisions":["`+long+`"],"tests":{"command":"`+long+`"}}`)
	got, ok := report.Read(text)
	if !ok {
		t.Fatal("no report")
	}
	for what, check := range map[string]struct {
		text  string
		limit int
	}{
		"summary": {got.Summary, report.MaxSummary}, "artifact": {got.Artifacts[0].Value, report.MaxArtifact},
		"decision": {got.Decisions[0], report.MaxDecision}, "command": {got.Tests.Command, report.MaxCommand},
	} {
		if n := utf8.RuneCountInString(check.text); n > check.limit || n < check.limit-10 || !strings.HasSuffix(check.text, "wörd…") {
			t.Errorf("%s has %d characters, the limit is %d, and it ends with %q", what, n, check.limit, check.text[len(check.text)-9:])
		}
	}
	var many []string
	for i := range 200 {
		many = append(many, `"`+strings.Repeat("x", i+1)+`"`)
	}
	list := strings.Join(many, ",")
	got, _ = report.Read(fenced("wardroom", `{"artifacts":[`+list+`],"decisions":[`+list+`]}`))
	if len(got.Artifacts) != report.MaxArtifacts || len(got.Decisions) != report.MaxDecisions {
		t.Errorf("%d artifacts and %d decisions", len(got.Artifacts), len(got.Decisions))
	}
}

// An agent that repeats its instructions reports nothing by that.
func TestInstructionsAreNoReport(t *testing.T) {
	text := report.Instructions()
	for name, s := range map[string]string{
		"whole": text, "example": text[strings.Index(text, "```") : strings.LastIndex(text, "```")+3],
	} {
		if got, ok := report.Read(s); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	filled := strings.Replace(text[strings.Index(text, "```"):strings.LastIndex(text, "```")+3], "complete | partial | failed | working", "complete", 1)
	if got, ok := report.Read(filled); !ok || got.State != core.CompletionComplete {
		t.Errorf("the example, filled in, is not read: %+v, %v", got, ok)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", "```", "```wardroom\n{\"state\":\"complete\"}\n```", "~~~wardroom\n{state:partial,}", "a\n{\"state\":\"failed\",\"summary\":\"x\"}",
		"```wardroom {“state”:“complete”}```", "```wardroom\n{'a':'\\u00", "{\n{\n{\n}", "wardroom: {state:done /* }", report.Instructions(),
		"```wardroom\n{\"tests\":{\"run\":1e999},\"artifacts\":[[[[]]]],\"decisions\":{}}\n```",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := report.Read(text)
		if !ok {
			if !reflect.DeepEqual(got, core.AgentOutcome{}) {
				t.Fatalf("no report, and yet %+v", got)
			}
			return
		}
		if !strings.Contains(text, "{") {
			t.Fatalf("a report without an object: %+v", got)
		}
		if utf8.RuneCountInString(got.Summary) > report.MaxSummary || !utf8.ValidString(got.Summary) ||
			len(got.Artifacts) > report.MaxArtifacts || len(got.Decisions) > report.MaxDecisions {
			t.Fatalf("out of bounds: %+v", got)
		}
		switch got.State {
		case "", core.CompletionComplete, core.CompletionPartial, core.CompletionFailed:
		default:
			t.Fatalf("state %q", got.State)
		}
	})
}
