package pattern_test

import (
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// conditionInput is the input of the conditions below.
const conditionInput = `{"a":1,"b":2,"t":"text","e":"","yes":true,"no":false,"nil":null,"list":[1,"x",{"k":[1.0]}],
"obj":{"k":[1],"a key":"v"},"big":9007199254740993,"big1":9007199254740992,"f":0.1,"esc":"a\"b\u00e9","in":"word","x-y":3}`

// check evaluates a condition; a refused one is an error too.
func check(tb testing.TB, condition string) (bool, error) {
	tb.Helper()
	plan, problems := pattern.Parse(chart("  steps: [{type: condition, check: " + fmt.Sprintf("%q", condition) + ", then: {type: assign, role: worker, task: t}}]\n"))
	if plan == nil {
		return false, fmt.Errorf("refused: %v", problems)
	}
	c := plan.OrgChart()
	return c.Check(c.Chart().Steps[0], scopeOf(conditionInput, nil))
}

func TestConditions(t *testing.T) {
	for condition, want := range map[string]bool{
		"true": true, "false": false, "!true": false, "!!true": true, "! false": true, "(true)": true, "((false))": false,
		"input.yes": true, "${input.yes}": true, "${ input.no }": false, "!input.no": true, "!${input.yes}": false,

		"input.a == 1": true, "input.a == 1.0": true, "input.a == 10e-1": true, "input.a != 1": false, "1 == input.a": true,
		"input.a == '1'": false, "input.a != '1'": true, "input.nil == null": true, "input.nil == false": false,
		"input.e == ''": true, "input.e == null": false, "input.t == 'text'": true, `input.t == "text"`: true,
		"input.yes == true": true, "input.yes == 'true'": false, "input.list == input.list": true,
		"input.obj.k == [1]": true, "input.obj.k == [1.0]": true, "input.list[2].k == input.obj.k": true, "input.obj == input.list": false,
		`input.esc == 'a"bé'`: true, `input.esc == "a\"bé"`: true, `input.obj["a key"] == 'v'`: true, `${input.obj['a key']} == 'v'`: true,
		"input.x-y == 3": true, "input.in == 'word'": true, "-1 == -1.0": true, "0 == -0": true, "1e2 == 100": true,

		"input.a < 2": true, "input.a < 1": false, "input.a <= 1": true, "input.a > 0": true, "input.a >= 1.5": false,
		"input.big > input.big1": true, "input.big == input.big1": false, "input.big1 < 9007199254740993": true, "input.big >= 9007199254740993": true,
		"123456789012345678901234567890 > 123456789012345678901234567889": true, "0.1 < 0.10000000000000001": true,
		"-5 < -4": true, "-5 > 4": false, "1e400 > 1e399": true, "1e-400 < 1e-399": true, "-1e400 < 1": true, "1e99999999999999999999 > 5": true,
		"1e-99999999999999999999 < 5": true, "100 > 99.999": true, "0 < 0.001": true, "0.5 < 5": true,
		"'a' < 'b'": true, "'a' < 'B'": false, "'a' < 'aa'": true, "'10' < '9'": true, "input.t >= 'text'": true,

		"input.a in [1, 2]": true, "input.a in [2, '1']": false, "input.a in []": false, "'x' in input.list": true, "1.0 in input.list": true,
		"'ex' in input.t": true, "'' in input.t": true, "'no' in input.t": false, "'k' in input.obj": true, "'z' in input.obj": false,
		"input.list contains 'x'": true, "input.list contains 'y'": false, "input.t contains 'tex'": true, "input.obj contains 'a key'": true,
		"[input.a, input.b] contains 2": true, "input.t in ['text', 'other']": true, "'word' in[input.in]": true,

		"true && false": false, "true || false": true, "false || false || true": true, "true && true && false": false,
		"true || false && false": true, "(true || false) && false": false, "!true || true": true, "!(true || true)": false,
		"input.a == 1 && input.b == 2": true, "input.a == 1 == true": true, "1 < 2 == 2 > 1": true, "1 == 1 != false": true,
		"input.a < input.b && !(input.t contains 'z') || input.gone": true,
		"false && input.gone": false, "true || input.gone": true, "input.no && input.gone == 1": false, "\tinput.a\n==\r1 ": true,
		"true&&!false": true, "input.a==1&&input.b!=1": true,
	} {
		got, err := check(t, condition)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v", condition, got, err)
		}
	}
}

// TestConditionsThatFail: what cannot be told is an error, not one of the two branches.
func TestConditionsThatFail(t *testing.T) {
	for condition, want := range map[string]string{
		"input.gone":             "${input.gone} has no value",
		"input.gone == null":     "${input.gone} has no value",
		"!input.list[7]":         "${input.list[7]} has no value",
		"input.a":                "${input.a} must be true or false, not a number",
		"input.t && true":        "${input.t} must be true or false, not a string",
		"!input.nil":             "${input.nil} must be true or false, not null",
		"input.a < input.t":      "${input.a} < ${input.t} compares a number with text",
		"input.nil >= 1":         "${input.nil} >= 1 compares null with a number",
		"input.list > 1":         "compares a list with a number",
		"input.a in input.b":     "looks into a number",
		"input.a in input.t":     "looks for a number in text",
		"input.obj contains 5":   "looks for a number in an object",
		"true && input.gone":     "${input.gone} has no value",
		"[input.gone] == [1]":    "${input.gone} has no value",
		"(input.a == 1) > false": "refused",
	} {
		_, err := check(t, condition)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", condition, err, want)
		}
		if want != "refused" {
			wantCode(t, err, core.CodeValidation)
		}
	}
}

// FuzzCondition: whatever is accepted evaluates to true, false or a VALIDATION_ERROR.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		"input.a == 1", "!(a && b) || c", "'x' in [1,'x',${input.t}]", "1e5 <= -0.5", "input[\"a]\"].b contains 'z'", "((((", "!!!!", "${", "'", "in in in",
		"a contains contains", "[[[[]]]]", "1 == 1 == true", "input.a&&input.b", "\\", "true", "step_0_result",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, condition string) {
		plan, problems := pattern.Parse(chart("  steps: [{type: condition, check: " + fmt.Sprintf("%q", condition) + ", then: {type: assign, role: worker, task: t}}]\n"))
		if plan == nil {
			if len(problems) == 0 {
				t.Fatal("neither plan nor problems")
			}
			return
		}
		c := plan.OrgChart()
		first, err := c.Check(c.Chart().Steps[0], scopeOf(conditionInput, nil))
		wantValidation(t, err)
		if second, _ := c.Check(c.Chart().Steps[0], scopeOf(conditionInput, nil)); second != first {
			t.Errorf("%q is %v and then %v", condition, first, second)
		}
	})
}

// FuzzNumbers: numbers are ordered as exact arithmetic orders them.
func FuzzNumbers(f *testing.F) {
	for _, seed := range [][2]string{{"1", "2"}, {"-1", "1"}, {"1.50", "15e-1"}, {"9007199254740993", "9007199254740992"}, {"0.1", "1e-1"}, {"-0", "0"}, {"100", "1e2"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 30 || len(b) > 30 || strings.ContainsAny(a+b, "_xXpPbBoO/+") {
			return
		}
		for _, text := range []string{a, b} {
			if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 4 {
				return // big.Rat writes the number out
			}
		}
		less, err := check(t, a+" < "+b)
		if err != nil {
			return
		}
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			return // text in quotes, or a condition that only looks like two numbers
		}
		equal, err := check(t, a+" == "+b)
		if c := x.Cmp(y); err != nil || less != (c < 0) || equal != (c == 0) {
			t.Errorf("%s < %s is %v, == is %v, %v", a, b, less, equal, err)
		}
	})
}

// A condition that names a long value many times makes no more of it than a task does.
func TestConditionValuesAreBounded(t *testing.T) {
	list := "[" + strings.Repeat("${input.x}, ", 400) + "1]"
	plan, problems := pattern.Parse(chart("  steps: [{type: condition, check: " + fmt.Sprintf("%q", list+" == "+list) + ", then: {type: assign, role: worker, task: t}}]\n"))
	if plan == nil {
		t.Fatal(problems)
	}
	c := plan.OrgChart()
	scope := scopeOf(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Check(c.Chart().Steps[0], scope)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "come to more than") {
		t.Errorf("got %.300v", err)
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 500 {
		t.Errorf("it made %d MiB", made)
	}
}
