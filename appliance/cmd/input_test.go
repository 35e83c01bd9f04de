package cmd

import (
	"reflect"
	"testing"

	"github.com/spf13/cobra"
)

func TestMetadataFlag(t *testing.T) {
	got, err := metadataFlag(new(cobra.Command), []string{"subject=true", "n=1", "consent=true"})
	if want := map[string]any{"subject": "true", "n": "1", "consent": true}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v, want %#v", got, err, want)
	}
	if got, err := metadataFlag(new(cobra.Command), []string{"consent=false"}); err != nil || got["consent"] != false {
		t.Errorf("%#v, %v", got, err)
	}
	if got, err := metadataFlag(new(cobra.Command), []string{"consent=maybe"}); err != nil || got["consent"] != "maybe" { // the server says what it wants
		t.Errorf("%#v, %v", got, err)
	}
	if got, err := metadataFlag(new(cobra.Command), nil); err != nil || got != nil {
		t.Errorf("%#v, %v", got, err)
	}
	if _, err := metadataFlag(new(cobra.Command), []string{"consent"}); err == nil {
		t.Error("a pair without = is taken")
	}
}
