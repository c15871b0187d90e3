import type { WatchEvent } from '../../../schemas/events/event-catcher/watch-events.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';

export type Registered = Extract<WatchEvent, { type: 'ContractRegistered' }>['data'];
export interface RegisteredWatch extends Registered {
  /** Revision of the newest event of its stream. */
  revision: number;
  /**
   * The block where it first began, or a later one if its start was moved forward: from there on its records are in
   * order.
   */
  firstBlock: number;
  /** The first block where it ever began. */
  earliestBlock: number;
  stopped?: 'pause' | 'remove' | undefined;
}

/** Stores the events of watches, each claimed by one app, and keeps track of them. */
export class Registrations {
  readonly byId = new Map<string, RegisteredWatch>();
  /** Position of the newest event. */
  upTo: Position = 0;

  constructor(private readonly store: Pick<EventStore, 'append' | 'read'>) {}

  async register(data: Registered): Promise<void> {
    this.byId.set(data.watchId, { ...data, revision: -1, firstBlock: data.startBlock, earliestBlock: data.startBlock });
    await this.append({ type: 'ContractRegistered', data });
  }

  async extend(watchId: string, startBlock: number): Promise<void> {
    const { about } = this.get(watchId);
    const watch = await this.append({ type: 'WatchExtended', data: { ...about, startBlock } });
    watch.startBlock = startBlock;
    watch.earliestBlock = Math.min(watch.earliestBlock, startBlock);
  }

  async shorten(watchId: string, startBlock: number): Promise<void> {
    const { about } = this.get(watchId);
    const watch = await this.append({ type: 'WatchShortened', data: { ...about, startBlock } });
    watch.startBlock = startBlock;
    watch.firstBlock = Math.max(watch.firstBlock, startBlock);
  }

  async stop(watchId: string, how: 'pause' | 'remove'): Promise<void> {
    const { about, registered } = this.get(watchId);
    const pause = { type: 'WatchPaused', data: { ...about, reason: 'app' } } as const;
    const removal = { type: 'WatchRemoved', data: { ...about, appId: registered.appId } } as const;
    const watch = await this.append(how === 'pause' ? pause : removal);
    watch.stopped = how;
  }

  async replay(watchId: string, fromBlock: number, toBlock: number): Promise<void> {
    const { about } = this.get(watchId);
    await this.append({ type: 'WatchReplayRequested', data: { ...about, fromBlock, toBlock } });
  }

  /** Finds a pause that the follower stored. */
  async findPause(watchId: string): Promise<boolean> {
    const watch = this.byId.get(watchId);
    const [newest] = await this.store.read(`watch-${watchId}`, { direction: 'backwards', limit: 1 });
    if (!watch || newest?.type !== 'WatchPaused') return false;
    watch.revision = newest.revision;
    watch.stopped = 'pause';
    this.upTo = Math.max(this.upTo, newest.position);
    return true;
  }

  async readAgain(watchId: string, isUnbounded: boolean): Promise<void> {
    const { about, registered, stopped } = this.get(watchId);
    const resumption = { type: 'WatchResumed', data: { ...about, isUnbounded } } as const;
    const registration = { type: 'ContractRegistered', data: registered } as const;
    const watch = await this.append(stopped === 'remove' ? registration : resumption);
    watch.stopped = undefined;
  }

  private get(watchId: string) {
    const watch = this.byId.get(watchId);
    if (!watch) throw new Error(`${watchId} is not registered`);
    const { revision: _revision, firstBlock: _first, earliestBlock: _earliest, stopped, ...registered } = watch;
    const { chainId, contractAddress } = registered;
    return { about: { watchId, chainId, contractAddress }, registered, stopped };
  }

  private async append(event: WatchEvent): Promise<RegisteredWatch> {
    const watch = this.byId.get(event.data.watchId);
    if (!watch) throw new Error(`${event.data.watchId} is not registered`);
    const { position } = await this.store.append(`watch-${watch.watchId}`, watch.revision, [anEvent(event)]);
    this.upTo = position;
    watch.revision += 1;
    return watch;
  }
}
