import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import type { ReportedWatch } from '../../../event-catcher/watch-reports.ts';

type Read = Pick<WatchStatus, 'startBlock' | 'currentBlockNumber' | 'headBlock'>;

/** One line per watch. */
export const listText = (watches: readonly ReportedWatch[]): string =>
  watches
    .map((watch) => {
      const { id, chainId, contractAddress, eventSignature, state } = watch;
      return `${id}  ${String(chainId)}  ${contractAddress}  ${state.padEnd(11)}  ${howFar(watch)}  ${eventSignature}\n`;
    })
    .join('');

/** The whole status, one member per line. */
export const statusText = (status: WatchStatus): string => {
  const { id, chainId, contractAddress, eventName, finalizedBlock, verifiedBlock, lagBlocks, lagSeconds } = status;
  const lines: [string, string][] = [
    ['watch', id],
    ['event', `${eventName} of ${contractAddress} on chain ${String(chainId)}`],
    ['state', status.state],
    ['start block', count(status.startBlock)],
    ['read', howFar(status)],
    ['final block', known(finalizedBlock)],
    ['verified', verifiedBlock === null ? 'nothing yet' : `up to block ${count(verifiedBlock)}`],
    [
      'behind',
      lagBlocks === null
        ? 'unknown'
        : `${count(lagBlocks)} blocks${lagSeconds === null ? '' : `, ${duration(lagSeconds)}`}`,
    ],
    ['events', `${count(status.eventsTotal)}, ${count(status.eventsPerSecond)} a second`],
    ['remaining', remaining(status)],
    ...status.gaps.map((gap): [string, string] => ['not read', gapLine(gap)]),
    ['last error', status.lastError ?? 'none'],
  ];
  return lines.map(([name, value]) => `${name.padEnd(15)}${value}\n`).join('');
};

const gapLine = ({ fromBlock, toBlock, reason, since }: WatchStatus['gaps'][number]): string =>
  `${count(fromBlock)} to ${count(toBlock)}${since === null ? '' : ` since ${since}`}: ${reason}`;

/** The progress of a watch in one line, for updating in place. */
export const progressText = (status: WatchStatus): string => {
  const { id, state, eventsTotal, eventsPerSecond, lastError } = status;
  const events = `${count(eventsTotal)} events, ${count(eventsPerSecond)} a second`;
  const left = `${remaining(status)} left`;
  return [
    id,
    state,
    howFar(status),
    events,
    ...(state === 'live' ? [] : [left]),
    ...(lastError === null ? [] : [lastError]),
  ].join('  ');
};

const howFar = (read: Read): string => {
  const { currentBlockNumber, headBlock } = read;
  if (headBlock === null) return 'nothing read yet';
  return `${percent(read)} %, block ${count(currentBlockNumber)} of ${count(headBlock)}`;
};

/** Rounded down, so that 100 means everything was read. */
const percent = ({ startBlock, currentBlockNumber, headBlock }: Read): string => {
  const all = (headBlock ?? 0) - startBlock + 1;
  if (all <= 0) return '0.0';
  const tenths = Math.floor(((currentBlockNumber - startBlock + 1) / all) * 1_000);
  return (Math.min(1_000, Math.max(0, tenths)) / 10).toFixed(1);
};

const remaining = ({ etaSeconds }: WatchStatus): string => (etaSeconds === null ? 'unknown' : duration(etaSeconds));

const known = (block: number | null): string => (block === null ? 'unknown' : count(block));

const count = (amount: number): string => amount.toLocaleString('en-US');

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** The greatest unit that is not zero, and the next smaller one. */
const duration = (seconds: number): string => {
  const parts: string[] = [];
  let left = seconds;
  for (const [unit, size] of UNITS) {
    const amount = Math.floor(left / size);
    left -= amount * size;
    if (amount > 0 || parts.length > 0) parts.push(`${String(amount)} ${unit}`);
  }
  return parts.length === 0 ? '0 s' : parts.slice(0, 2).join(' ');
};
