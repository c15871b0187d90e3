import { z } from 'zod';
import { appStream } from '../../../../schemas/events/account/app-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { isPartOf } from '../../apps/domain/app.ts';
import { appFold, liveApp } from '../../../../shared/auth/app.ts';
import { stateUnknown } from '../domain/login-state.ts';
import type { IdentityIds } from '../identity-ids.ts';
import type { LoginStates } from '../login-states.ts';
import type { LoginCaller } from '../logins.ts';

/** How long a person may take, in milliseconds. */
export const PASSKEY_TIMEOUT_MS = 5 * 60_000;

const CEREMONIES = ['register', 'log in'] as const;
type Ceremony = (typeof CEREMONIES)[number];
const keptSchema = z.object({
  ceremony: z.enum(CEREMONIES),
  /** In base64url. */
  challenge: z.string(),
  rpId: z.string(),
  /** To whom a passkey that is made will belong; empty of a login. */
  userId: z.string(),
});

/** The states of logins with passkeys, each with the challenge that a passkey signs. */
export class PasskeyStates {
  constructor(
    private readonly transactor: Transactor,
    private readonly states: LoginStates,
    private readonly identityIds: IdentityIds,
  ) {}

  /** @throws Refusal origin_not_allowed */
  async begin({ appId, origin, user }: LoginCaller, ceremony: Ceremony, metadata: EventMetadata, userId = '') {
    const rp = await this.relyingParty(appId, origin);
    const challenge = Buffer.from(this.transactor.ids.token(52)).toString('base64url'); // 260 bits
    const linkTo = user && { userId: user.userId, sessionId: user.sessionId };
    const start = { method: 'passkey' as const, appId, origin, ...(linkTo && { linkTo }) };
    const kept: z.infer<typeof keptSchema> = { ceremony, challenge, rpId: rp.id, userId };
    const { state } = await this.states.startHere(start, kept, PASSKEY_TIMEOUT_MS, metadata);
    return { state, challenge, rp };
  }

  /** Returns what was kept for a state, to who began it for the same purpose. @throws Refusal state_unknown */
  async open(state: string, { appId, origin, user }: LoginCaller, ceremony: Ceremony) {
    const returning = { method: 'passkey', appId, origin, user } as const;
    const kept = keptSchema.parse(await this.states.secretsOf(state, returning));
    if (kept.ceremony !== ceremony) throw stateUnknown();
    return { ...kept, expected: { challenge: kept.challenge, rpId: kept.rpId, origin }, returning };
  }

  /** The identity of a passkey: its owner sees the site at which it logs in. */
  identityOf({ rpId, credentialId }: { rpId: string; credentialId: string }) {
    const identityId = this.identityIds.keyedIdentity('passkey', JSON.stringify([rpId, credentialId]));
    return { identityId, method: 'passkey' as const, label: rpId };
  }

  private async relyingParty(appId: string, origin: string): Promise<{ id: string; name: string }> {
    const { state } = await this.transactor.load(appStream(appId), appFold);
    const { name, rpId } = liveApp(state);
    const { hostname } = new URL(origin);
    if (rpId === undefined || isPartOf(hostname, rpId)) return { id: rpId ?? hostname, name };
    throw new Refusal('origin_not_allowed', `the passkeys of this app are for ${rpId} and its subdomains`);
  }
}
