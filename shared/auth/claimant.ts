import type { Claimant } from '../chain/identifiers/claimant.ts';
import type { TokenCaller } from './caller.ts';

/** Returns the claimant that holds a caller's claims on watches; `userId` is `null` if the app itself calls. */
export const claimantOf = (caller: TokenCaller): Claimant => ({
  appId: caller.appId,
  userId: caller.kind === 'app-itself' ? null : caller.userId,
});
