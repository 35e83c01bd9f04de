package pluginv1_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

var update = flag.Bool("update", false, "add what is new to testdata/contract.txt")

const golden = "testdata/contract.txt"

var files = []protoreflect.FileDescriptor{
	pluginv1.File_sdk_proto_v1_error_proto, pluginv1.File_sdk_proto_v1_plugin_proto, pluginv1.File_sdk_proto_v1_host_proto,
	pluginv1.File_sdk_proto_v1_runtime_proto, pluginv1.File_sdk_proto_v1_secret_proto, pluginv1.File_sdk_proto_v1_audit_proto,
}

// contract is one line for each thing on the wire that a program elsewhere may rely on.
func contract() []string {
	var lines []string
	for _, file := range files {
		for i := range file.Messages().Len() {
			m := file.Messages().Get(i)
			for j := range m.Fields().Len() {
				lines = append(lines, fieldLine(m, m.Fields().Get(j)))
			}
			if m.Fields().Len() == 0 {
				lines = append(lines, fmt.Sprintf("message %s {}", m.Name()))
			}
		}
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for j := range s.Methods().Len() {
				r := s.Methods().Get(j)
				lines = append(lines, fmt.Sprintf("rpc %s (%s%s) returns (%s%s)", r.FullName(),
					stream(r.IsStreamingClient()), r.Input().Name(), stream(r.IsStreamingServer()), r.Output().Name()))
			}
		}
	}
	sort.Strings(lines)
	return lines
}

func fieldLine(m protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	switch {
	case f.IsMap():
		kind = fmt.Sprintf("map<%s, %s>", f.MapKey().Kind(), f.MapValue().Kind())
	case f.Message() != nil:
		kind = string(f.Message().FullName())
	}
	label := ""
	switch {
	case f.IsList():
		label = "repeated "
	case f.HasOptionalKeyword():
		label = "optional "
	case f.ContainingOneof() != nil:
		label = "oneof " + string(f.ContainingOneof().Name()) + " "
	}
	return fmt.Sprintf("message %s { %s%s %s = %d }", m.Name(), label, kind, f.Name(), f.Number())
}

func stream(yes bool) string {
	if yes {
		return "stream "
	}
	return ""
}

// A line that is gone is a field that was renumbered, renamed, retyped or removed, and breaks plugins that
// exist. That needs a new major version: a package of its own. What is new is added by
//
//	go test ./sdk/proto/v1 -update
func TestContract(t *testing.T) {
	recorded, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	now := contract()
	have := map[string]bool{}
	for _, line := range now {
		have[line] = true
	}
	want := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(recorded)), "\n") {
		if want[line] = true; line != "" && !have[line] {
			t.Errorf("gone: %s", line)
		}
	}
	if t.Failed() {
		t.Fatal("what is on the wire stays as it is; add a field, or make a new major version")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, line := range now {
		if !want[line] {
			t.Errorf("new, and not recorded (-update records it): %s", line)
		}
	}
}

// The generated code is that of the proto files.
func TestGenerated(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatal("protoc is not installed: apt-get install protobuf-compiler libprotobuf-dev")
		}
		t.Skip("protoc is not installed")
	}
	set := filepath.Join(t.TempDir(), "set")
	args := []string{"-I../../..", "--descriptor_set_out=" + set}
	for _, file := range files {
		args = append(args, file.Path())
	}
	if out, err := exec.Command(protoc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(set)
	if err != nil {
		t.Fatal(err)
	}
	var fresh descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &fresh); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		made := protodesc.ToFileDescriptorProto(file)
		if !proto.Equal(made, fresh.File[i]) {
			t.Errorf("%s changed and was not generated again: go generate ./sdk/proto/v1", file.Path())
		}
	}
}
