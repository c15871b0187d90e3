import { Inject, Injectable } from '@nestjs/common';
import { claimsOf } from '../../../shared/chain/identifiers/claimant.ts';
import { filtersByName, type WatchSelector } from '../../../shared/chain/identifiers/watch-names.ts';
import { NAMED_MAX, UNNAMED_MAX } from '../../../shared/edge/meant-watches.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { inPieces } from '../../../shared/primitives/in-pieces.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { watchStatesModel } from '../../../shared/read-models/event-catcher/watch-states.ts';
import type { WatchDocument } from '../../../shared/read-models/event-catcher/watches.ts';
import type { Filter, ReadStore } from '../../../shared/read-store/read-store.ts';

const { current, formerState, formerClaims } = watchStatesModel.collections;

/** What of a watch may change. */
type WatchState = Pick<WatchDocument, 'startBlock' | 'proxy' | 'paused' | 'claimedSince'>;

/** How a page of watches is selected: none of the removed ones. */
export interface WatchPage {
  filter: Filter;
  skip: number;
  take: number;
}

/**
 * Finds watches as of an earlier position. A watch is in the state of the time if that has not changed since. Otherwise
 * one former state has it: it began at or before the position, and was ended by a later event. A change stores the
 * former state first, so current states are read before former ones.
 */
@Injectable()
export class EarlierWatches {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  /** @throws Refusal watch_not_found, not_caught_up */
  async byId(id: string, asOf: Position): Promise<WatchDocument> {
    await this.models.reachedOnce(watchStatesModel.name, asOf);
    const [found] = (await this.inStatesOf([id], asOf)).values();
    if (!found) throw new Refusal('watch_not_found', 'no registration had this id then');
    return found;
  }

  /** Returns a page in the order of ids, and how many watches there are in all. @throws Refusal not_caught_up */
  async list({ filter, skip, take }: WatchPage, asOf: Position): Promise<{ watches: WatchDocument[]; total: number }> {
    await this.models.reachedOnce(watchStatesModel.name, asOf);
    const [unchangedThen, changedSince] = [currentAt(asOf, filter), formerAt(asOf, filter)];
    const limit = skip + take;
    const unchanged = await this.readStore.find(current.name, { filter: unchangedThen, sort: [['id', 'asc']], limit });
    const changed = await this.readStore.find(formerState.name, {
      filter: changedSince,
      sort: [['watchId', 'asc']],
      limit,
    });
    const ids = new Set([
      ...unchanged.map(({ id }) => id),
      ...changed.map(({ document }) => formerState.document.parse(document).watchId),
    ]);
    const shown = [...ids].sort().slice(skip, limit);
    const states = await this.inStatesOf(shown, asOf);
    const total =
      (await this.readStore.count(current.name, unchangedThen)) +
      (await this.readStore.count(formerState.name, changedSince));
    return { watches: shown.flatMap((id) => states.get(id) ?? []), total };
  }

  /**
   * Returns the watches of a contract that the caller may have meant then, with the caller's claims of then, as
   * `findMeantWatches` does for now.
   * @throws Refusal watch_not_found, not_caught_up
   */
  async ofContract(
    contract: { chainId: number; contractAddress: string },
    selector: WatchSelector,
    asOf: Position,
  ): Promise<WatchDocument[]> {
    await this.models.reachedOnce(watchStatesModel.name, asOf);
    const { chainId, contractAddress } = contract;
    const ofContract = { chainId, contractAddress };
    const claims = claimsOf(selector.caller);
    const ids =
      selector.watchId === undefined ? await this.meantIds(ofContract, selector, claims, asOf) : [selector.watchId];
    const states = await this.inStatesOf(ids, asOf);
    const found = [...states.values()].filter(
      (one) => one.chainId === chainId && one.contractAddress === contractAddress,
    );
    if (found.length > 0) return this.withClaims(found, claims, asOf);
    if (selector.watchId !== undefined)
      throw new Refusal('watch_not_found', 'this contract had no such watchId on this chain then');
    if ((await this.list({ filter: ofContract, skip: 0, take: 1 }, asOf)).watches.length > 0) return [];
    throw new Refusal('watch_not_found', 'no event of this contract was registered on this chain then');
  }

  private async meantIds(
    ofContract: Filter,
    { name }: WatchSelector,
    claims: readonly string[],
    asOf: Position,
  ): Promise<string[]> {
    const limit = name === undefined ? UNNAMED_MAX : NAMED_MAX;
    const ids = new Set<string>();
    const add = async (collection: string, filter: Filter, member: string) => {
      const found = await this.readStore.find(collection, { filter, sort: [[member, 'asc']], limit });
      for (const { id, document } of found) ids.add(collection === current.name ? id : former.parse(document).watchId);
    };
    for (const byName of name === undefined ? [{}] : filtersByName(name)) {
      const filter = { ...ofContract, ...byName };
      for (const claim of claims) {
        const member = `claimPositions.${claim}`;
        const claimed = { ...filter, [member]: { lte: asOf } };
        await add(current.name, claimed, member);
        await add(formerClaims.name, { ...claimed, until: { gt: asOf } }, member);
      }
      await add(current.name, currentAt(asOf, filter), 'claimedSince');
      await add(formerState.name, formerAt(asOf, filter), 'claimedSince');
    }
    return [...ids];
  }

  /** Replaces the claims of these watches by those that the claimants had then. */
  private async withClaims(
    watches: readonly WatchDocument[],
    claims: readonly string[],
    asOf: Position,
  ): Promise<WatchDocument[]> {
    const dropped = new Map<string, Record<string, number>>();
    for (const some of inPieces(
      watches.map(({ id }) => id),
      IDS_AT_ONCE,
    )) {
      for (const claim of claims) {
        const filter = { watchId: { in: some }, [`claimPositions.${claim}`]: { lte: asOf }, until: { gt: asOf } };
        for (const { document } of await this.readStore.find(formerClaims.name, { filter, limit: some.length })) {
          const { watchId, claimPositions } = formerClaims.document.parse(document);
          dropped.set(watchId, { ...dropped.get(watchId), [claim]: claimPositions[claim] ?? 0 });
        }
      }
    }
    return watches.map((one) => {
      const held = Object.entries(one.claimPositions).filter(
        ([claim, position]) => claims.includes(claim) && position <= asOf,
      );
      return { ...one, claimPositions: { ...dropped.get(one.id), ...Object.fromEntries(held) } };
    });
  }

  /** Returns these watches as they were, without those that were not there. */
  private async inStatesOf(ids: readonly string[], asOf: Position): Promise<Map<string, WatchDocument>> {
    const found = new Map<string, WatchDocument>();
    for (const some of inPieces(ids, IDS_AT_ONCE)) {
      const stored = await this.readStore.getMany(current.name, some);
      const filter = formerAt(asOf, { watchId: { in: some } });
      const former = await this.readStore.find(formerState.name, { filter, limit: some.length });
      const parsed = former.map(({ document }) => formerState.document.parse(document));
      const states = new Map(parsed.map((state) => [state.watchId, state]));
      for (const [id, { document }] of stored) {
        const known = current.document.parse(document);
        const state = known.stateSince > asOf ? states.get(id) : known.isRemoved ? undefined : known;
        if (state) found.set(id, { ...known, ...stateIn(state), isRemoved: false });
      }
    }
    return found;
  }
}

const former = formerState.document.pick({ watchId: true });

/** A filter of SQLite has some thousand values at most. */
const IDS_AT_ONCE = 1_000;

const currentAt = (asOf: Position, filter: Filter): Filter => ({
  ...filter,
  isRemoved: false,
  stateSince: { lte: asOf },
});

const formerAt = (asOf: Position, filter: Filter): Filter => ({ ...filter, since: { lte: asOf }, until: { gt: asOf } });

const stateIn = ({ startBlock, proxy, paused, claimedSince }: WatchState): WatchState => ({
  ...{ startBlock, proxy, paused, claimedSince },
});
