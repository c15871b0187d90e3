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

/** The app that signed the four headers of a request. */
export interface AppCaller {
  kind: 'app';
  appId: string;
  /** The `origin` header, which the app allows. */
  origin: string;
  /** Address of the signing key. */
  signer: string;
  /** Set when the request also has a valid bearer token. */
  user: UserCaller | undefined;
}

/** The holder of a connection token, which has no session: an app, or a user identified by a wallet. */
export interface ConnectionCaller {
  kind: 'connection';
  by: 'app' | 'user';
  /** The id of the user or of the app. */
  userId: string;
  /** The same id: the holder of the claims that this caller makes. */
  appId: string;
  /** The id of the token, which cannot be revoked before it expires. */
  sessionId: string;
  /** Unix milliseconds. */
  expiresAtMs: number;
}

/** An app itself: the holder of a token that the app's server key signed for. Does not act for a user. */
export interface AppItselfCaller {
  kind: 'app-itself';
  appId: string;
  /** Also the app's id. */
  userId: string;
  /** The id of the token. */
  sessionId: string;
  /** Address of the server key that signed for the token. Revoking the key revokes the token. */
  serverKey: string;
  /** Unix milliseconds. */
  expiresAtMs: number;
}

/** The holder of a token. */
export type TokenCaller = UserCaller | AppItselfCaller | ConnectionCaller;
export type Caller = TokenCaller | AppCaller;
