import { RangeTooLarge, type ChainLog, type LogFilter } from './chain-reader.ts';
import { checkLogs, InvalidAnswer } from './checked-answers.ts';
import { blockByNumber, headerOfNumber } from './header-requests.ts';
import { NoAnswer, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { askLogs } from './log-requests.ts';
import { logsOfBlock } from './logs-of-block.ts';
import { blocksOf, halfRange, type BlockRange, type SuggestedRange } from './suggested-range.ts';

/**
 * `eth_getLogs` of a range, in one batch with its last block: an endpoint that does not have that block yet would silently
 * omit logs. One block that is too much is asked for by its hash. The endpoint's limit follows its answers. @throws RangeTooLarge
 */
export const logsOfRange = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  filter: LogFilter,
): Promise<ChainLog[]> => {
  try {
    const { logs, others } = await askLogs(endpoint, range, filter, [blockByNumber(range.to)]);
    if (!headerOfNumber(others[0], range.to)) throw new InvalidAnswer('the last block does not exist yet');
    const checked = checkLogs(logs, { ...filter, ...range });
    endpoint.rangeLimit.answered(blocksOf(range));
    return checked;
  } catch (error) {
    const tooLarge = await tooLargeOf(endpoint, error, range);
    if (!tooLarge || range.from < range.to) throw tooLarge ?? error;
    const [answer] = await endpoint.call([blockByNumber(range.to)]);
    const header = headerOfNumber(answer, range.to);
    if (!header) throw new InvalidAnswer('the block does not exist yet');
    return logsOfBlock(endpoint, header, filter);
  }
};

/** An endpoint that is too slow for a range, but answers a small request at once, was asked for too much. */
const tooLargeOf = async (
  endpoint: JsonRpcEndpoint,
  error: unknown,
  asked: BlockRange,
): Promise<RangeTooLarge | undefined> => {
  if (!(error instanceof NoAnswer)) return undefined;
  const { why, message } = error;
  const halved = halfRange('timed out', asked);
  if (why.kind === 'too-slow') return (await endpoint.answersAtAll()) ? suggesting(message, asked, halved) : undefined;
  if (why.kind !== 'range-too-large') return undefined;
  if (why.of === 'blocks') {
    endpoint.rangeLimit.refused(blocksOf(asked), why.isNamed ? why.to - asked.from + 1 : undefined, true);
  }
  return suggesting(message, asked, why);
};

const suggesting = (message: string, { from }: BlockRange, next: SuggestedRange | undefined): RangeTooLarge =>
  new RangeTooLarge(message, next && { blocks: next.to - from + 1, of: next.of, logsMax: next.logsMax });
