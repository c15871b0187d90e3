import type { EventMetadata } from '../../schemas/events/event.ts';
import type { LoginMethod } from '../../schemas/values.ts';
import type { RateLimitStatus } from '../edge/rate-limits.ts';

/** Who holds a verified access token of a session that has not ended. */
export interface UserCaller {
  kind: 'user';
  userId: string;
  sessionId: string;
  appId: string;
  method: LoginMethod;
  /** `exp` of the token, Unix milliseconds. */
  expiresAtMs: number;
}

/** The app that signed the four headers H. */
export interface AppCaller {
  kind: 'app';
  appId: string;
  /** The `origin` header; one that the app allows. */
  origin: string;
  /** Set when the request carried a bearer token too; it is valid. */
  user: UserCaller | undefined;
}

export type Caller = UserCaller | AppCaller;

/** What a handler may know of the request beside its contents. */
export interface RequestContext {
  requestId: string;
  /** Of the client, through trusted proxies. */
  ip: string;
  userAgent: string | undefined;
  /** What to store with the events that this request causes. */
  metadata: EventMetadata;
  /** Says in the answer's headers how much of a limit is left, where the route counts by itself. */
  showRateLimit: (status: RateLimitStatus | undefined) => void;
}
