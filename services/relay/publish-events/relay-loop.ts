import { allTopics, topics } from '../../../schemas/topics.ts';
import type { Foundation, WithMessageBus } from '../../../shared/host/foundation.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { MessageMacs } from '../../../shared/message-bus/genuine/message-macs.ts';
import { recordSignedFrom } from '../../../shared/message-bus/genuine/signed-from.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import { publishedTypes } from './address-event.ts';
import { Checkpoint } from './checkpoint.ts';
import { BatchPublisher } from './publish-batch.ts';

/**
 * After a batch of `from` events or more, further events are likely, so wait a little and publish them in fewer
 * requests. From `to` events on, the batch is large enough.
 */
const BUSY_EVENTS = { from: 64, to: 500 };
const GATHER_MS = 20;

type RelayOptions = Pick<Foundation & WithMessageBus, 'eventStore' | 'messageBus' | 'readStore' | 'edgeKey' | 'logger'>;

/**
 * Publishes the event store's events, in position order for each topic, one batch at a time, in one process at a time.
 * The checkpoint is saved after the events are published, so after a crash some are published again, with the same
 * `ce_id`: delivery is at least once. A reader that drops repeats sees the events of a key in order. Each process
 * begins at the checkpoint, so nothing is published for the first time before everything earlier was, not even by a
 * process that lost its lease and whose last request is stored late.
 */
export const relayLoop = ({ eventStore, messageBus, readStore, edgeKey, logger }: RelayOptions): SupervisedLoop =>
  leasedLoop({
    name: 'relay',
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      await untilAborted(messageBus.createTopics(allTopics), signal);
      const macs = messageBus.isPrivate ? undefined : new MessageMacs(edgeKey);
      const publisher = new BatchPublisher(messageBus, macs, logger);
      const checkpoint = new Checkpoint(readStore);
      const after = await checkpoint.load();
      // If the embedded bus was used before, nothing was published to this broker yet, so everything on it will be
      // signed.
      const unsigned = macs ? after : 0;
      await untilAborted(recordSignedFrom({ messageBus, readStore }, topics.chainEvents, unsigned), signal);
      const stopSignal = AbortSignal.any([signal, checkpoint.failed]);
      try {
        for await (const batch of eventStore.subscribeAll(after, { types: publishedTypes }, stopSignal)) {
          await publisher.publish(batch.events, stopSignal);
          checkpoint.advance({ position: batch.position, newestPermanent: batch.newestPermanent });
          reportRunning();
          const { length } = batch.events;
          if (length >= BUSY_EVENTS.from && length < BUSY_EVENTS.to) await pause(GATHER_MS, stopSignal);
        }
      } finally {
        await checkpoint.flush();
      }
    },
  });
