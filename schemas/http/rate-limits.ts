interface RateLimit {
  points: number;
  /** Without: so many at a time. */
  seconds?: number;
  /** Counted by all processes together, and not by each for itself. */
  shared?: true;
}

/** Every limit, by its name in the setting `RATE_LIMITS`, which may replace any of them; and by whom each is counted. */
export const rateLimits = {
  // Enforced for routes by shared/edge/admission.guard.ts; for commands of a socket by events.gateway.ts of the stream; for a
  // refresh, whose session is known only once its token is read, by refresh-session.http.ts.
  login: { points: 60, seconds: 300, shared: true }, // address
  refresh: { points: 150, seconds: 300, shared: true }, // session
  otpRequestIp: { points: 30, seconds: 3_600, shared: true }, // address
  register: { points: 60, seconds: 60, shared: true }, // user
  query: { points: 50, seconds: 1 }, // user
  request: { points: 100, seconds: 1 }, // user or address; whatever has no other name
  streamCommand: { points: 50, seconds: 1 }, // user
  send: { points: 10, seconds: 1 }, // user
  rpc: { points: 50, seconds: 1 }, // user
  rpcApp: { points: 1_000, seconds: 1 }, // app
  // Enforced by stream-limits.ts of the stream service.
  subscriptions: { points: 128 }, // connection
  connections: { points: 100 }, // user
  // Enforced by shared/edge/server/http-server.ts, before a request is read.
  address: { points: 300, seconds: 1 }, // address, whatever it asks for
  requestsPerConnection: { points: 8 }, // under way on a connection
  requestsPerAddress: { points: 256 }, // under way of an address
  connectionsPerAddress: { points: 1_000 }, // address, without sockets of the stream
  // Enforced by services/account/login/domain/one-time-password.ts.
  otpRequest: { points: 1, seconds: 60, shared: true }, // identity and app
  otpRequestDay: { points: 10, seconds: 86_400, shared: true }, // identity and app
  otpRequestAll: { points: 50, seconds: 86_400, shared: true }, // identity, at all apps where it never logged in
  // Enforced by shared/edge/answers/answer.interceptor.ts.
  storedBytes: { points: 25_000_000, seconds: 86_400, shared: true }, // user, app itself, or signing key of an app; bytes that commands store: their bodies and kept answers as sealed, and 1,000 each
  // Enforced by services/onchain/served-chains/counted-simulations.ts.
  simulatedGas: { points: 1_000_000_000, seconds: 60 }, // user or app itself; gas that a node executes for estimates
} as const satisfies Record<string, RateLimit>;

type Limits = typeof rateLimits;
export type RateLimitName = keyof Limits;
/** What is allowed at a time. */
export type AtATimeName = Exclude<RateLimitName, CountedName>;
/** What is counted within a time, as routes and commands are. */
export type CountedName = {
  [Name in RateLimitName]: Limits[Name] extends { seconds: number } ? Name : never;
}[RateLimitName];
