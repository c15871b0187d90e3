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
  /** Address of the key that signed. */
  signer: string;
  /** Set when the request also has a valid bearer token. */
  user: UserCaller | undefined;
}

/** The holder of a connection token, which has no session: an app, or a user by a wallet. */
export interface ConnectionCaller {
  kind: 'connection';
  by: 'app' | 'user';
  /** The id of the user or of the app. */
  userId: string;
  /** The same: who holds the claims that it makes. */
  appId: string;
  /** The id of the token, which nothing ends before its time. */
  sessionId: string;
  /** Unix milliseconds. */
  expiresAtMs: number;
}

/** An app itself: the holder of a token that its server key signed for. It speaks for no user. */
export interface AppItselfCaller {
  kind: 'app-itself';
  appId: string;
  /** The app's id, too. */
  userId: string;
  /** The id of the token. */
  sessionId: string;
  /** Address of the server key that signed for the token, which ends with it. */
  serverKey: string;
  /** Unix milliseconds. */
  expiresAtMs: number;
}

/** Who has shown a token. */
export type TokenCaller = UserCaller | AppItselfCaller | ConnectionCaller;
export type Caller = TokenCaller | AppCaller;
