// Command leased is a secrets engine of Vault for tests: it makes credentials under a lease, as the engines for databases
// do, without a database. creds/NAME is renewable, fixed/NAME is not; ended/USERNAME reports whether that one was revoked.
package main

import (
	"context"
	"crypto/rand"
	"os"

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
	ended = "ended/" // before the names of users in the storage
)

func factory(ctx context.Context, config *logical.BackendConfig) (logical.Backend, error) {
	b := &framework.Backend{BackendType: logical.TypeLogical}
	b.Secrets = []*framework.Secret{{
		Type: kind,
		Renew: func(_ context.Context, r *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
			return &logical.Response{Secret: r.Secret}, nil
		},
		Revoke: func(ctx context.Context, r *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
			username, _ := r.Secret.InternalData["username"].(string)
			return nil, r.Storage.Put(ctx, &logical.StorageEntry{Key: ended + username, Value: []byte("taken back")})
		},
	}}
	issue := func(renewable bool) framework.OperationFunc {
		return func(context.Context, *logical.Request, *framework.FieldData) (*logical.Response, error) {
			username := "u-" + rand.Text()
			resp := b.Secret(kind).Response(map[string]any{"username": username, "password": rand.Text()}, map[string]any{"username": username})
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
		{Pattern: ended + framework.GenericNameRegex("name"), Fields: name, Operations: map[logical.Operation]framework.OperationHandler{
			logical.ReadOperation: &framework.PathOperation{
				Callback: func(ctx context.Context, r *logical.Request, d *framework.FieldData) (*logical.Response, error) {
					entry, err := r.Storage.Get(ctx, ended+d.Get("name").(string))
					return &logical.Response{Data: map[string]any{"ended": entry != nil}}, err
				},
			},
		}},
	}
	return b, b.Setup(ctx, config)
}
