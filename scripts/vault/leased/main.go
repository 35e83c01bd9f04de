// Command leased is a secrets engine of Vault for tests: it makes credentials under a lease, as the engines for databases
// do, without a database. creds/NAME is renewable, fixed/NAME is not; ended tells how many were taken back.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"strconv"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/sdk/framework"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/plugin"
)

func main() {
	meta := &api.PluginAPIClientMeta{}
	flags := meta.FlagSet()
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2)
	}
	err := plugin.ServeMultiplex(&plugin.ServeOpts{
		BackendFactoryFunc: factory, TLSProviderFunc: api.VaultPluginTLSProvider(meta.GetTLSConfig()),
	})
	if err != nil {
		os.Exit(1)
	}
}

const (
	kind  = "credential"
	ended = "ended" // key of the storage
)

func factory(ctx context.Context, config *logical.BackendConfig) (logical.Backend, error) {
	b := &framework.Backend{BackendType: logical.TypeLogical}
	b.Secrets = []*framework.Secret{{
		Type: kind,
		Renew: func(_ context.Context, r *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
			return &logical.Response{Secret: r.Secret}, nil
		},
		Revoke: func(ctx context.Context, r *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
			n, err := count(ctx, r.Storage)
			if err != nil {
				return nil, err
			}
			return nil, r.Storage.Put(ctx, &logical.StorageEntry{Key: ended, Value: []byte(strconv.Itoa(n + 1))})
		},
	}}
	issue := func(renewable bool) framework.OperationFunc {
		return func(context.Context, *logical.Request, *framework.FieldData) (*logical.Response, error) {
			resp := b.Secret(kind).Response(map[string]any{"username": "u-" + rand.Text(), "password": rand.Text()}, nil)
			resp.Secret.Renewable = renewable
			return resp, nil
		}
	}
	name := map[string]*framework.FieldSchema{"name": {Type: framework.TypeString}}
	b.Paths = []*framework.Path{
		{Pattern: "creds/" + framework.GenericNameRegex("name"), Fields: name, Operations: map[logical.Operation]framework.OperationHandler{
			logical.ReadOperation: &framework.PathOperation{Callback: issue(true)},
		}},
		{Pattern: "fixed/" + framework.GenericNameRegex("name"), Fields: name, Operations: map[logical.Operation]framework.OperationHandler{
			logical.ReadOperation: &framework.PathOperation{Callback: issue(false)},
		}},
		{Pattern: ended, Operations: map[logical.Operation]framework.OperationHandler{
			logical.ReadOperation: &framework.PathOperation{
				Callback: func(ctx context.Context, r *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
					n, err := count(ctx, r.Storage)
					return &logical.Response{Data: map[string]any{"count": n}}, err
				},
			},
		}},
	}
	return b, b.Setup(ctx, config)
}

// count returns how many credentials were taken back.
func count(ctx context.Context, storage logical.Storage) (int, error) {
	entry, err := storage.Get(ctx, ended)
	if err != nil || entry == nil {
		return 0, err
	}
	return strconv.Atoi(string(entry.Value))
}
