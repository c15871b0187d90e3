import type { AppItselfCaller, ConnectionCaller } from '../auth/caller.ts';

/** Verifies connection tokens. Bound by a service that has routes for them. */
export abstract class ConnectionCallers {
  /**
   * Returns `undefined` for a text that is not a connection token.
   * @throws Refusal token_expired, token_invalid, app_revoked
   */
  abstract verify(token: string): Promise<ConnectionCaller | AppItselfCaller | undefined>;
}
