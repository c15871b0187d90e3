import { appStream } from '../../schemas/events/account/app-events.ts';
import { sponsorshipStream } from '../../schemas/events/onchain/sponsorship-events.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import { appFold, registeredApp } from '../../shared/auth/app.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { utcDay } from './sponsorship/sponsorships.ts';
import { spendingOn, sponsorshipFold } from './sponsorship/domain/sponsorship.ts';

/** The reserved and settled costs of an app on one UTC day. Amounts are decimal strings of wei. */
export interface DaySponsorship {
  appId: string;
  /** `2026-01-31` */
  day: string;
  /** The chains for which the app has a policy, or on which it paid. */
  chains: {
    chainId: number;
    /** The current limit; `null` if there is none. */
    dayWei: string | null;
    reserved: string;
    settled: string;
    /** The number of reserved or settled operations. */
    operations: number;
  }[];
}

/**
 * Returns what an app pays and paid on a UTC day. It needs the event store, and no running service.
 * @param day `2026-01-31`; today unless it is given
 * @throws Refusal validation_failed
 */
export const readSponsorship = async (
  { eventStore, clock, ids }: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>,
  appId: string,
  day = utcDay(clock.now()),
): Promise<DaySponsorship> => {
  const transactor = new Transactor(eventStore, clock, ids);
  const [{ state: app }, { state }] = await Promise.all([
    transactor.load(appStream(appId), appFold),
    transactor.load(sponsorshipStream(appId, day), sponsorshipFold),
  ]);
  const { policies } = registeredApp(app);
  const chainIds = new Set([...Object.keys(policies), ...Object.keys(state.chains)].map(Number));
  const chains = [...chainIds].map((chainId) => {
    const { reservedWei, settledWei, operations } = spendingOn(state, chainId);
    const dayWei = policies[chainId]?.dayWei ?? null;
    return { chainId, dayWei, reserved: String(reservedWei), settled: String(settledWei), operations };
  });
  return { appId, day, chains: chains.toSorted((one, other) => one.chainId - other.chainId) };
};
