// Package pluginv1 is the wire contract between a host and its plugins: the services and messages of the
// protobuf package wardroom.plugin.v1, and how errors travel.
//
// It owns shapes and numbers on the wire, and nothing of behaviour. Plugin authors in Go use sdk/plugin and do
// not see it; authors in other languages generate code from its .proto files. Numbers are never changed or
// used again, and nothing is removed: a test compares with the recorded contract.
package pluginv1

//go:generate protoc -I../../.. --go_out=../../.. --go_opt=paths=source_relative --go-grpc_out=../../.. --go-grpc_opt=paths=source_relative sdk/proto/v1/error.proto sdk/proto/v1/plugin.proto sdk/proto/v1/host.proto sdk/proto/v1/runtime.proto sdk/proto/v1/secret.proto sdk/proto/v1/audit.proto

// The generated files are made with protoc 3.21.12, protoc-gen-go v1.36.11 and protoc-gen-go-grpc v1.5.1.
