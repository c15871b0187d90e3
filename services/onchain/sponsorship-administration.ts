import { appStream } from '../../../schemas/events/app-events.ts';
import { sponsorshipStream } from '../../../schemas/events/sponsorship-events.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { appFold, registeredApp } from '../domain/app.ts';
import { spendingOn, sponsorshipFold } from '../domain/sponsorship.ts';

/** What an app pays and paid on one UTC day. Amounts are decimal strings of wei. */
export interface DaySponsorship {
  appId: string;
  /** `2026-01-31` */
  day: string;
  /** Those that it has a policy for, or paid something on. */
  chains: {
    chainId: number;
    /** Its limit now; `null` without one. */
    dayWei: string | null;
    reserved: string;
    settled: string;
    /** How many are reserved or settled. */
    operations: number;
  }[];
}

/** @throws Refusal validation_failed */
export const readSponsorship = async (
  transactor: Pick<Transactor, 'load'>,
  appId: string,
  day: string,
): Promise<DaySponsorship> => {
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
