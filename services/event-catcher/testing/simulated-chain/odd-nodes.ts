import { bloomOf } from '../../../../shared/chain/bloom.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { hex, RpcError } from '../../../../shared/testing/chain/wire-forms.ts';
import { CONTRACTS, TOPICS } from '../simulation/simulated-records.ts';

export interface OddCall {
  method: string;
  params: readonly unknown[];
}
/** The answer of an ordinary node. @throws RpcError */
type Ask = (call: OddCall) => unknown;
/** The answer of the odd node instead. @throws RpcError */
export type OddNode = (call: OddCall, ask: Ask) => unknown;

export interface OddKind {
  /** Absent: the node is an ordinary one. */
  of?: (random: SeededRandom) => OddNode;
  /** Whether the chain gives up blocks that it called final. */
  givesUp?: boolean;
  /**
   * Whether what the catcher first reads can be complete: the node withholds nothing that only the verification finds.
   */
  isTrue: boolean;
  /**
   * Whether a node of this kind, as the only one, cannot give everything, so that the status must say what is missing.
   */
  mayBeMissing?: boolean;
  /** The most logs of a block with logs. Default: 4. */
  logsMost?: readonly number[];
}

type Fields = Record<string, unknown>;
type Change = (fields: Fields) => Fields;

const HEADERS = ['eth_getBlockByNumber', 'eth_getBlockByHash'];
const RECEIPTS = ['eth_getBlockReceipts', 'eth_getTransactionReceipt'];
const fieldsOf = (value: unknown): Fields[] =>
  [value].flat().filter((one): one is Fields => typeof one === 'object' && one !== null);
const number = (value: unknown): number => Number(value);
const isFilter = (value: unknown): value is { blockHash?: string; fromBlock?: string; toBlock?: string } =>
  typeof value === 'object' && value !== null;
/** The filter of a request for logs; `undefined` for any other request. */
const filterOf = ({ method, params: [first] }: OddCall) =>
  method === 'eth_getLogs' && isFilter(first) ? first : undefined;

interface Changes {
  header?: Change;
  receipt?: Change;
  log?: Change;
  /** Whether the logs in receipts are changed like those that `eth_getLogs` gives. */
  inReceipts?: boolean;
}

/** Changes each header, receipt and log. */
const changing =
  ({ header = same, receipt = same, log = same, inReceipts = false }: Changes): OddNode =>
  (call, ask) => {
    const answer = ask(call);
    if (answer === null) return answer;
    if (HEADERS.includes(call.method)) return header(answer as Fields);
    if (call.method === 'eth_getLogs') return fieldsOf(answer).map(log);
    if (!inReceipts || !RECEIPTS.includes(call.method)) return answer;
    const changed = fieldsOf(answer).map((one) => ({ ...receipt(one), logs: fieldsOf(one['logs']).map(log) }));
    return Array.isArray(answer) ? changed : changed[0];
  };
const same: Change = (fields) => fields;

/** Changes the blooms of one block, or of each. */
const otherBlooms = (random: SeededRandom, other: (own: string, ask: Ask, block: number) => string): OddNode => {
  const only = random.chance(0.5) ? random.between(1, 100) : undefined;
  return (call, ask) => {
    const answer = ask(call);
    if (!HEADERS.includes(call.method) || answer === null) return answer;
    const [header = {}] = fieldsOf(answer);
    const block = number(header['number']);
    const isOdd = only === undefined || only === block;
    return isOdd ? { ...header, logsBloom: other(String(header['logsBloom']), ask, block) } : answer;
  };
};

const or = (left: string, right: string): string =>
  `0x${(BigInt(left) | BigInt(right)).toString(16).padStart(left.length - 2, '0')}`;
const bloomOfAnyEvent = bloomOf(CONTRACTS.map((address) => ({ address: address.toLowerCase(), topics: TOPICS })));
const bloomOfOthers = bloomOf([{ address: `0x${'77'.repeat(20)}`, topics: [`0x${'78'.repeat(32)}`] }]);

const UNKNOWN_WORDS = [
  'number of logs exceeds the maximum',
  "You've exceeded max limit of 2000 blocks",
  'request could not be served',
  'E1042: zu viel auf einmal',
  '请求过大',
  'query cost 5132 above 5000',
  'Internal error',
  'scan window too generous',
  'rejected by policy 7',
  '',
];
const PRUNED_WORDS = [
  'pruned history unavailable',
  'History has been pruned for this block range',
  'missing trie node 3f (path )',
  'historical data before the merge is not available',
];
const NO_BLOCK_HASH = ['invalid argument 0: unknown field blockHash', 'fromBlock is required', 'not supported'];

/**
 * Prunes blocks before one, or all but the newest: `eth_getLogs` refuses them, and receipts are refused, too, or
 * `null`.
 */
const pruning = (random: SeededRandom): OddNode => {
  const isMoving = random.chance(0.4);
  const keeps = isMoving ? random.between(66, 90) : random.between(1, 40);
  const message = random.pick(PRUNED_WORDS) ?? '';
  const code = random.pick([4_444, -32_000, -32_001]);
  const receiptsAreNull = random.chance(0.5);
  const refuse = () => {
    throw new RpcError(message, { code });
  };
  return (call, ask) => {
    const head = number(fieldsOf(ask({ method: 'eth_getBlockByNumber', params: ['latest', false] }))[0]?.['number']);
    const first = isMoving ? head - keeps : keeps;
    const filter = filterOf(call);
    const numberOf = (hash: unknown) =>
      number(fieldsOf(ask({ method: 'eth_getBlockByHash', params: [hash, false] }))[0]?.['number'] ?? Infinity);
    if (filter) {
      const from = filter.blockHash === undefined ? number(filter.fromBlock) : numberOf(filter.blockHash);
      return from < first ? refuse() : ask(call);
    }
    const answer = RECEIPTS.includes(call.method) ? ask(call) : undefined;
    const isGone = fieldsOf(answer).some((receipt) => number(receipt['blockNumber']) < first);
    if (!isGone) return answer ?? ask(call);
    return receiptsAreNull ? null : refuse();
  };
};

const cutting = (random: SeededRandom): OddNode => {
  const most = random.between(1, 50);
  const isOfBlocks = random.chance(0.5);
  return (call, ask) => {
    const isCut = filterOf(call) && (isOfBlocks || filterOf(call)?.blockHash === undefined);
    return isCut ? fieldsOf(ask(call)).slice(0, most) : ask(call);
  };
};

const refusing = (random: SeededRandom): OddNode => {
  const message = random.pick(UNKNOWN_WORDS) ?? '';
  const code = random.pick([-32_000, -32_603, -32_602, -32_005, 1, undefined]);
  const blocksMost = random.chance(0.7) ? random.between(1, 60) : Infinity;
  const logsMost = blocksMost === Infinity || random.chance(0.3) ? random.between(4, 30) : Infinity;
  return (call, ask) => {
    const filter = filterOf(call);
    if (!filter || filter.blockHash !== undefined) return ask(call);
    const logs = fieldsOf(ask(call));
    const blocks = number(filter.toBlock) - number(filter.fromBlock) + 1;
    if (blocks > blocksMost || logs.length > logsMost) throw new RpcError(message, { code });
    return logs;
  };
};

const withoutBlockHash = (random: SeededRandom): OddNode => {
  const message = random.pick(NO_BLOCK_HASH) ?? '';
  const isIgnored = random.chance(0.5);
  const instead = random.pick([
    { fromBlock: 'latest', toBlock: 'latest' },
    { fromBlock: '0x0', toBlock: 'latest' },
  ]);
  return (call, ask) => {
    const { blockHash, ...filter } = filterOf(call) ?? {};
    if (blockHash === undefined) return ask(call);
    if (!isIgnored) throw new RpcError(message, { code: -32_602 });
    const [head] = fieldsOf(ask({ method: 'eth_getBlockByNumber', params: ['latest', false] }));
    const named = (name: string | undefined) => (name === 'latest' ? String(head?.['number']) : name);
    const blocks = { fromBlock: named(instead?.fromBlock), toBlock: named(instead?.toBlock) };
    return ask({ ...call, params: [{ ...filter, ...blocks }] });
  };
};

const otherTimes = (random: SeededRandom): OddNode => {
  const bySeconds = random.between(1, 1_000_000);
  const time = random.pick<(seconds: number) => unknown>([
    (seconds) => seconds,
    () => '0x0',
    (seconds) => hex(seconds + bySeconds),
    (seconds) => hex(seconds * 1_000),
    (seconds) => String(seconds),
    (seconds) => new Date(seconds * 1_000).toISOString(),
    () => -1,
    () => null,
    () => ({}),
  ]);
  const isOf = random.pick([1, 0.5]) ?? 1;
  return changing({
    log: (log) => (random.chance(isOf) ? { ...log, blockTimestamp: time?.(number(log['blockTimestamp'])) } : log),
  });
};

const QUANTITIES = ['number', 'timestamp', 'gasUsed', 'blockNumber', 'transactionIndex', 'logIndex', 'blockTimestamp'];
/** Changes the text of these fields, or of all that are hex. */
const mapFields = (names: readonly string[] | undefined, change: (value: string) => unknown): Change => {
  const changed = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one: unknown) => changed(name, one));
    const isMeant = typeof value === 'string' && (names?.includes(name) ?? value.startsWith('0x'));
    return isMeant ? change(value) : value;
  };
  return (fields) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, changed(name, value)]));
};

const otherForms = (random: SeededRandom): OddNode => {
  const everywhere = (change: Change): OddNode =>
    changing({ header: change, receipt: change, log: change, inReceipts: true });
  const forms: OddNode[] = [
    everywhere(mapFields(QUANTITIES, number)),
    everywhere(mapFields(QUANTITIES, (value) => `0x000${value.slice(2)}`)),
    everywhere(mapFields(undefined, (value) => `0x${value.slice(2).toUpperCase()}`)),
    everywhere(mapFields(undefined, (value) => `0X${value.slice(2)}`)),
    everywhere(({ removed: _, ...fields }) => ({ ...fields, extra: { deep: [1] } })),
    (call, ask) =>
      call.method === 'eth_getLogs' ? fieldsOf(ask(call)).flatMap((log) => [log, { ...log }]) : ask(call),
    (call, ask) => (call.method === 'eth_getLogs' ? fieldsOf(ask(call)).toReversed() : ask(call)),
  ];
  return random.pick(forms) ?? ((call, ask) => ask(call));
};

const withoutBlooms = (random: SeededRandom): OddNode => {
  const logsBloom = random.pick([undefined, null, '0x', '0x0', `0x${'00'.repeat(256)}`, `0x${'00'.repeat(255)}`, 7]);
  // A block that used no gas has no logs.
  return changing({ header: (header) => ({ ...header, logsBloom, gasUsed: '0x5208' }) });
};

const otherHashes = (random: SeededRandom, inReceipts: boolean): OddNode => {
  const isOf = random.pick([1, 1, 0.2]) ?? 1;
  const hash = random.pick<(own: string) => string>([
    () => `0x${'0'.repeat(64)}`,
    (own) => `0x${own.slice(2).split('').toReversed().join('')}`,
  ]);
  return changing({
    log: (log) => (random.chance(isOf) ? { ...log, blockHash: hash?.(String(log['blockHash'])) } : log),
    inReceipts,
  });
};

/** Nodes as they are in use, each odd in one way for ever. */
export const ODD_KINDS = {
  'cuts an answer after so many logs': { of: cutting, isTrue: false, logsMost: [4, 12, 40] },
  'no longer has its history': { of: pruning, isTrue: false, mayBeMissing: true },
  'gives the times of logs in other forms, or wrong': { of: otherTimes, isTrue: true },
  'has blooms that promise logs that are not there': {
    of: (random: SeededRandom) =>
      otherBlooms(random, (own) => or(own, random.chance(0.5) ? bloomOfAnyEvent : bloomOfOthers)),
    isTrue: true,
  },
  'has blooms that leave out logs': {
    of: (random: SeededRandom) => otherBlooms(random, () => bloomOfOthers),
    isTrue: false,
  },
  'has the blooms of earlier blocks': {
    of: (random: SeededRandom) => {
      const behind = random.between(1, 5);
      return otherBlooms(random, (own, ask, block) => {
        const params = [hex(Math.max(0, block - behind)), false];
        const [{ logsBloom } = {}] = fieldsOf(ask({ method: 'eth_getBlockByNumber', params }));
        return typeof logsBloom === 'string' ? logsBloom : own;
      });
    },
    isTrue: false,
  },
  'has no usable blooms': { of: withoutBlooms, isTrue: true },
  'answers in other forms': { of: otherForms, isTrue: true },
  'refuses ranges in words that nobody knows': { of: refusing, isTrue: true, logsMost: [4, 12] },
  'takes no block hash in a filter': { of: withoutBlockHash, isTrue: true },
  'names other block hashes in logs': { of: (random: SeededRandom) => otherHashes(random, false), isTrue: false },
  'names other block hashes in logs and receipts': {
    of: (random: SeededRandom) => otherHashes(random, true),
    isTrue: false,
    mayBeMissing: true,
  },
  'is of a chain that gives up blocks that it called final': { givesUp: true, isTrue: false },
} satisfies Record<string, OddKind>;
