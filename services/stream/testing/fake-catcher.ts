import { hash } from 'node:crypto';
import type { PauseReason } from '../../../schemas/events/event-catcher/watch-events.ts';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import { CATCHERS_KIND, type CatcherAnnouncement } from '../../../schemas/announcements.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { Change } from '../../../schemas/socket/stream-messages.ts';
import { contractKey, topics } from '../../../schemas/topics.ts';
import {
  bareSignature,
  parseEventSignature,
  topicOfSignature,
} from '../../../shared/chain/identifiers/event-signature.ts';
import { readAddress } from '../../../shared/chain/identifiers/address.ts';
import { MessageMacs } from '../../../shared/message-bus/genuine/message-macs.ts';
import type { MessageBus, MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { storedEvent } from '../../../shared/testing/event-builder.ts';
import { projectInto } from '../../../shared/testing/project.ts';

export interface StoredChange {
  position: number;
  change: Change;
  record: ObservedRecord;
  /** Unix ms at which it was stored. */
  time: number;
}

export const CHAIN_ID = 2484;
export const TRANSFER = 'Transfer(address indexed,address indexed,uint256)';

let contracts = 0;

/** Returns another address at each call, so that tests do not share contracts. Each run has the same addresses. */
export const newContract = (): string => {
  contracts += 1;
  return readAddress(`0x${hash('sha256', `contract ${String(contracts)}`).slice(0, 40)}`) ?? '';
};

const watchIdOf = (contractAddress: string, signature: string) => `wch_${contractAddress}${signature}`;

const hex = (text: string, bytes: number) =>
  `0x${Buffer.from(text)
    .toString('hex')
    .padStart(bytes * 2, '0')
    .slice(-bytes * 2)}`;

/** Returns the record of one log. `fork` distinguishes blocks with the same number. */
export const aRecord = ({
  contractAddress,
  block,
  log = 0,
  fork = '',
  signature = TRANSFER,
  watchId = watchIdOf(contractAddress, signature),
  data = {},
}: {
  contractAddress: string;
  block: number;
  log?: number;
  fork?: string;
  signature?: string;
  watchId?: string;
  data?: JsonObject;
}): ObservedRecord => {
  const BlockHash = hex(`${fork}block${String(block)}`, 32);
  const TxHash = hex(`${contractAddress.slice(-8)}tx${String(block)}-${String(log)}`, 32);
  return {
    Id: `${String(CHAIN_ID)}:${BlockHash}:${TxHash}:${String(log)}`,
    WatchId: watchId,
    ChainId: CHAIN_ID,
    ContractAddress: contractAddress,
    EventName: signature.slice(0, signature.indexOf('(')),
    EventSignature: signature,
    BlockNumber: block,
    BlockHash,
    BlockTime: toIso(1_700_000_000_000 + block * 1_000),
    TxHash,
    TxIndex: 0,
    LogIndex: log,
    Data: data,
    Origin: 'live',
  };
};

/** Does what the event catcher, the relay and the projector do for the stream, one step at a time. */
export class FakeCatcher {
  /** In position order. */
  readonly stored: StoredChange[] = [];
  private published = 0;
  private projected = 0;
  private position = 0;
  private renewals = 0;
  /** Why the chain cannot be read. */
  chainError: string | null = null;

  constructor(
    private readonly messageBus: MessageBus,
    private readonly readStore: ReadStore,
    private readonly now: () => number,
    private readonly edgeKey: Uint8Array,
  ) {}

  store(change: Change, record: ObservedRecord, time = this.now()): StoredChange {
    // Positions are not gapless: events of other streams lie between.
    this.position += 1 + (this.position % 3);
    const stored = { position: this.position, change, record, time };
    this.stored.push(stored);
    return stored;
  }

  get announcement(): Omit<CatcherAnnouncement, 'domain'> {
    const status = { chainId: CHAIN_ID, error: this.chainError, warning: null, backfills: [] };
    return { chainIds: [CHAIN_ID], failing: [], followed: [CHAIN_ID], statuses: [status] };
  }

  /** Announces itself once. */
  async announce(): Promise<void> {
    this.renewals += 1;
    const { renewals, announcement: document } = this;
    await this.readStore.announce(CATCHERS_KIND, { id: 'catcher', renewals, document });
  }

  /** Publishes at most `limit` new changes, and the last `repeat` ones again, as a relay that lost its checkpoint. */
  async publish({ limit = Infinity, repeat = 0 }: { limit?: number; repeat?: number } = {}): Promise<void> {
    const from = Math.max(0, this.published - repeat);
    const until = Math.min(this.stored.length, this.published + limit);
    await this.messageBus.publish(topics.chainEvents, this.messages(from, until));
    this.published = until;
  }

  /** The messages of changes, as the relay signs them. */
  messages(from: number, until: number): MessageToPublish[] {
    const macs = new MessageMacs(this.edgeKey);
    return this.stored.slice(from, until).map((change) => macs.sign(topics.chainEvents, toMessage(change)));
  }

  /** Projects at most `limit` further changes. */
  async project(limit = Infinity): Promise<void> {
    const pending = this.stored.slice(this.projected, this.projected + limit);
    this.projected += pending.length;
    const events = pending.map(({ position, change, record }) =>
      storedEvent(change === 'reverted' ? 'ChainEventReverted' : 'ChainEventObserved', record, { position }),
    );
    await projectInto(this.readStore, [chainEventsModel], events);
    if (this.projected === this.stored.length) await this.readStore.apply(chainEventsModel.name, [], this.position);
  }

  /** Stores, projects and publishes an observation. */
  async observe(record: ObservedRecord): Promise<StoredChange> {
    const stored = this.store('observed', record);
    await this.project();
    await this.publish();
    return stored;
  }

  /** Finalizes blocks up to this one; `project` then brings the read model of chain events to the same position. */
  async finalize(block: number): Promise<void> {
    this.position += 1;
    const progress = { head: block, finalized: block, watchesUpTo: this.position };
    const advanced = storedEvent('ChainAdvanced', progress, { position: this.position });
    await projectInto(this.readStore, [chainsModel], [advanced]);
  }

  /** Projects one more event of a watch. */
  async changeWatch(
    type: 'WatchPaused' | 'WatchResumed' | 'WatchRemoved',
    watch: { watchId: string; contractAddress: string; appId?: string; reason?: PauseReason },
  ): Promise<void> {
    this.position += 1;
    await projectInto(this.readStore, [watchesModel], [storedEvent(type, watch, { position: this.position })]);
  }

  /** @returns the id of the watch */
  async register(
    contractAddress: string,
    signature = TRANSFER,
    { watchId = watchIdOf(contractAddress, signature), appId = 'app_1' } = {},
  ): Promise<string> {
    this.position += 1;
    const watch = {
      watchId,
      appId,
      contractAddress,
      eventName: signature.slice(0, signature.indexOf('(')),
      eventSignature: signature,
      topic0: topicOfSignature(bareSignature(parseEventSignature(signature))),
    };
    const registered = storedEvent('ContractRegistered', watch, { position: this.position });
    await projectInto(this.readStore, [watchesModel], [registered]);
    return watchId;
  }
}

const toMessage = ({ position, change, record, time }: StoredChange): MessageToPublish => ({
  key: contractKey(record.ChainId, record.ContractAddress),
  headers: {
    ce_type: change === 'observed' ? 'annals.ChainEventObserved.v1' : 'annals.ChainEventReverted.v1',
    ce_position: String(position),
    ce_time: toIso(time),
  },
  value: JSON.stringify(record),
  timestamp: time,
});
