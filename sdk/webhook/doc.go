// Package webhook is for programs that receive Wardroom's webhooks: it verifies a delivery's signature over its raw body
// and hands on the event.
//
// It owns the check of signature and age (Verify), an http.Handler around it (Handler), and a memory of events that were
// handled (Once), since events come at least once. It stores nothing beyond the process and sends nothing; endpoints are
// managed with package sdk/client. Receivers call it; it needs the standard library only.
//
//	http.Handle("/wardroom", webhook.Handler(os.Getenv("WEBHOOK_SECRET"), webhook.Once(10_000, func(e webhook.Event) error {
//		log.Printf("%s %s", e.Type, e.Data)
//		return nil // an error has it delivered again later
//	})))
package webhook
