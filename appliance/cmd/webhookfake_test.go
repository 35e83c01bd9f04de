package cmd_test

import (
	"fmt"
	"net/http"
	"strings"
)

// webhookJSON is an endpoint of the API: wh_1 works, wh_2 was disabled by the server, wh_3 is of its configuration.
func webhookJSON(id, secret string, whole bool) string {
	state, more := `"enabled":true`, ""
	switch id {
	case "wh_2":
		state = `"enabled":false,"disabledReason":"failing for 120h","disabledAt":"2026-01-03T03:04:05.000Z"`
	case "wh_3":
		more = `"declared":true,`
	default:
		more = `"declared":false,`
	}
	if whole {
		more += `"statistics":{"deliveriesTotal":7,"deliveriesSucceeded":5,"deliveriesFailed":2,"deliveriesPending":1,"averageLatency":12.5},`
	}
	return fmt.Sprintf(`{"id":%q,"url":"https://hooks.example.com/%s","events":["execution.completed","system.alert"],"secret":%q,"headers":{"X-Team":"a"},%s,`+
		`"retries":3,"timeout":30000,"filters":{"pattern":["triage"],"metadata":{"team":"a","env":"b"}},"ordered":true,%s`+
		`"createdAt":"2026-01-02T03:04:05.000Z","updatedAt":"2026-01-02T03:04:05.000Z"}`, id, id, secret, state, more)
}

func deliveryJSON(id, status string) string {
	const form = `{"id":%q,"webhookId":"wh_1","eventId":"evt_1","event":"execution.completed","status":%q,"statusCode":%d,"timestamp":"2026-01-02T03:04:05.000Z",` +
		`"duration":12,"retries":%d,"attempts":%d,%s"createdAt":"2026-01-02T03:04:05.000Z"}`
	switch status {
	case "pending":
		return fmt.Sprintf(form, id, status, 0, 0, 1, `"lastError":"connection refused","nextAt":"2026-01-02T03:05:05.000Z",`)
	case "failed":
		return fmt.Sprintf(form, id, status, 500, 3, 4, `"lastError":"answered 500","test":true,`)
	}
	return fmt.Sprintf(form, id, status, 200, 0, 1, "")
}

// webhooks registers what the fake says of webhooks.
func (f *fake) webhooks(handle func(string, func(http.ResponseWriter, *http.Request, string))) {
	one := func(answer func(w http.ResponseWriter, id, body string)) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, body string) {
			switch id := r.PathValue("id"); {
			case id == "wh_9":
				missing(w, "webhook", id)
			case id == "wh_3" && (r.Method == "PATCH" || r.Method == "DELETE"):
				refuse(w, 409, "CONFLICT", "the webhook is declared in the configuration", `{"resource":"webhook","id":"wh_3"}`)
			default:
				answer(w, id, body)
			}
		}
	}
	handle("POST /api/webhooks", func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, `"execution.paused"`) {
			refuse(w, 400, "VALIDATION_ERROR", "invalid webhook: events[0]: no such type",
				`{"field":"events[0]","reason":"no such type","errors":[{"path":"events[0]","reason":"no such type"}]}`)
			return
		}
		say(w, 201, webhookJSON("wh_1", "whsec_new", true))
	})
	handle("GET /api/webhooks", func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Query().Get("offset") == "9" {
			say(w, 200, `{"webhooks":[],"total":3,"limit":20,"offset":9,"hasMore":false}`)
			return
		}
		say(w, 200, `{"webhooks":[`+webhookJSON("wh_2", "whsec_***", false)+","+webhookJSON("wh_1", "whsec_***", false)+`],"total":3,"limit":2,"offset":0,"hasMore":true}`)
	})
	handle("GET /api/webhooks/{id}", one(func(w http.ResponseWriter, id, _ string) { say(w, 200, webhookJSON(id, "whsec_***", true)) }))
	handle("PATCH /api/webhooks/{id}", one(func(w http.ResponseWriter, id, body string) {
		secret := "whsec_***"
		if strings.Contains(body, "ecret") {
			secret = "whsec_next"
		}
		say(w, 200, webhookJSON(id, secret, true))
	}))
	handle("DELETE /api/webhooks/{id}", one(func(w http.ResponseWriter, _, _ string) { w.WriteHeader(http.StatusNoContent) }))
	handle("POST /api/webhooks/{id}/test", one(func(w http.ResponseWriter, id, _ string) {
		if id == "wh_2" {
			say(w, 200, `{"deliveryId":"dlv_1","event":"system.alert","status":"failed","statusCode":0,"duration":3,"lastError":"connection refused"}`)
			return
		}
		say(w, 200, `{"deliveryId":"dlv_1","event":"system.alert","status":"succeeded","statusCode":204,"duration":12}`)
	}))
	handle("GET /api/webhooks/{id}/deliveries", one(func(w http.ResponseWriter, id, _ string) {
		if id == "wh_2" {
			say(w, 200, `{"deliveries":[],"total":0,"limit":20,"offset":0,"hasMore":false}`)
			return
		}
		say(w, 200, `{"deliveries":[`+deliveryJSON("dlv_3", "pending")+","+deliveryJSON("dlv_2", "failed")+","+deliveryJSON("dlv_1", "succeeded")+`],"total":3,"limit":20,"offset":0,"hasMore":false}`)
	}))
	handle("POST /api/webhooks/{id}/deliveries/{delivery}/retry", func(w http.ResponseWriter, r *http.Request, _ string) {
		if id := r.PathValue("delivery"); id != "dlv_2" {
			refuse(w, 409, "CONFLICT", "the delivery succeeded", fmt.Sprintf(`{"resource":"delivery","id":%q,"status":"succeeded"}`, id))
			return
		}
		say(w, 202, `{"deliveryId":"dlv_2","webhookId":"wh_1","status":"pending"}`)
	})
	handle("POST /api/webhooks/{id}/deliveries/retry", one(func(w http.ResponseWriter, id, body string) {
		switch {
		case strings.Contains(body, `"cursor":"c1"`) && id == "wh_2":
			refuse(w, 503, "INTERNAL_ERROR", "the disk is full", `{"reason":"store_read_only"}`)
		case strings.Contains(body, `"cursor":"c1"`):
			say(w, 202, `{"webhookId":"wh_1","status":"pending","count":200,"hasMore":false}`)
		case strings.Contains(body, "dryRun"):
			say(w, 200, `{"webhookId":"wh_1","status":"failed","count":1,"hasMore":false}`)
		default:
			say(w, 202, `{"webhookId":"wh_1","status":"pending","count":1000,"hasMore":true,"nextCursor":"c1"}`)
		}
	}))
}
