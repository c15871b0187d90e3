import { InvalidArgumentError, type Command } from 'commander';
import { parkedTopics, topics } from '../../../../schemas/topics.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { createLogger } from '../../../../shared/host/logger.ts';
import { loadEdgeKey } from '../../../../shared/keys/master-key.ts';
import { rangeOf, replayTopic, type Replay, type ReplayRange, type TopicName } from '../../../relay/replay-topic.ts';
import { command, print, type Json } from '../command.ts';
import { moment, requireHappened, type Moment } from '../moment.ts';
import { showProgress } from '../show-progress.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';
import { WrongArguments } from '../wrong-arguments.ts';

/** Longer lists are for `--json`. */
const LINES_MAX = 100;

interface Options extends Json {
  topic: TopicName;
  from: Moment;
  to: Moment;
  dryRun?: boolean;
}

export const replayCommand = (): Command =>
  command(
    'replay',
    'publishes again what a topic lost between two times or positions, under the same ce_id',
    'replay --topic annals.users.v1 --from 2026-11-18 --to 2026-11-19T12:00:00Z --dry-run',
    'replay --topic annals.chain-events.v1 --from 1200 --to 3400',
  )
    .requiredOption('--topic <name>', 'its name, without TOPIC_PREFIX', topicName)
    .requiredOption('--from <time or position>', 'the first event: the first that is not earlier', moment)
    .requiredOption('--to <time or position>', 'the last event: the last that is not later', moment)
    .option('--dry-run', 'shows how many messages of each key and type were lost, and publishes nothing')
    .option('--json', 'for machines')
    .addHelpText(
      'after',
      `
Compares the topic and its parked topic with the event store, by ce_id, and publishes only what both lack, in the order of
the store. Again it publishes nothing. What is older than the topic keeps messages is not looked for, and what the relay
has not published yet is left to it. Times are found by reading the event store from its beginning; positions are faster.

Consumers get these messages late: behind newer ones of the same key, with a lower ce_sequence and ce_position. A consumer
that drops what it has by ce_id deals with them; one that keeps only the newest ce_sequence of a key ignores them, as it
should if it keeps states. The stream ignores them too where newer messages of the partition are before them: who missed
such events subscribes with fromBlock, or queries them. Their signature is the relay's, so that they count as genuine.
Where a partition lost everything, stop the relay for the time of the replay, so that old messages come before new ones.`,
    )
    .action(replay);

const topicName = (text: string): TopicName => {
  const names = Object.keys(topics) as TopicName[];
  const found = names.find((name) => topics[name].name === text);
  if (found) return found;
  const parked = names.find((name) => parkedTopics[name].name === text);
  if (parked) throw new InvalidArgumentError(`What it lost is replayed with ${topics[parked].name}.`);
  throw new InvalidArgumentError(`The topics are ${names.map((name) => topics[name].name).join(', ')}.`);
};

const replay = ({ topic, from, to, dryRun = false, ...options }: Options): Promise<void> =>
  withEngines(
    { names: ['eventStore', 'messageBus', 'readStore'], keepsFiles: false, changes: !dryRun },
    async (engines, settings) => {
      const { eventStore, clock } = engines;
      const head = await eventStore.head();
      requireHappened('--from', from, { head, clock });
      requireHappened('--to', to, { head, clock });
      const stores = { ...engines, edgeKey: loadEdgeKey(settings), logger: createLogger(settings) };
      const done = await unlessInterrupted(async (signal) => {
        const range = await rangeOf(eventStore, topic, { from, to }, signal, showProgress('positions', head));
        if (isReversed({ from, to }, range, head)) throw new WrongArguments('--from is after --to');
        const progress = showProgress('positions', range.to - range.from + 1);
        return replayTopic(stores, { topic, ...range, dryRun }, signal, (position) => {
          progress(position - range.from + 1);
        });
      });
      if (done) print(options, { ...done, dryRun }, textOf(done, dryRun));
    },
  );

/** Between two times that are in order there may be no event: then the last position is before the first. */
const isReversed = ({ from, to }: Pick<Options, 'from' | 'to'>, range: ReplayRange, head: Position): boolean => {
  if ('time' in from && 'time' in to) return from.time > to.time;
  return range.from > range.to && range.from <= head;
};

const textOf = (done: Replay, dryRun: boolean): string => {
  const { topic, from, to, events, tooOld, relayed, lost, published, byKey, interrupted } = done;
  const lines = byKey.slice(0, LINES_MAX).map(({ key, type, lost: count }) => `  ${String(count)} ${type} of ${key}`);
  if (from > to) return `${topic} has no event in this range`;
  return [
    `${topic}, positions ${String(from)} to ${String(to)}: ${String(events)} events, ${String(lost)} lost`,
    ...lines,
    ...(byKey.length > LINES_MAX ? [`  and ${String(byKey.length - LINES_MAX)} more, which --json lists`] : []),
    ...(tooOld > 0 ? [`${String(tooOld)} events are older than the topic keeps messages`] : []),
    ...(relayed < to ? [`the relay has published up to position ${String(relayed)}: later events are left to it`] : []),
    ...(interrupted ? ['interrupted: the same command goes on'] : []),
    dryRun ? 'nothing was published: --dry-run' : `${String(published)} published again`,
  ].join('\n');
};
