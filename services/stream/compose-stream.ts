import { SignedText } from '../../shared/keys/signed-text.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import type { Projections } from '../../shared/edge/projections.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { MessageReader } from './domain/chain-message.ts';
import { Cursors } from './domain/cursor.ts';
import type { Past } from './domain/feed.ts';
import { currentFrom } from './resume/block-history.ts';
import { BusReplay } from './resume/bus-replay.ts';
import { FinalizedFeed } from './subscriptions/finalized-feed.ts';
import { FindChannel } from './subscriptions/find-channel.ts';
import { LatestFeed } from './subscriptions/latest-feed.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';

export interface StreamOptions {
  messageBus: MessageBus;
  readStore: ReadStore;
  projections: Projections;
  masterKey: Uint8Array;
  subscriptionsPerConnection: number;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Both feeds and what is subscribed to them; the latest waits for its batches, and both for their loops to start. */
export const composeStream = (options: StreamOptions) => {
  const { messageBus, readStore, projections, masterKey, subscriptionsPerConnection, clock, ids, logger } = options;
  const cursors = new Cursors(new SignedText(masterKey, 'stream cursors'));
  const reader = new MessageReader(cursors, (err, key) => {
    logger.error({ err, key }, 'a message of the topic cannot be read and is passed over');
  });
  const replay = new BusReplay({ messageBus, reader, clock });
  const past: Past = {
    older: (channel, after, signal) => replay.changesAfter(channel, after, signal),
    history: (channel, fromBlock) => currentFrom({ readStore, cursors, clock }, channel, fromBlock),
    lostAfter: (channel, place, newest, signal) => replay.lostAfter(channel, place, newest, signal),
  };
  const latest = new LatestFeed({ messageBus, reader, past, clock, logger });
  const finalized = new FinalizedFeed({ readStore, cursors, logger });
  const channels = new FindChannel(readStore, projections);
  const feeds = { latest, finalized };
  const perConnectionMax = subscriptionsPerConnection;
  const subscriptions = new Subscriptions({ feeds, channels, cursors, perConnectionMax, clock, ids, logger });
  return { latest, finalized, channels, cursors, subscriptions };
};
