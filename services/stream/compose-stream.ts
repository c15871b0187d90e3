import { CATCHERS_KIND, catcherAnnouncement } from '../../schemas/announcements.ts';
import { topics } from '../../schemas/topics.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { Members } from '../../shared/cluster/members.ts';
import { SignedText } from '../../shared/keys/signed-text.ts';
import { GenuineMessages } from '../../shared/message-bus/genuine/genuine-messages.ts';
import { MessageMacs } from '../../shared/message-bus/genuine/message-macs.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import type { Projections } from '../../shared/edge/projections.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { MessageReader } from './domain/chain-message.ts';
import { Cursors } from './domain/cursor.ts';
import type { ChannelHistory } from './domain/feed.ts';
import { currentRecords } from './resume/current-records.ts';
import { firstChangedBlock } from './resume/first-changed-block.ts';
import { BusReplay } from './resume/bus-replay.ts';
import { FinalizedFeed } from './subscriptions/finalized-feed.ts';
import { FindChannel } from './subscriptions/find-channel.ts';
import { LatestFeed } from './subscriptions/latest-feed.ts';
import { OnePerTick } from './subscriptions/one-per-tick.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';
import { WatchStates } from './subscriptions/watch-states.ts';

export interface StreamOptions {
  messageBus: MessageBus;
  readStore: ReadStore;
  eventStore: Pick<EventStore, 'head'>;
  projections: Projections;
  edgeKey: Uint8Array;
  subscriptionsPerConnection: number;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Creates both feeds and their subscriptions. The caller starts the loops, and gives `latest.tail` its batches. */
export const composeStream = (options: StreamOptions) => {
  const { messageBus, readStore, eventStore, projections, edgeKey, clock, ids, logger } = options;
  const cursors = new Cursors(new SignedText(edgeKey, 'stream cursors'));
  const reader = new MessageReader(cursors, (err, key) => {
    logger.error({ err, key }, 'a message of the topic cannot be read and is skipped');
  });
  const macs = new MessageMacs(edgeKey);
  const genuine = new GenuineMessages(topics.chainEvents, { macs, messageBus, readStore, eventStore, logger });
  const replay = new BusReplay({ messageBus, genuine, reader, clock });
  const history: ChannelHistory = {
    replay: (channel, after, signal) => replay.changesAfter(channel, after, signal),
    currentRecords: (channel, fromBlock) => currentRecords({ readStore, cursors, clock }, channel, fromBlock),
    gapAfter: (channel, resumePoint, newest, signal) => replay.gapAfter(channel, resumePoint, newest, signal),
  };
  const pieces = new OnePerTick();
  const latest = new LatestFeed({ messageBus, genuine, reader, history, clock, logger });
  const finalized = new FinalizedFeed({ readStore, cursors, pieces, logger });
  const channels = new FindChannel(readStore, projections);
  const feeds = { latest, finalized };
  const catchers = new Members({ kind: CATCHERS_KIND, schema: catcherAnnouncement, readStore, clock, logger });
  const watchStates = new WatchStates({ readStore, projections, catchers, pieces, logger });
  const subscriptions = new Subscriptions({
    ...{ feeds, channels, watchStates, cursors, pieces, clock, ids, logger },
    firstChangedBlock: (...range) =>
      firstChangedBlock({ readStore, projections, yieldToOthers: () => pieces.next() }, ...range),
    perConnectionMax: options.subscriptionsPerConnection,
  });
  const loops = [latest.tail.loop, finalized.loop, catchers.loop, watchStates.loop];
  return { loops, latest, finalized, catchers, channels, cursors, subscriptions, genuine };
};
