import { systemClock, type Clock } from '../primitives/clock.ts';
import { AnnalsError } from './annals-error.ts';
import { AppSigner, type AppOptions } from './app-signer.ts';
import {
  Caller,
  type CallOptions,
  type RouteAnswer,
  type RouteArguments,
  type RouteInput,
  type RouteName,
} from './caller.ts';
import { KeptValues, type ClientStorage } from './client-storage.ts';
import { Events, type EventsOptions } from './events/events.ts';
import { Login } from './login.ts';
import { routeTable, type StreamEvent } from './routes.ts';
import { randomKey, SessionKeeper, type SessionState } from './session-keeper.ts';
import { findNodes, nodeAt } from './events/stream-nodes.ts';
import { PATIENCE, type RetryPauses } from './events/subscription.ts';
import { Transport, type ServiceUrls } from './transport.ts';

export { AnnalsError };
export type { AnnalsErrorCode } from './annals-error.ts';
export type { AppOptions, SignedRequest } from './app-signer.ts';
export type { CallOptions, RouteAnswer, RouteInput, RouteName } from './caller.ts';
export type { ClientStorage, KeyValueStore, WebStorage } from './client-storage.ts';
export type { Checkpoint, EventsOptions } from './events/events.ts';
export type { Eip1193Provider, LoginOptions, SentPassword, StartedLogin, WalletSigner } from './login.ts';
export type { EventRecord, Problem, ProblemCode, Routes, Session, StreamEvent, StreamMessages } from './routes.ts';
export type { SessionState } from './session-keeper.ts';
export type { RetryPauses, StreamState } from './events/subscription.ts';
export type { Login } from './login.ts';

export interface ClientOptions extends ServiceUrls, AppOptions {
  /** Where the session is kept, e.g. `localStorage`; default in memory. Clients that share it share the session. */
  storage?: ClientStorage | undefined;
  /** How often a query, or a command with an `idempotencyKey`, is repeated after a failure that can pass; default 3. */
  repeats?: number | undefined;
  /** Pauses before a lost stream connects again: default `{firstMs: 1000, maxMs: 30000}`. A node may ask for others. */
  retryPauses?: RetryPauses | undefined;
  clock?: Clock | undefined;
}

/** A function for each route of the interface, named as in the OpenAPI documents. */
export type RouteFunctions = {
  [Name in RouteName]: (...input: RouteArguments<Name>) => Promise<RouteAnswer<Name>>;
};

type QueryOf<Name extends RouteName> = RouteInput<Name> extends { query?: infer Query } ? Query : never;
type BodyOf<Name extends RouteName> = RouteInput<Name> extends { body?: infer Body } ? Body : never;
type Signal = Pick<CallOptions, 'signal'>;
type CommandOptions = Pick<CallOptions, 'signal' | 'idempotencyKey'>;
type Answer<Name extends RouteName> = Promise<RouteAnswer<Name>>;

export interface AnnalsClient {
  login: Login;
  /** Ends the session here and at the service. */
  logout: (options?: Signal) => Promise<void>;
  session: {
    /** `loading` until the storage was read. */
    readonly state: SessionState;
    /** Reads the session from the storage. */
    load: () => Promise<SessionState>;
    /** Calls back when somebody signs in or out, in this tab or another; returns what ends that. */
    onChange: (listener: () => void) => () => void;
  };
  /** A token that stays valid for some time, for requests of your own. */
  accessToken: (options?: Signal) => Promise<string>;
  /** The changes of a contract's event, each once and in order, for as long as you read. */
  events: (options: EventsOptions) => AsyncGenerator<StreamEvent, void>;
  /** Past events of a contract: one page. */
  query: (query: QueryOf<'queryEvents'>, options?: Signal) => Answer<'queryEvents'>;
  /** The events of contracts that are watched. */
  watches: {
    register: (body: BodyOf<'registerContract'>, options?: CommandOptions) => Answer<'registerContract'>;
    list: (query?: QueryOf<'listContracts'>, options?: Signal) => Answer<'listContracts'>;
    get: (id: string, options?: Signal) => Answer<'getContract'>;
    remove: (id: string, options?: CommandOptions) => Answer<'removeContract'>;
    pause: (id: string, options?: CommandOptions) => Answer<'pauseContract'>;
    resume: (id: string, options?: CommandOptions) => Answer<'resumeContract'>;
    replay: (id: string, body?: BodyOf<'replayContract'>, options?: CommandOptions) => Answer<'replayContract'>;
  };
  /** Sends a transaction of the user's smart account, once however often it is repeated with one `idempotencyKey`; default a new one. */
  send: (body: BodyOf<'sendTransaction'>, options?: CommandOptions) => Answer<'sendTransaction'>;
  /** A page of what happened to the user who is signed in. */
  history: (query?: QueryOf<'readHistory'>, options?: Signal) => Answer<'readHistory'>;
  routes: RouteFunctions;
}

const REPEATS = 3;

/** A client of an account service, an event catcher and its stream, for an app. */
export const createClient = (options: ClientOptions): AnnalsClient => {
  const clock = options.clock ?? systemClock;
  const prefix = `annals.${options.apiKey}.`;
  const kept = new KeptValues(options.storage ?? new Map<string, string>(), prefix);
  const renewals = {
    logInApp: () => caller.call('issueAppToken'),
    refresh: (refreshToken: string, idempotencyKey: string) =>
      caller.call('refreshSession', { body: { refreshToken }, idempotencyKey }),
  };
  const sessions = new SessionKeeper(kept, renewals, clock, `${prefix}refresh`);
  const app = new AppSigner(options, clock);
  const caller: Caller = new Caller(new Transport(options), app, sessions, options.repeats ?? REPEATS);
  const { streamUrl } = options;
  const events = new Events(
    ({ signal, ...query }) =>
      streamUrl === undefined
        ? findNodes((until) => caller.call('listNodes', { query, signal: until }), signal)
        : nodeAt(streamUrl),
    (refused) => sessions.accessToken({ refused }),
    { ...PATIENCE, ...options.retryPauses },
  );
  return {
    ...sessionFunctions(sessions, caller, new Login(caller, sessions, kept)),
    ...routeFunctions(caller, sessions, events),
  };
};

const sessionFunctions = (sessions: SessionKeeper, caller: Caller, login: Login) => ({
  login,
  logout: async ({ signal }: Signal = {}): Promise<void> => {
    try {
      await caller.call('logOut', { signal });
    } finally {
      await sessions.end();
    }
  },
  session: {
    get state() {
      return sessions.state;
    },
    load: async () => {
      await sessions.load();
      return sessions.state;
    },
    onChange: (listener: () => void) => sessions.onChange(listener),
  },
  accessToken: ({ signal }: Signal = {}) => sessions.accessToken({ signal }),
});

const routeFunctions = (
  caller: Caller,
  sessions: SessionKeeper,
  events: Events,
): Omit<AnnalsClient, keyof ReturnType<typeof sessionFunctions>> => {
  const names = Object.keys(routeTable) as RouteName[];
  const routes = Object.fromEntries(
    names.map((name) => [name, (...input: RouteArguments<RouteName>) => caller.call(name, ...input)]),
  ) as RouteFunctions;
  return {
    events: (options) => events.read(options),
    query: (query, options) => routes.queryEvents({ query, ...options }),
    watches: {
      register: (body, options) => routes.registerContract({ body, ...options }),
      list: (query = {}, options = {}) => routes.listContracts({ query, ...options }),
      get: (id, options) => routes.getContract({ params: { id }, ...options }),
      remove: (id, options) => routes.removeContract({ params: { id }, ...options }),
      pause: (id, options) => routes.pauseContract({ params: { id }, ...options }),
      resume: (id, options) => routes.resumeContract({ params: { id }, ...options }),
      replay: (id, body = {}, options = {}) => routes.replayContract({ params: { id }, body, ...options }),
    },
    send: (body, { signal, idempotencyKey = randomKey() } = {}) =>
      routes.sendTransaction({ body, signal, idempotencyKey }),
    history: async (query = {}, options = {}) =>
      routes.readHistory({ params: { id: await userIdOf(sessions) }, query, ...options }),
    routes,
  };
};

const userIdOf = async (sessions: SessionKeeper): Promise<string> => {
  const session = await sessions.load();
  if (!session) throw new AnnalsError('not_signed_in', 'sign in first');
  if (session.userId === undefined) throw new AnnalsError('forbidden', 'an app is no user');
  return session.userId;
};
