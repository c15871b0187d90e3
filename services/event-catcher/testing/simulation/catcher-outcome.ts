import type { CatcherInvariants } from './catcher-invariants.ts';
import type { RegisteredWatch } from '../registrations.ts';
import type { SimulatedApps } from './simulated-apps.ts';
import type { Branch, SimulatedChain } from '../../../../shared/testing/chain/simulated-chain.ts';
import { isUntrue, type CatcherNature } from '../simulated-chain/simulated-nature.ts';
import { mayLeaveOut } from '../simulated-chain/simulated-oddities.ts';
import { recordsOf } from './simulated-records.ts';
import type { SimulatedStore } from './simulated-store.ts';
import { firstGiven, isAmong, type Unread } from './unread-ranges.ts';

/** The outcome of a simulation once nothing goes wrong any more. */
export class CatcherOutcome {
  /** The watches whose status says that they cannot be read or verified, and why. */
  private readonly told = new Set<string>();

  constructor(
    private readonly nature: CatcherNature,
    private readonly chain: SimulatedChain,
    private readonly invariants: CatcherInvariants,
    private readonly apps: Pick<SimulatedApps, 'registrations'>,
    private readonly store: Pick<SimulatedStore, 'late'>,
  ) {}

  /** @param isTold what the status of a watch says now */
  tell(isTold: (watchId: string) => boolean): void {
    for (const watchId of this.apps.registrations.byId.keys()) if (isTold(watchId)) this.told.add(watchId);
  }

  /**
   * Returns what is still to be done.
   * @param finalNumber the newest block that must be final and verified
   */
  left(finalNumber: number): string | undefined {
    const { invariants, chain, apps, store } = this;
    const { progress, verification } = invariants;
    const { upTo } = apps.registrations;
    if (progress?.window.at(-1)?.hash !== chain.tip.hash) return 'the head is not followed';
    if (progress.finalized < finalNumber) return 'blocks that are final are not taken for final';
    if (progress.watchesUpTo < upTo) return 'what apps wanted is not taken into account';
    const watches = Array.from(apps.registrations.byId.values());
    if (watches.some((watch) => invariants.unread(watch.watchId).some((range) => !this.mayStay(range, watch))))
      return 'blocks are not read';
    if (!verification || verification.watchesUpTo < upTo || verification.verified < finalNumber)
      return 'final blocks are not verified';
    if (verification.behind.some(({ next }) => next <= finalNumber)) return 'watches are not verified';
    // A development chain that started again has to reach those blocks first.
    if (verification.replays?.some(({ next }) => next <= finalNumber)) return 'blocks are not replayed';
    return store.late > 0 ? 'an append is under way' : undefined;
  }

  /**
   * Returns how the stored records differ from the chain in the end. Records that an endpoint still withholds must be
   * stored once they are final.
   */
  differences(): string[] {
    const { invariants, nature, apps } = this;
    const isLeftOut = nature.endpoints.some(
      ({ lasting, odd, answers }) => mayLeaveOut(odd) || lasting.some(isUntrue) || (answers && !nature.isTrue),
    );
    const end = isLeftOut ? (invariants.verification?.verified ?? 0) + 1 : Infinity;
    return Array.from(apps.registrations.byId.values()).flatMap((watch) => this.differencesOf(watch, end));
  }

  /** Whether blocks may stay unread: nobody wants them, or no provider has them and the status says so. */
  private mayStay({ gap, joins, to }: Unread, { startBlock }: Pick<RegisteredWatch, 'startBlock'>): boolean {
    if (joins) return false;
    return (
      to < startBlock || (gap !== undefined && (this.nature.mayBeMissing || to < firstGiven(this.nature.endpoints)))
    );
  }

  private differencesOf(watch: RegisteredWatch, end: number): string[] {
    const { watchId, startBlock, firstBlock, earliestBlock } = watch;
    const { chain, invariants, nature } = this;
    const observed = invariants.records(watchId);
    const gaps = invariants.unread(watchId).filter((range) => this.mayStay(range, watch));
    if (nature.mayBeMissing && this.told.has(watchId)) return [];
    const ofWatch = (blocks: Branch) =>
      blocks.filter(({ header }) => !isAmong(gaps, header.number)).flatMap((block) => recordsOf(watchId, block));
    // What a provider withheld of blocks that nobody has any more is unknown. The status says that they are not
    // verified.
    const skipped = (invariants.verification?.skipped ?? []).filter(({ watchIds }) => watchIds.includes(watchId));
    const isVerified = ({ header: { number } }: Branch[number]) =>
      nature.isTrue || !skipped.some(({ next, to }) => next <= number && number <= to);
    const expected = ofWatch(chain.canonical.slice(startBlock, end).filter(isVerified));
    const missing = expected.filter((key) => !observed.has(key)).map((key) => `${key} is missing`);
    const known = new Set(ofWatch(chain.canonical.slice(earliestBlock)));
    const wrong = [...observed]
      .filter(([key, { BlockNumber }]) => BlockNumber < end && !known.has(key))
      .map(([key]) => `${key} is not on the chain`);
    if (missing.length > 0 || wrong.length > 0) return [...missing, ...wrong];
    if (!nature.isTrue) return [];
    // An extension backwards adds earlier blocks later, and so does a gap that is read in the end.
    const isInOrder = (key: string) => {
      const number = observed.get(key)?.BlockNumber ?? -1;
      return number >= firstBlock && !invariants.wasInGap(watchId, number);
    };
    const [stored, inOrder] = [[...observed.keys()].filter(isInOrder), [...known].filter(isInOrder)];
    return stored.join() === inOrder.join() ? [] : [`records of ${watchId} are not in the order of the chain`];
  }
}
