import { CATCHERS_KIND, catcherAnnouncement } from '../../schemas/announcements.ts';
import { topics } from '../../schemas/topics.ts';
import { Members } from '../../shared/coordination/members.ts';
import { GenuineMessages } from '../../shared/message-bus/genuine/genuine-messages.ts';
import { MessageMacs } from '../../shared/message-bus/genuine/message-macs.ts';
import type { Foundation, WithMessageBus } from '../../shared/host/foundation.ts';
import type { Projections } from '../../shared/edge/answers/projections.ts';
import type { StreamMetrics } from './edge/stream-metrics.ts';
import { MessageReader } from './domain/chain-message.ts';
import { Cursors } from '../../shared/keys/stream-cursors.ts';
import type { ChannelHistory } from './domain/feed.ts';
import { StreamPages } from './connections/plain-http/stream-pages.ts';
import { currentRecords } from './resume/current-records.ts';
import { changedBlocks } from './resume/first-changed-block.ts';
import { BusReplay } from './resume/bus-replay.ts';
import { ContractStreams } from './resume/contract-streams.ts';
import { KeptChanges } from './resume/kept-changes.ts';
import { FinalizedFeed } from './subscriptions/feeds/finalized-feed.ts';
import { FindChannel } from './subscriptions/find-channel.ts';
import { LatestFeed } from './subscriptions/feeds/latest-feed.ts';
import { OnePerTick } from './subscriptions/one-per-tick.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';
import { WatchStates } from './subscriptions/watch-states.ts';

export interface StreamOptions extends Omit<Foundation & WithMessageBus, 'settings' | 'processHealth'> {
  projections: Projections;
  subscriptionsPerConnection: number;
  metrics: StreamMetrics;
}

/** Creates both feeds and their subscriptions. The caller starts the loops, and passes batches to `latest.tail`. */
export const composeStream = (options: StreamOptions) => {
  const { messageBus, readStore, eventStore, projections, edgeKey, clock, ids, metrics, logger } = options;
  const cursors = new Cursors(edgeKey);
  const reader = new MessageReader(cursors, (err, key) => {
    logger.error({ err, key }, 'a message of the topic cannot be read and is skipped');
  });
  const macs = new MessageMacs(edgeKey);
  const genuine = new GenuineMessages(topics.chainEvents, { macs, messageBus, readStore, eventStore, logger });
  const kept = new KeptChanges({
    bus: new BusReplay({
      ...{ messageBus, genuine, reader, clock },
      onRead: () => {
        metrics.busReads.add({});
      },
    }),
    streams: new ContractStreams({ eventStore, reader, clock }),
    ...{ eventStore, clock },
  });
  const history: ChannelHistory = {
    replay: (channel, after, signal) => kept.replay(channel, after, signal),
    currentRecords: (channel, point) => currentRecords({ readStore, cursors, clock }, channel, point),
    gapAfter: (channel, resumePoint, newest, signal) => kept.gapAfter(channel, resumePoint, newest, signal),
  };
  const pieces = new OnePerTick();
  const latest = new LatestFeed({ messageBus, genuine, reader, history, metrics, clock, eventStore, logger });
  const finalized = new FinalizedFeed({ readStore, cursors, pieces, clock, logger });
  const channels = new FindChannel(readStore, projections, clock);
  const feeds = { latest, finalized };
  const catchers = new Members({ kind: CATCHERS_KIND, schema: catcherAnnouncement, readStore, clock, logger });
  const onChange = () => {
    channels.forget();
  };
  const watchStates = new WatchStates({ readStore, projections, catchers, onChange, pieces, logger });
  const subscriptions = new Subscriptions({
    ...{ feeds, channels, watchStates, cursors, pieces, clock, ids, metrics, logger },
    firstChangedBlock: changedBlocks({ readStore, projections, clock, yieldToOthers: () => pieces.next() }),
    perConnectionMax: options.subscriptionsPerConnection,
  });
  const pages = new StreamPages({
    ...{ feeds, subscriptions, cursors },
    findChannel: async (command, claimant) => (await channels.find(command, claimant)).channel,
    yieldToOthers: () => pieces.next(),
  });
  const loops = [latest.tail.loop, finalized.loop, catchers.loop, watchStates.loop];
  return { loops, latest, finalized, catchers, channels, cursors, subscriptions, pages, genuine };
};
