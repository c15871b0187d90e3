import { topics } from '../../schemas/topics.ts';
import { THIS_PROCESS } from '../loops/lease-holder.ts';
import { SupervisedLoop } from '../loops/supervised-loop.ts';
import type { MessageBus } from '../message-bus/message-bus.ts';
import { inTime } from '../primitives/in-time.ts';
import { pause } from '../primitives/pause.ts';
import { untilAborted } from '../primitives/until-aborted.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import type { WithMessageBus, WorkerFoundation } from './foundation.ts';

const ANSWER_WITHIN_MS = 1_000;
const REPORT_EVERY_MS = 1_000;
/** A lease that the relay holds while the message bus answers, and has released while it does not. */
const LEASE = 'message-bus';

type Leases = Pick<ReadStore, 'lease' | 'replaceLease'>;
type State = 'up' | 'down';

/** Tells the read store whether the message bus answers, for processes that do not use the bus and report on it. */
export const messageBusReport = ({
  messageBus,
  readStore,
  logger,
}: Pick<WorkerFoundation & WithMessageBus, 'messageBus' | 'readStore' | 'logger'>): SupervisedLoop =>
  new SupervisedLoop('message bus report', logger, async (signal, reportRunning) => {
    while (!signal.aborted) {
      await untilAborted(report(readStore, await stateOf(messageBus)), signal);
      reportRunning();
      await pause(REPORT_EVERY_MS, signal);
    }
  });

/** @returns what the relay last told; `undefined` when there was none yet */
export const reportedMessageBus = async (leases: Pick<Leases, 'lease'>): Promise<State | undefined> => {
  const lease = await leases.lease(LEASE);
  return lease && (lease.holder === null ? 'down' : 'up');
};

const stateOf = async (messageBus: Pick<MessageBus, 'offsets'>): Promise<State> =>
  (await inTime(() => messageBus.offsets(topics.contracts, 'latest'), ANSWER_WITHIN_MS)) ? 'up' : 'down';

const report = async (leases: Leases, state: State): Promise<void> => {
  const current = await leases.lease(LEASE);
  const holder = state === 'up' ? THIS_PROCESS : null;
  if (current && (current.holder === null) === (holder === null)) return;
  await leases.replaceLease(LEASE, current, { holder, epoch: (current?.epoch ?? 0) + 1, renewals: 0 });
};
