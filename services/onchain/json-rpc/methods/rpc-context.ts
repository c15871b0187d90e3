import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { AppItselfCaller, UserCaller } from '../../../../shared/auth/caller.ts';
import type { App } from '../../../../shared/auth/app.ts';
import type { ServedChain } from '../../served-chains/served-chains.ts';

/** The caller, and the chain of the call. */
export interface RpcContext {
  chain: ServedChain;
  /** The app whose sponsorship pays. */
  app: App;
  caller: UserCaller | AppItselfCaller;
  metadata: EventMetadata;
  /** Aborts when the caller does not wait for the answer any more. */
  ended: AbortSignal;
}
