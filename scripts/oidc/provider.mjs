// A real OpenID provider on loopback, for tests of single sign-on: the certified library oidc-provider, with accounts that
// need no password. Usage: node provider.mjs MODULES, where MODULES is a folder in which install.sh put the library. It
// listens on a free port, prints its issuer in one line, and ends when its stdin does.
//
// The account "ann" is of the groups devs and everyone and of the domain example.com, "boss" of admins, "eve" of another
// domain and without a verified address.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const { Provider } = await import(pathToFileURL(resolve(process.argv[2], 'node_modules/oidc-provider/lib/index.js')));
const server = createServer();
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
const groups = { ann: ['devs', 'everyone'], boss: ['admins', 'everyone'] };
const client = (id, more) => ({
  client_id: id, client_secret: 'sekret', redirect_uris: ['http://127.0.0.1/auth/callback'],
  post_logout_redirect_uris: ['http://127.0.0.1/'], ...more,
});
const provider = new Provider(issuer, {
  clients: [
    client('wardroom'),
    client('posted', { token_endpoint_auth_method: 'client_secret_post' }),
    client('public', { client_secret: undefined, token_endpoint_auth_method: 'none' }),
  ],
  scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'],
  claims: { openid: ['sub', 'hd'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
  // WARDROOM_OIDC_USERINFO=1: claims are in the answer about the user alone, as the standard prefers it.
  conformIdTokenClaims: process.env.WARDROOM_OIDC_USERINFO === '1',
  findAccount: async (_ctx, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id, name: `Name of ${id}`, preferred_username: id, email: `${id}@example.com`, email_verified: id !== 'eve',
      groups: groups[id] || ['everyone'], hd: id === 'eve' ? 'elsewhere.example' : 'example.com',
    }),
  }),
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true }, revocation: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ['test'] },
  ttl: { AccessToken: 300, IdToken: 300, Session: 3600, Grant: 3600, Interaction: 600 },
});
// Servers of tests are on ports of their own.
provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/127\.0\.0\.1:\d+(\/[^?#]*)?\/auth\/callback$/.test(uri);
provider.Client.prototype.postLogoutRedirectUriAllowed = (uri) => /^http:\/\/127\.0\.0\.1:\d+(\/|$)/.test(uri);
server.on('request', provider.callback());
process.stdin.on('end', () => process.exit(0)).resume();
console.log(issuer);
