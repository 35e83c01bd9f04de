package cmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// questions registers what the fake says of questions: q_1 asks for leave, q_2 for words, q_3 was answered.
func (f *fake) questions(handle func(string, func(http.ResponseWriter, *http.Request, string))) {
	list := func(w http.ResponseWriter, r *http.Request, _ string) {
		rows := []string{}
		for _, id := range []string{"q_3", "q_2", "q_1"} {
			body := question(id)
			if s := r.URL.Query().Get("status"); s == "" || strings.Contains(body, `"status":"`+s+`"`) {
				rows = append(rows, body)
			}
		}
		if r.PathValue("id") == "exec_none" {
			missing(w, "execution", "exec_none")
			return
		}
		say(w, 200, fmt.Sprintf(`{"questions":[%s],"total":%d,"limit":20,"offset":0,"hasMore":false}`, strings.Join(rows, ","), len(rows)))
	}
	handle("GET /api/questions", list)
	handle("GET /api/executions/{id}/questions", list)
	handle("GET /api/questions/{id}", func(w http.ResponseWriter, r *http.Request, _ string) {
		if body := question(r.PathValue("id")); body != "" {
			say(w, 200, body)
			return
		}
		missing(w, "question", r.PathValue("id"))
	})
	handle("POST /api/executions/{id}/questions/{question}/answer", func(w http.ResponseWriter, r *http.Request, body string) {
		id := r.PathValue("question")
		var in struct{ Answer json.RawMessage }
		_ = json.Unmarshal([]byte(body), &in)
		switch {
		case id == "q_3":
			refuse(w, 409, "CONFLICT", "the question was answered", `{"resource":"question","id":"q_3","status":"answered"}`)
		case id == "q_1" && string(in.Answer) != `"allow"`:
			refuse(w, 400, "VALIDATION_ERROR", "answer: must be one of allow, deny", `{"field":"answer","reason":"must be one of allow, deny"}`)
		default:
			say(w, 200, strings.Replace(question(id), `"status":"open"`, `"status":"answered"`, 1))
		}
	})
}

// question is a question of the API. Ages are by the time of the scripts.
func question(id string) string {
	stamp := func(ago time.Duration) string { return scriptTime().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z") }
	const form = `{"id":%q,"executionId":"exec_1","kind":%q,"status":%q,"role":%q,"agentId":"agent_1","depth":%d,"text":"%s",%s"createdAt":%q,"expiresAt":%q}`
	made, expires := stamp(90*time.Minute+30*time.Second), stamp(-7*24*time.Hour+30*time.Minute)
	switch id {
	case "q_1":
		return fmt.Sprintf(form, id, "approval", "open", "engineer", 0, "May I run make?",
			`"step":"1.0","topic":"tool_approval","content":{"tool":"bash","input":{"command":"make"}},`+
				`"options":[{"id":"allow","label":"Yes"},{"id":"deny","label":"No, and tell why"}],`, made, expires)
	case "q_2":
		return fmt.Sprintf(form, id, "message", "open", "architect", 2,
			`Which of the two databases shall\nwe use in the end, the one that we have or the new one?\u001b[31m`,
			`"step":"0","topic":"architecture","content":"x",`, made, expires)
	case "q_3":
		return fmt.Sprintf(form, id, "login", "answered", "tester", 0, "Log in",
			`"url":"https://example.com/login","answer":{"code":42},"answeredBy":"mira",`, made, "2026-01-09T03:04:05.000Z")
	}
	return ""
}
