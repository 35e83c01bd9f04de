package appliance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/sdk/client"
)

// A store that was restored into a folder is the one of a development server on that folder.
func TestDevOnARestoredStore(t *testing.T) {
	first, restored := t.TempDir(), filepath.Join(t.TempDir(), "restored")
	a, err := appliance.New(appliance.Options{Dev: true, Listen: "127.0.0.1:0", DataDir: first, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://"+a.Addr(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CreatePattern(t.Context(), client.PatternInput{Definition: "name: kept\nversion: 1.0.0\nagents: {capabilities: [x]}\n"})
	c.Close()
	a.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(first, "store"), restored); err != nil {
		t.Fatal(err)
	}
	b := open(t, appliance.Options{Dev: true, Listen: "127.0.0.1:0", DataDir: restored, Version: "1.2.3"})
	again, err := client.New("http://"+b.Addr(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if p, err := again.GetPattern(t.Context(), "kept", ""); err != nil || p.Version != "1.0.0" {
		t.Errorf("%+v, %v", p, err)
	}
}
