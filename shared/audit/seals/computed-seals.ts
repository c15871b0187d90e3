import { LOG_STREAM, logEvents } from '../../../schemas/events/account/log-events.ts';
import type { EventStore, StoredEvent } from '../../event-store/event-store.ts';
import { historyModel } from '../../read-models/account/history.ts';
import { NO_HASH, toHistoryLine } from '../../read-models/account/history-line.ts';
import { sealLeaf, sealTree, type SealLeaf } from './seal-tree.ts';

/** A seal that the events of the store do not give. */
export interface WrongSeal {
  /** Of the event HistoriesSealed. */
  revision: number;
  why: string;
}

/** Compares every seal with the histories that the events of the store give. */
export class ComputedSeals {
  private readonly heads = new Map<string, { items: number; hash: string }>();
  private readonly leaves = new Map<string, SealLeaf>();
  private readonly byAnchor: Map<string | undefined, StoredEvent[]>;
  /** Revision of the last seal that is compared: others are made meanwhile. */
  private readonly newest: number;
  private readonly compared = new Set<string>();
  private readonly wrong: WrongSeal[] = [];

  private constructor(seals: readonly StoredEvent[]) {
    this.newest = seals.at(-1)?.revision ?? -1;
    this.byAnchor = Map.groupBy(seals, ({ metadata }) => metadata.causationId);
  }

  /** Reads the seals, before the events that they are about are given to `add`. */
  static async of(eventStore: Pick<EventStore, 'read'>): Promise<ComputedSeals> {
    const events = await eventStore.read(LOG_STREAM);
    return new ComputedSeals(events.filter(({ type }) => type === 'HistoriesSealed'));
  }

  /** @param event the next one of the store */
  add(event: StoredEvent): void {
    const isSeal = event.type === 'HistoriesSealed' && event.stream === LOG_STREAM;
    if (isSeal && event.revision <= this.newest && !this.compared.has(event.id))
      this.wrong.push({
        revision: event.revision,
        why: 'it names no event before it, up to which histories are sealed',
      });
    if (historyModel.eventTypes.includes(event.type)) this.addToHistory(event);
    for (const seal of this.byAnchor.get(event.id) ?? []) this.compare(seal);
  }

  /** @returns how many seals are right, and those that are not */
  result(): { right: number; wrong: readonly WrongSeal[] } {
    const { compared, wrong } = this;
    return { right: compared.size - wrong.filter(({ why }) => why === CHANGED).length, wrong };
  }

  private addToHistory(event: StoredEvent): void {
    const { userId } = event.data;
    if (typeof userId !== 'string') return;
    const { items, hash: previous } = this.heads.get(userId) ?? { items: 0, hash: NO_HASH };
    const { hash } = toHistoryLine(event, previous);
    this.heads.set(userId, { items: items + 1, hash });
    this.leaves.delete(userId);
  }

  private compare(seal: StoredEvent): void {
    this.compared.add(seal.id);
    for (const [userId, head] of this.heads)
      if (!this.leaves.has(userId)) this.leaves.set(userId, sealLeaf({ userId, ...head }));
    const tree = sealTree([...this.leaves.values()]);
    const { users, root } = logEvents.HistoriesSealed.data.parse(seal.data);
    if (users !== tree.users || root !== tree.root.toString('base64'))
      this.wrong.push({ revision: seal.revision, why: CHANGED });
  }
}

const CHANGED = 'the histories are not as they were sealed';
