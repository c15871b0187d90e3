import { z } from 'zod';
import { Refusal } from '../errors/refusal.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { SignedText } from '../keys/signed-text.ts';
import type { Clock } from '../primitives/clock.ts';
import type { Ids } from '../primitives/ids.ts';
import type { AppEnds } from './app-ends.ts';
import { requireServerKey } from './access-tokens.jose.ts';
import type { AppItselfCaller, ConnectionCaller } from './caller.ts';
import { holderOfWallet } from './wallet-holder.ts';

const LIFE_MS = 600_000;
/** The context with which tokens are signed. */
const CONTEXT = 'connection';

/**
 * The signer of the request for a connection token: an app, with its signing key; the app itself, with its server key;
 * or a user, with a linked wallet.
 */
const signer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('app'), appId: z.string() }),
  z.object({ kind: z.literal('app-itself'), appId: z.string(), serverKey: z.string() }),
  z.object({ kind: z.literal('user'), userId: z.string(), wallet: z.string() }),
]);
export type StreamSigner = z.infer<typeof signer>;

/** Signed form. Clients keep it until it expires. */
const payload = z.object({
  id: z.string(),
  signer,
  /** The node that accepts the token: the address of its stream, and the domain of its routes. */
  node: z.string(),
  domain: z.string(),
  /** Unix milliseconds. */
  expiresAt: z.number(),
});

/** Whether a token's node is the node of this process. */
type IsHere = (node: { address: string; domain: string }) => boolean;

interface ConnectionTokensOptions {
  edgeKey: Uint8Array;
  eventStore: Pick<EventStore, 'read'>;
  apps: Pick<AppEnds, 'isRevoked' | 'isServerKeyRevoked'>;
  clock: Clock;
  ids: Ids;
}

/** Tokens of the gateway. Each lasts ten minutes and is accepted at one node, by any of its processes. */
export class ConnectionTokens {
  private readonly texts: SignedText;

  constructor(private readonly options: ConnectionTokensOptions) {
    this.texts = new SignedText(options.edgeKey, 'connection tokens');
  }

  issue(node: { address: string; domain: string }, signedBy: StreamSigner): { token: string; expiresAtMs: number } {
    const { clock, ids } = this.options;
    const expiresAt = clock.now() + LIFE_MS;
    const given: z.infer<typeof payload> = {
      id: `con_${ids.token(26)}`,
      signer: signedBy,
      node: node.address,
      domain: node.domain,
      expiresAt,
    };
    return { token: this.texts.write(CONTEXT, JSON.stringify(given)), expiresAtMs: expiresAt };
  }

  /**
   * Returns `undefined` for a text that is not a connection token.
   * @throws Refusal token_expired, token_invalid, app_revoked
   */
  async verify(token: string, isHere: IsHere): Promise<ConnectionCaller | AppItselfCaller | undefined> {
    const read = this.texts.read(CONTEXT, token);
    if (!read) return undefined;
    const { id, signer: by, node, domain, expiresAt } = payload.parse(JSON.parse(read.toString()));
    if (!isHere({ address: node, domain })) throw new Refusal('token_invalid', "the token is another node's");
    if (expiresAt <= this.options.clock.now()) throw new Refusal('token_expired', 'ask the gateway for another one');
    await this.requireHolder(by);
    const common = { sessionId: id, expiresAtMs: expiresAt };
    if (by.kind === 'app-itself') return { ...by, userId: by.appId, ...common };
    const holder = by.kind === 'app' ? by.appId : by.userId;
    return { kind: 'connection', by: by.kind, userId: holder, appId: holder, ...common };
  }

  private async requireHolder(by: StreamSigner): Promise<void> {
    const { apps, eventStore } = this.options;
    if (by.kind === 'app') {
      if (await apps.isRevoked(by.appId)) throw new Refusal('app_revoked', 'the app was revoked');
      return;
    }
    if (by.kind === 'app-itself') {
      await requireServerKey(apps, { appId: by.appId, signer: by.serverKey });
      return;
    }
    if ((await holderOfWallet(eventStore, by.wallet)) !== by.userId)
      throw new Refusal('token_invalid', 'the wallet that signed is no longer linked to its user');
  }
}
