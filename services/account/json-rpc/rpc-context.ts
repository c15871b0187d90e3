import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { AppItselfCaller, UserCaller } from '../../../shared/auth/caller.ts';
import type { App } from '../domain/app.ts';
import type { ServedChain } from '../edge/served-chains.ts';

/** Who calls, and for what chain. */
export interface RpcContext {
  chain: ServedChain;
  /** Whose sponsorship pays. */
  app: App;
  caller: UserCaller | AppItselfCaller;
  metadata: EventMetadata;
  /** Aborts when nobody waits for the answer any more. */
  ended: AbortSignal;
}
