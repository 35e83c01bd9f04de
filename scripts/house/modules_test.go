package house_test

import (
	"regexp"
	"testing"

	"github.com/wardroom/wardroom/scripts/house"
)

func TestModulesNamesTheUser(t *testing.T) {
	got, err := house.Modules(root, "./core")
	if err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`^github\.com/oklog/ulid/v2 v[0-9.]+ <- core\n$`); !want.MatchString(got) {
		t.Errorf("modules of core:\n%s\nwant one line that matches %s", got, want)
	}
}

func TestModulesOfUnknownPackage(t *testing.T) {
	if _, err := house.Modules(root, "./core/nowhere"); err == nil {
		t.Error("no error for a package that does not exist")
	}
}
