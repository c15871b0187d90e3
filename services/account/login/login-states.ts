import { Inject, Injectable } from '@nestjs/common';
import { appStream } from '../../../schemas/events/app-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { StateEvent } from '../../../schemas/events/state-events.ts';
import type { ProfileChanges } from '../../../schemas/events/user-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { MASTER_KEY } from '../../../shared/edge/tokens.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import { Transactor, type Transacted } from '../../../shared/event-store/transact.ts';
import { deriveKey } from '../../../shared/keys/derive-key.ts';
import { openText, sealText } from '../../../shared/keys/sealed-text.ts';
import { appFold } from '../domain/app.ts';
import type { Identity } from '../domain/identity.ts';
import {
  denyLogin,
  endExchange,
  issueCode,
  loginStateFold,
  loginStateStream,
  receiveCode,
  redeemIssuedCode,
  startLogin,
  stateKept,
  stateUnknown,
  type LoginState,
  type Returning,
} from '../domain/login-state.ts';
import type { Redemption } from './logins.ts';

/** Where somebody goes from here, with this state, to come back with a code. */
export interface Departure {
  state: string;
  redirectUri: string;
  expiresAt: string;
}

/** What a code has proved: whose login it is, and the session that was decided on. */
export interface Proven {
  identity: Identity;
  redemption: Redemption;
  /** What fills members of the profile that are empty. */
  profile: ProfileChanges;
}

type Stored = LoginState | undefined;

/** The logins that go through another site, from the state that each is given to its redemption. */
@Injectable()
export class LoginStates {
  private readonly key: Uint8Array;

  constructor(
    private readonly transactor: Transactor,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
  ) {
    this.key = deriveKey(masterKey, 'login states');
  }

  /**
   * Starts a login.
   * @param secrets kept for `receive`, encrypted
   * @throws Refusal validation_failed unless the app registered the redirect URI; without one, its first is taken
   */
  async start(
    { redirectUri: wanted, ...start }: Departing,
    secrets: object,
    metadata: EventMetadata,
  ): Promise<Departure> {
    const redirectUri = await this.redirectUriOf(start.appId, wanted);
    const state = this.transactor.ids.token(32); // 160 bits
    const sealedSecrets = this.seal(state, JSON.stringify(secrets));
    const started = await this.transact(state, metadata, (stored, nowMs) =>
      startLogin(stored, nowMs, { ...start, redirectUri, sealedSecrets }),
    );
    return { state, redirectUri, expiresAt: present(started.state).expiresAt };
  }

  /**
   * Receives a code for a provider. Of all who send one at once, one is to exchange it.
   * @returns what the code has proved already, or else the exchange, with what was kept for it
   * @throws Refusal state_unknown
   */
  async receive(
    state: string,
    returning: Returning,
    codeHash: string,
    metadata: EventMetadata,
  ): Promise<{ proven: Proven } | { exchangeId: string; redirectUri: string; secrets: unknown }> {
    const received = await this.transact(state, metadata, (stored, nowMs) =>
      receiveCode(stored, nowMs, returning, codeHash),
    );
    const { exchange, redirectUri, sealedSecrets } = present(received.state);
    if (!received.appended) return { proven: this.provenBy(state, received) };
    if (!exchange) throw new Error('the code that was received is missing');
    return { exchangeId: exchange.eventId, redirectUri, secrets: JSON.parse(this.open(state, sealedSecrets)) };
  }

  /** Redeems a state with what the provider said. @throws Refusal state_unknown if another request took the exchange over */
  async redeem(
    state: string,
    exchangeId: string,
    proof: { codeHash: string; sessionId: string; identity: Identity; profile: ProfileChanges },
    metadata: EventMetadata,
  ): Promise<Proven> {
    const { codeHash, sessionId, identity, profile } = proof;
    const { identityId, label } = identity;
    const sealedProfile = Object.keys(profile).length === 0 ? undefined : this.seal(state, JSON.stringify(profile));
    const data = {
      codeHash,
      sessionId,
      identityId,
      sealedLabel: this.seal(state, label),
      ...(sealedProfile !== undefined && { sealedProfile }),
    };
    const outcome = { type: 'LoginRedeemed', data } as const;
    return this.provenBy(state, await this.end(state, exchangeId, outcome, metadata));
  }

  /** Ends an exchange that proved nothing. */
  async end(
    state: string,
    exchangeId: string,
    outcome: StateEvent,
    metadata: EventMetadata,
  ): Promise<Transacted<Stored>> {
    return this.transact(state, metadata, (stored) => endExchange(stored, exchangeId, outcome));
  }

  /** Ends the login of who came back without a code. Returns whether it was theirs, and open. */
  async deny(state: string, returning: Returning, metadata: EventMetadata): Promise<boolean> {
    const { appended } = await this.transact(state, metadata, (stored, nowMs) => denyLogin(stored, nowMs, returning));
    return appended;
  }

  /** Issues the code of a login to whoever brought its state. @throws Refusal state_unknown */
  async issue(
    state: string,
    { codeHash, identityId, label }: { codeHash: string; identityId: string; label: string },
    metadata: EventMetadata,
  ): Promise<{ redirectUri: string }> {
    const sealedLabel = this.seal(state, label);
    const { state: stored } = await this.transact(state, metadata, (current, nowMs) =>
      issueCode(current, nowMs, { codeHash, identityId, sealedLabel }),
    );
    return present(stored);
  }

  /** Redeems a state with the code that was issued for it. @throws Refusal state_unknown */
  async redeemIssued(
    state: string,
    returning: Returning,
    redemption: { codeHash: string; sessionId: string },
    metadata: EventMetadata,
  ): Promise<Proven> {
    const redeemed = await this.transact(state, metadata, (stored, nowMs) =>
      redeemIssuedCode(stored, nowMs, returning, redemption),
    );
    return this.provenBy(state, redeemed);
  }

  private transact(
    state: string,
    metadata: EventMetadata,
    decide: (stored: Stored, nowMs: number) => StateEvent[],
  ): Promise<Transacted<Stored>> {
    const stream = loginStateStream(state);
    return this.transactor.transact({ stream, fold: loginStateFold, metadata, keep: stateKept, decide });
  }

  private provenBy(state: string, { state: stored }: Transacted<Stored>): Proven {
    const { method, linkTo, redemption } = present(stored);
    if (!redemption) throw stateUnknown();
    const { sessionId, eventId, identityId, sealedLabel, sealedProfile } = redemption;
    const profile = sealedProfile === undefined ? {} : (JSON.parse(this.open(state, sealedProfile)) as ProfileChanges);
    return {
      profile,
      identity: { identityId, method, label: this.open(state, sealedLabel) },
      redemption: { sessionId, eventId, ...(linkTo && { linkTo: linkTo.userId }) },
    };
  }

  private async redirectUriOf(appId: string, wanted: string | undefined): Promise<string> {
    const { state: app } = await this.transactor.load(appStream(appId), appFold);
    const registered = app?.redirectUris ?? [];
    const redirectUri = wanted ?? registered[0];
    if (redirectUri !== undefined && registered.includes(redirectUri)) return redirectUri;
    throw invalid({ path: 'redirectUri', message: 'is not registered with the app' });
  }

  private seal(state: string, text: string): string {
    return sealText(this.key, loginStateStream(state), text);
  }

  private open(state: string, sealedText: string): string {
    return openText(this.key, loginStateStream(state), sealedText);
  }
}

/** Who starts a login, and where it is to come back. */
interface Departing {
  method: LoginMethod;
  appId: string;
  origin: string;
  redirectUri: string | undefined;
  /** Set where it links. */
  linkTo?: { userId: string; sessionId: string };
}

const present = (stored: Stored): LoginState => {
  if (!stored) throw new Error('the state is missing');
  return stored;
};
