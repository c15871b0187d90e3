import type { LoginMethod } from '../../schemas/values.ts';

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
