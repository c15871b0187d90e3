import type { StateEvent } from '../../../../schemas/events/account/state-events.ts';
import type { LoginMethod } from '../../../../schemas/values.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Retention } from '../../../../shared/event-store/event-store.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';

const LIFE_MS = 10 * 60_000;
/** Longer than a request waits for a provider: without an outcome for so long, its process is assumed to have crashed. */
const EXCHANGE_MS = 6_000;
/** What the stream keeps: far longer than a state is valid, whatever the clocks of two machines say. */
export const stateKept = { seconds: 3_600 } as const satisfies Retention;

/** The stream does not name the state, which is a secret of whoever logs in. */
export const loginStateStream = (state: string): string => `state-${sha256(state)}`;

type EventData<Type extends StateEvent['type']> = Extract<StateEvent, { type: Type }>['data'];

/** Who proved to be whom, with the identity's label encrypted. */
type Proof = EventData<'LoginCodeIssued'>;

/** One login that goes through another site: it starts here, leads there, and comes back with a code. */
export interface LoginState extends EventData<'LoginStarted'> {
  /** A code that is exchanged at the provider now. */
  exchange: { eventId: string; codeHash: string; since: number } | undefined;
  /** The code that the messenger user was given. */
  issued: Proof | undefined;
  /** With the id of its event. */
  redemption: (EventData<'LoginRedeemed'> & { eventId: string }) | undefined;
  isRefused: boolean;
}

type State = LoginState | undefined;

const isBusy = ({ exchange }: LoginState, nowMs: number): boolean =>
  exchange !== undefined && nowMs - exchange.since < EXCHANGE_MS;

export const loginStateFold = {
  initial: undefined as State,
  evolve: (state: State, { type, data }: StateEvent, time: number, eventId: string): State => {
    if (type === 'LoginStarted') {
      return { ...data, exchange: undefined, issued: undefined, redemption: undefined, isRefused: false };
    }
    if (!state) return undefined;
    switch (type) {
      case 'LoginCodeReceived':
        // Of two that were stored at once, the first counts.
        return isBusy(state, time) ? state : { ...state, exchange: { ...data, eventId, since: time } };
      case 'LoginCodeReturned':
        return { ...state, exchange: undefined };
      case 'LoginCodeIssued':
        return { ...state, issued: state.issued ?? data };
      case 'LoginRedeemed':
        return { ...state, exchange: undefined, redemption: state.redemption ?? { ...data, eventId } };
      case 'LoginRefused':
        return { ...state, exchange: undefined, isRefused: true };
    }
  },
};

/** A state is made of randomness, so it exists once; started twice, it is the first one's. */
export const startLogin = (
  state: State,
  nowMs: number,
  start: Omit<EventData<'LoginStarted'>, 'expiresAt'>,
  lifeMs = LIFE_MS,
): StateEvent[] => (state ? [] : [{ type: 'LoginStarted', data: { ...start, expiresAt: toIso(nowMs + lifeMs) } }]);

/** Who sends the state back. */
export interface Returning {
  method: LoginMethod;
  appId: string;
  origin: string;
  /** Of the bearer token, if there is one. */
  user: { userId: string; sessionId: string } | undefined;
}

/**
 * Whether a state is valid, for whoever may complete it: the app and origin that started it, and the session if one did.
 * So nobody can make a signed-in person link, or enter, somebody else's login.
 */
const isTheirs = (state: State, nowMs: number, returning: Returning): state is LoginState => {
  if (!state || Date.parse(state.expiresAt) <= nowMs || state.isRefused) return false;
  const { method, appId, origin, linkTo } = state;
  const isSame = method === returning.method && appId === returning.appId && origin === returning.origin;
  return isSame && linkTo?.sessionId === returning.user?.sessionId;
};

/** Returns a state to whoever may complete it. @throws Refusal state_unknown */
export const stateOf = (state: State, nowMs: number, returning: Returning): LoginState => {
  if (!isTheirs(state, nowMs, returning)) throw stateUnknown();
  return state;
};

/**
 * Of all who send a code at once, one exchanges it. After the redemption the same code changes nothing: its login can be
 * completed, should a crash have interrupted it.
 */
export const receiveCode = (state: State, nowMs: number, returning: Returning, codeHash: string): StateEvent[] => {
  const theirs = stateOf(state, nowMs, returning);
  if (theirs.redemption?.codeHash === codeHash) return [];
  if (theirs.redemption || isBusy(theirs, nowMs)) throw stateUnknown();
  return [{ type: 'LoginCodeReceived', data: { codeHash } }];
};

/** What became of an exchange. Only its own outcome counts: another request may have taken it over. */
export const endExchange = (state: State, exchangeId: string, outcome: StateEvent): StateEvent[] =>
  state?.exchange?.eventId === exchangeId && !state.redemption ? [outcome] : [];

/** The first messenger user who opens the bot with the state is given its code. */
export const issueCode = (state: State, nowMs: number, proof: Proof): StateEvent[] => {
  if (state?.method !== 'messenger' || Date.parse(state.expiresAt) <= nowMs || state.redemption) throw stateUnknown();
  if (state.issued && state.issued.codeHash !== proof.codeHash) throw stateUnknown();
  return state.issued ? [] : [{ type: 'LoginCodeIssued', data: proof }];
};

/** Redeems the code that was issued, once: a state that is redeemed keeps its session. */
export const redeemIssuedCode = (
  state: State,
  nowMs: number,
  returning: Returning,
  { codeHash, sessionId }: { codeHash: string; sessionId: string },
): StateEvent[] => {
  const { issued, redemption } = stateOf(state, nowMs, returning);
  if (issued?.codeHash !== codeHash) throw stateUnknown();
  return redemption ? [] : [{ type: 'LoginRedeemed', data: { ...issued, sessionId } }];
};

/** Redeems a state with what its own page brings, once: the same again changes nothing. */
export const redeemProof = (
  state: State,
  nowMs: number,
  returning: Returning,
  proof: EventData<'LoginRedeemed'>,
): StateEvent[] => {
  const { redemption } = stateOf(state, nowMs, returning);
  if (redemption && redemption.codeHash !== proof.codeHash) throw stateUnknown();
  return redemption ? [] : [{ type: 'LoginRedeemed', data: proof }];
};

/** The person refused at the provider. It ends a login that is theirs and open, and nothing else. */
export const denyLogin = (state: State, nowMs: number, returning: Returning): StateEvent[] => {
  if (!isTheirs(state, nowMs, returning) || state.redemption || isBusy(state, nowMs)) return [];
  return [{ type: 'LoginRefused', data: { code: 'oauth_denied' } }];
};

export const stateUnknown = (): Refusal =>
  new Refusal(
    'state_unknown',
    'start the login again; a state can be used once, for some minutes, by whoever started it',
  );
