package house_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/house"
)

func TestInterfaces(t *testing.T) { report(t, house.CheckInterfaces(realTree(t))) }

func TestCheckInterfaces(t *testing.T) {
	methods := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\tM%d()\n", i)
		}
		return b.String()
	}
	const why = "// I is large. It has many methods\n// because a reason.\n"
	large, small := methods(house.MostMethods+1), methods(house.MostMethods)
	for _, tt := range []struct{ name, file, text, want string }{
		{"Small", "core/p/p.go", "type I interface {\n" + small + "}\n", ""},
		{"Large", "core/p/p.go", "type I interface {\n" + large + "}\n", "has 7 methods"},
		{"Embedded", "core/p/p.go", "type J interface{}\n\ntype I interface {\n\tJ\n" + small + "}\n", "has 7 methods"},
		{"Why", "core/p/p.go", why + "type I interface {\n" + large + "}\n", ""},
		{"WhyOfSmall", "core/p/p.go", why + "type I interface {\n" + small + "}\n", "drop that"},
		{"Test", "core/p/p_test.go", "type I interface {\n" + large + "}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, house.CheckInterfaces(tree(t, map[string]string{tt.file: "package p\n\n" + tt.text})), tt.want)
		})
	}
}
