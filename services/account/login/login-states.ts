import { appStream } from '../../../schemas/events/account/app-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { StateEvent } from '../../../schemas/events/account/state-events.ts';
import type { ProfileChanges } from '../../../schemas/events/account/user-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import type { Transactor, Transacted } from '../../../shared/event-store/transactions/transact.ts';
import { deriveKey } from '../../../shared/keys/derive-key.ts';
import { openText, sealText } from '../../../shared/keys/sealed-text.ts';
import { appFold } from '../../../shared/auth/app.ts';
import type { Identity } from '../users/domain/identity.ts';
import {
  denyLogin,
  endExchange,
  issueCode,
  loginStateFold,
  loginStateStream,
  receiveCode,
  redeemIssuedCode,
  redeemProof,
  startLogin,
  stateKept,
  stateOf,
  stateUnknown,
  type LoginState,
  type Returning,
} from './domain/login-state.ts';
import { redeem, type Redemption, type Wish } from './redemption.ts';

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

/** The logins that come back with a state, most of them from another site, from their start to their redemption. */
export class LoginStates {
  private readonly key: Uint8Array;

  constructor(
    private readonly transactor: Transactor,
    masterKey: Uint8Array,
  ) {
    this.key = deriveKey(masterKey, 'login states');
  }

  /**
   * Starts a login at another site.
   * @param secrets kept for `receive`, encrypted
   * @throws Refusal validation_failed unless the app registered the redirect URI; without one, its first is taken
   */
  async start(
    { redirectUri: wanted, ...start }: Departing,
    secrets: object,
    metadata: EventMetadata,
  ): Promise<Departure> {
    return this.begin({ ...start, redirectUri: await this.redirectUriOf(start.appId, wanted) }, secrets, metadata);
  }

  /** Starts a login that its own page completes. @param secrets kept for `secretsOf`, encrypted */
  startHere(
    start: Omit<Departing, 'redirectUri'>,
    secrets: object,
    lifeMs: number,
    metadata: EventMetadata,
  ): Promise<Departure> {
    return this.begin({ ...start, redirectUri: start.origin }, secrets, metadata, lifeMs);
  }

  private async begin(
    { redirectUri, ...start }: Departing & { redirectUri: string },
    secrets: object,
    metadata: EventMetadata,
    lifeMs?: number,
  ): Promise<Departure> {
    const state = this.transactor.ids.token(32); // 160 bits
    const sealedSecrets = this.seal(state, JSON.stringify(secrets));
    const started = await this.transact(state, metadata, (stored, nowMs) =>
      startLogin(stored, nowMs, { ...start, redirectUri, sealedSecrets }, lifeMs),
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
    if (!received.appended) return { proven: await this.redeemed(state, returning, () => [], metadata) };
    if (!exchange) throw new Error('the code that was received is missing');
    return { exchangeId: exchange.eventId, redirectUri, secrets: JSON.parse(this.open(state, sealedSecrets)) };
  }

  /** Returns what was kept for a login that its own page completes. @throws Refusal state_unknown */
  async secretsOf(state: string, returning: Returning): Promise<unknown> {
    const { state: stored } = await this.transactor.load(loginStateStream(state), loginStateFold);
    const { sealedSecrets } = stateOf(stored, this.transactor.clock.now(), returning);
    return JSON.parse(this.open(state, sealedSecrets));
  }

  /** Redeems a state with what its own page brought. @throws Refusal state_unknown */
  redeemProof(
    state: string,
    returning: Returning,
    { codeHash, identity: { identityId, label } }: { codeHash: string; identity: Identity },
    metadata: EventMetadata,
  ): Promise<Proven> {
    const proof = { codeHash, identityId, sealedLabel: this.seal(state, label) };
    const use = (stored: Stored, nowMs: number, sessionId: string) =>
      redeemProof(stored, nowMs, returning, { ...proof, sessionId });
    return this.redeemed(state, returning, use, metadata);
  }

  /** Redeems a state with what the provider said. @throws Refusal state_unknown if another request took the exchange over */
  async redeem(
    state: string,
    returning: Returning,
    exchangeId: string,
    { codeHash, identity, profile }: { codeHash: string; identity: Identity; profile: ProfileChanges },
    metadata: EventMetadata,
  ): Promise<Proven> {
    const { identityId, label } = identity;
    const sealedProfile = Object.keys(profile).length === 0 ? undefined : this.seal(state, JSON.stringify(profile));
    const data = {
      codeHash,
      identityId,
      sealedLabel: this.seal(state, label),
      ...(sealedProfile !== undefined && { sealedProfile }),
    };
    const use = (stored: Stored, _nowMs: number, sessionId: string) =>
      endExchange(stored, exchangeId, { type: 'LoginRedeemed', data: { ...data, sessionId } });
    return this.redeemed(state, returning, use, metadata);
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
  redeemIssued(state: string, returning: Returning, codeHash: string, metadata: EventMetadata): Promise<Proven> {
    const use = (stored: Stored, nowMs: number, sessionId: string) =>
      redeemIssuedCode(stored, nowMs, returning, { codeHash, sessionId });
    return this.redeemed(state, returning, use, metadata);
  }

  private transact(
    state: string,
    metadata: EventMetadata,
    decide: (stored: Stored, nowMs: number) => StateEvent[],
  ): Promise<Transacted<Stored>> {
    return this.transactor.transact({ ...storedAt(state, metadata), decide });
  }

  private async redeemed(
    state: string,
    { user }: Returning,
    use: (stored: Stored, nowMs: number, sessionId: string) => StateEvent[],
    metadata: EventMetadata,
  ): Promise<Proven> {
    const { redemption, state: stored } = await redeem<Stored, StateEvent>(
      this.transactor,
      {
        ...storedAt(state, metadata),
        use: (before, nowMs, { sessionId }) => use(before, nowMs, sessionId),
        recorded: (after) => after?.redemption && { ...after.redemption, ...linkOf(after) },
        used: stateUnknown,
      },
      user ? { userId: user.userId, linkTo: user.userId } : {},
    );
    const { method, redemption: proof } = present(stored);
    if (!proof) throw new Error('the state that was redeemed has no proof');
    const { identityId, sealedLabel, sealedProfile } = proof;
    const profile = sealedProfile === undefined ? {} : (JSON.parse(this.open(state, sealedProfile)) as ProfileChanges);
    return { profile, identity: { identityId, method, label: this.open(state, sealedLabel) }, redemption };
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

const storedAt = (state: string, metadata: EventMetadata) => ({
  stream: loginStateStream(state),
  fold: loginStateFold,
  metadata,
  keep: stateKept,
});

const linkOf = ({ linkTo }: LoginState): Pick<Wish, 'linkTo'> => (linkTo ? { linkTo: linkTo.userId } : {});

const present = (stored: Stored): LoginState => {
  if (!stored) throw new Error('the state is missing');
  return stored;
};
