import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type JWTHeaderParameters, type JWTPayload } from 'jose';

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** As it is, or as JSON; `undefined`: takes the request and never answers. */
  body: string | object | undefined;
}

/** How it behaves; each can be changed while it runs, and without them it is an honest provider. */
interface Behaviour {
  discovery?: (document: Record<string, unknown>) => Answer;
  claims?: (claims: JWTPayload) => JWTPayload;
  /** Of the id token; `none` leaves it without a signature. */
  header?: JWTHeaderParameters | 'none';
  /** Whether another key than the published one signs. */
  isForged?: boolean;
  /** What signs in place of a key. */
  secret?: string;
  token?: (answer: Record<string, unknown>) => Answer;
  userInfo?: () => Answer;
}

/** A provider that answers what a spec wants, to logins that nobody has to make: it hands out codes by itself. */
export class HostileProvider {
  behaviour: Behaviour = {};
  /** Path of each request. */
  readonly asked: string[] = [];
  /** What the token endpoint was sent. */
  readonly exchanged: { form: URLSearchParams; authorization: string | undefined }[] = [];
  private readonly nonces = new Map<string, string>();
  private readonly server = createServer((request, response) => void this.answer(request, response));
  private readonly keys = generateKeyPair('RS256');
  private readonly otherKeys = generateKeyPair('RS256');

  constructor(readonly clientId: string) {}

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  get issuer(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** Returns a code for the login that this address begins. */
  codeFor(url: string): string {
    const code = `code-${String(this.nonces.size)}`;
    this.nonces.set(code, new URL(url).searchParams.get('nonce') ?? '');
    return code;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? '';
    this.asked.push(path);
    const { status = 200, headers = {}, body } = await this.carryOut(path, request, Buffer.concat(chunks).toString());
    if (body === undefined) return;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  private async carryOut(path: string, { headers }: IncomingMessage, text: string): Promise<Answer> {
    const { discovery, userInfo, token } = this.behaviour;
    const honest = (body: object): Answer => ({ body });
    switch (path) {
      case '/.well-known/openid-configuration':
        return (discovery ?? honest)(this.document());
      case '/keys':
        return honest({
          keys: [{ ...(await exportJWK((await this.keys).publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }],
        });
      case '/token': {
        const form = new URLSearchParams(text);
        this.exchanged.push({ form, authorization: headers.authorization });
        const idToken = await this.idToken(this.nonces.get(form.get('code') ?? ''));
        return (token ?? honest)({ access_token: 'a-token', token_type: 'bearer', id_token: idToken });
      }
      case '/me':
        return userInfo?.() ?? honest({ sub: 'mallory' });
      default:
        return { status: 404, body: {} };
    }
  }

  private document(): Record<string, unknown> {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/login`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      userinfo_endpoint: `${issuer}/me`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'none'],
    };
  }

  /** Returns an id token, as a library of the provider would in an app. */
  async idToken(nonce?: string): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const honest = { iss: this.issuer, aud: this.clientId, sub: 'mallory', iat: now, exp: now + 60 };
    const all = { ...honest, nonce, email: 'mallory@example.org' };
    const claims = this.behaviour.claims?.(all) ?? all;
    const { header = { alg: 'RS256', kid: 'k' }, isForged = false, secret } = this.behaviour;
    if (header === 'none') {
      const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
      return `${encode({ alg: 'none' })}.${encode(claims)}.`;
    }
    if (secret !== undefined) return new SignJWT(claims).setProtectedHeader(header).sign(Buffer.from(secret));
    const { privateKey } = await (isForged ? this.otherKeys : this.keys);
    return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  }
}
