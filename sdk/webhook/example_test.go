package webhook_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/sdk/webhook"
)

// A receiver in one handler.
func ExampleHandler() {
	handler := webhook.Handler("secret", webhook.Once(10_000, func(e webhook.Event) error {
		fmt.Println(e.Type)
		return nil // an error has it delivered again later
	}))
	http.Handle("/wardroom", handler)
}

// A delivery that was read elsewhere.
func ExampleVerify() {
	header := http.Header{}
	header.Set("X-Service-Timestamp", vectorTimestamp)
	header.Set("X-Service-Signature", vectorSignature)
	event, err := webhook.Verify(vectorSecret, header, []byte(vectorBody), webhook.DefaultTolerance, vectorTime)
	fmt.Println(event.Type, err)
	_, err = webhook.Verify(vectorSecret, header, []byte(strings.ToUpper(vectorBody)), webhook.DefaultTolerance, vectorTime)
	fmt.Println(err)
	// Output:
	// execution.completed <nil>
	// webhook: the signature does not fit
}
