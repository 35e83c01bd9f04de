package house_test

import (
	"testing"

	"github.com/wardroom/wardroom/scripts/house"
)

func TestUnused(t *testing.T) { report(t, house.CheckUnused(realTree(t))) }

func TestCheckUnused(t *testing.T) {
	const left = "nothing outside tests uses F: remove it"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"Func", map[string]string{"core/p/p.go": "package p\n\nfunc F() {}\n"}, left},
		{"Const", map[string]string{"core/p/p.go": "package p\n\nconst F = 1\n"}, left},
		{"Var", map[string]string{"appliance/p/p.go": "package p\n\nvar F = 1\n"}, left},
		{"OnlyTests", map[string]string{"core/p/p.go": "package p\n\nfunc F() {}\n", "core/p/p_test.go": "package p\n\nvar _ = F\n"}, left},
		{"Used", map[string]string{"core/p/p.go": "package p\n\nfunc F() {}\n", "core/q/q.go": "package q\n\nvar _ = p.F\n"}, ""},
		{"Method", map[string]string{"core/p/p.go": "package p\n\nfunc (T) F() {}\n"}, ""},
		{"SDK", map[string]string{"sdk/p/p.go": "package p\n\nfunc F() {}\n"}, ""},
		{"ForTests", map[string]string{"core/p/p.go": "package p\n\nimport \"testing\"\n\nfunc F(testing.TB) {}\n"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, house.CheckUnused(tree(t, tt.files)), tt.want) })
	}
}
