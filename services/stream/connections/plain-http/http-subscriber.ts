import type { TokenCaller } from '../../../../shared/auth/caller.ts';
import type { Claimant } from '../../../../shared/chain/identifiers/claimant.ts';
import type { Subscription } from '../../domain/subscription.ts';

/** Who sent a request for the stream. */
export interface Requester {
  /** `undefined` on a public chain, if no token was sent. */
  caller: TokenCaller | undefined;
  /** The key under which the caller is counted: that of the holder of the token, or the address. */
  holderKey: string;
  /** Whose registration of the event is meant; on a public chain nobody's, so that everybody gets the same. */
  claimant: Claimant | undefined;
  /** Aborts when the client is gone, or the answer was sent. */
  signal: AbortSignal;
}

/** What server-sent events and pages have in common: one subscription for each request, of whoever sent it. */
export abstract class HttpSubscriber {
  readonly subscriptions = new Map<string, Subscription>();
  readonly caller: TokenCaller | undefined;
  readonly holderKey: string;
  readonly claimant: Claimant | undefined;
  isWarned = false;

  constructor({ caller, holderKey, claimant, signal }: Requester) {
    this.caller = caller;
    this.holderKey = holderKey;
    this.claimant = claimant;
    signal.addEventListener('abort', () => {
      this.disconnect();
    });
  }

  abstract disconnect(): void;
}
