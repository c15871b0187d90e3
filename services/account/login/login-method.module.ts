import type { Provider, Type } from '@nestjs/common';
import type { LoginMethod } from '../../../schemas/values.ts';
import type { LatestState } from '../../../shared/chain/state/latest-state.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { Foundation, WithKeyVault } from '../../../shared/host/foundation.ts';
import type { Measured } from '../../../shared/host/health/measure.ts';
import type { Channels } from '../messages/channels.module.ts';
import type { IdentityIds } from './identity-ids.ts';
import type { ProviderLimits } from './log-in-with-oauth/providers/identity-provider.ts';
import type { LoginStates } from './login-states.ts';

/** What a login method is made of, besides what Nest injects. */
export interface LoginNeeds {
  foundation: Foundation & WithKeyVault;
  channels: Channels;
  latestStates: ReadonlyMap<number, LatestState>;
  transactor: Transactor;
  identityIds: IdentityIds;
  states: LoginStates;
  /** Replaces the limits of production in tests. */
  providerLimits: ProviderLimits | undefined;
}

/**
 * A way to log in, as the rest of the service knows it. Paths, rate limits and refusals are in the contracts of its routes;
 * it redeems what it was given by `redeem`, and ends in `Logins.complete`.
 */
export interface LoginMethodModule {
  /** Returns what sessions that begin with it have as their method, as far as it is set up. */
  offered: (settings: Settings) => readonly LoginMethod[];
  controllers: readonly Type[];
  open: (needs: LoginNeeds) => { providers: readonly Provider[]; measured?: readonly Measured[] };
}
