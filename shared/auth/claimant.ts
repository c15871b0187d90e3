import type { Claimant } from '../chain/claimant.ts';
import type { TokenCaller } from './caller.ts';

/** Returns as whom a caller claims watches. */
export const claimantOf = (caller: TokenCaller): Claimant => ({
  appId: caller.appId,
  userId: caller.kind === 'app-itself' ? null : caller.userId,
});
