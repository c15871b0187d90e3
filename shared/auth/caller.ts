import type { LoginMethod } from '../../schemas/values.ts';

/** The holder of a verified access token, whose session has not ended. */
export interface UserCaller {
  kind: 'user';
  userId: string;
  sessionId: string;
  appId: string;
  method: LoginMethod;
  /** `exp` of the token in Unix milliseconds. */
  expiresAtMs: number;
}

/** The app that signed the four headers of the signature scheme H. */
export interface AppCaller {
  kind: 'app';
  appId: string;
  /** The `origin` header, which the app allows. */
  origin: string;
  /** Set when the request also has a valid bearer token. */
  user: UserCaller | undefined;
}

export type Caller = UserCaller | AppCaller;
