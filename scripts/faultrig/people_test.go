package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const openQuestion = `{"questions":[{"id":"q_1","executionId":"exec_1","status":"open","content":"why?"}]}`

// People answer over a kill; a second answer is refused; and what was acknowledged must be there afterwards.
func TestPeople(t *testing.T) {
	caller, _ := scripted(t, status(http.StatusOK, openQuestion), die, status(http.StatusOK, openQuestion), status(http.StatusOK, `{}`),
		status(http.StatusConflict, `{}`), status(http.StatusOK, fmt.Sprintf(`{"id":"q_1","status":"answered","answer":%q}`, spoken("why?"))))
	p := &people{caller: caller, answered: map[string]string{}}
	for range 2 {
		if err := p.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if p.answered["q_1"] != spoken("why?") || p.refused != 1 {
		t.Errorf("answered %v, %d refused", p.answered, p.refused)
	}
	if problems := p.prove(t.Context()); len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
}

func TestPeople_Problems(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		handlers   []http.HandlerFunc
	}{
		{"TakenTwice", "took a second answer", []http.HandlerFunc{status(http.StatusOK, openQuestion), status(http.StatusOK, `{}`)}},
		{"Unknown", "404", []http.HandlerFunc{status(http.StatusOK, openQuestion), status(http.StatusNotFound, `{}`)}},
		{"NoText", "asks 7", []http.HandlerFunc{status(http.StatusOK, strings.ReplaceAll(openQuestion, `"why?"`, "7"))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			caller, _ := scripted(t, tt.handlers...)
			p := &people{caller: caller, answered: map[string]string{}}
			if err := p.look(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	for want, handler := range map[string]http.HandlerFunc{
		"lost: question q_1":    status(http.StatusNotFound, `{}`),
		"changed: question q_1": status(http.StatusOK, `{"id":"q_1","status":"open"}`),
	} {
		caller, _ := scripted(t, handler)
		p := &people{caller: caller, answered: map[string]string{"q_1": "x"}}
		if problems := p.prove(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("problems %v, want %s", problems, want)
		}
	}
}
