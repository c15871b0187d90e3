import { announcedBus, MESSAGE_BUS_KIND } from '../../../schemas/announcements.ts';
import { topics } from '../../../schemas/topics.ts';
import type { Coordination } from '../../coordination/coordination.ts';
import { pollLoop } from '../../loops/poll-loop.ts';
import type { SupervisedLoop } from '../../loops/supervised-loop.ts';
import type { MessageBus } from '../../message-bus/message-bus.ts';
import { inTime } from '../../primitives/waiting/in-time.ts';
import { untilAborted } from '../../primitives/waiting/until-aborted.ts';
import type { WithMessageBus, WorkerFoundation } from '../foundation.ts';

const ANSWER_WITHIN_MS = 1_000;
const REPORT_EVERY_MS = 1_000;
const THE_BUS = 'message-bus';

type Announcements = Pick<Coordination, 'announce' | 'announcements'>;
type State = 'up' | 'down';

/** Tells the read store whether the message bus answers, for processes that report on the bus without using it. */
export const messageBusReport = ({
  messageBus,
  readStore,
  logger,
}: Pick<WorkerFoundation & WithMessageBus, 'messageBus' | 'readStore' | 'logger'>): SupervisedLoop =>
  pollLoop('message bus report', logger, REPORT_EVERY_MS, async (signal) => {
    await untilAborted(report(readStore, await stateOf(messageBus)), signal);
  });

/** @returns the last report of a relay; `undefined` before the first */
export const reportedMessageBus = async (store: Pick<Announcements, 'announcements'>): Promise<State | undefined> => {
  const [announced] = await store.announcements(MESSAGE_BUS_KIND);
  return announced && announcedBus.parse(announced.document).state;
};

const stateOf = async (messageBus: Pick<MessageBus, 'offsets'>): Promise<State> =>
  (await inTime(() => messageBus.offsets(topics.contracts, 'latest'), ANSWER_WITHIN_MS)) ? 'up' : 'down';

const report = async (store: Announcements, state: State): Promise<void> => {
  if ((await reportedMessageBus(store)) === state) return;
  await store.announce(MESSAGE_BUS_KIND, { id: THE_BUS, renewals: 1, document: { state } });
};
