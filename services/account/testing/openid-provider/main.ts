import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/**
 * An OpenID provider with login pages of its own, as a process: whoever types a name into them is that person. Its
 * arguments are its port, its client and where that may be sent back to. It sends its issuer to the process that started
 * it, and prints the setting with which people log in by it.
 */
const [port = '0', clientId = '', clientSecret = '', ...redirectUris] = process.argv.slice(2);

const server = createServer();
server.listen(Number(port), '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris },
      // An app on a phone, which has no secret.
      { client_id: `${clientId}-app`, token_endpoint_auth_method: 'none', redirect_uris: redirectUris },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'given_name', 'picture'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.org`,
        email_verified: true,
        name: id,
        given_name: id,
        picture: `https://pictures.example.org/${id}.png`,
      }),
    }),
  });
  const answer = provider.callback();
  server.on('request', (request, response) => void answer(request, response));
  process.send?.(issuer);
  const setting = JSON.stringify({ issuer, clientId, clientSecret, audiences: [`${clientId}-app`] });
  process.stdout.write(`An OpenID provider is at ${issuer}. Start Annals with it:\n  OAUTH_A='${setting}' npm start\n`);
});
process.once('disconnect', () => process.exit());
