import type { NonceEvent } from '../../../../schemas/events/onchain/nonce-events.ts';
import { nonceOf, nonceParts } from '../../operations/domain/user-operation.ts';

/** After this long without a stored transaction, a nonce is given away: its first requester got no answer and gave up. */
const ABANDONED_AFTER_MS = 600_000;

/** The newest nonce of a key, and its transaction; `undefined` once the nonce was released. */
interface Line {
  /** Decimal digits. */
  sequence: string;
  transactionId: string | undefined;
  /** Unix milliseconds. */
  assignedAt: number;
  /** The fees of an operation that the client signed. */
  fees?: StoredFees;
  /** The transaction that had this nonce before. */
  replaces?: string;
}
type StoredFees = NonNullable<Extract<NonceEvent, { type: 'NonceAssigned' }>['data']['fees']>;

/** The nonces of one account. Sends that overlap in time have different keys, so that none waits for another. */
export interface Nonces {
  /** By key, in decimal digits. */
  lines: Readonly<Record<string, Line>>;
  /** The transaction that deploys the account. */
  deployedBy: string | undefined;
}

export const noncesFold = {
  initial: { lines: {}, deployedBy: undefined } as Nonces,
  evolve: (nonces: Nonces, { type, data }: NonceEvent, time: number): Nonces => {
    const { key, sequence } = nonceParts(BigInt(data.nonce));
    const { [String(key)]: line, ...others } = nonces.lines;
    switch (type) {
      case 'NonceAssigned': {
        const deployedBy = data.deploys ? data.transactionId : nonces.deployedBy;
        // The replacement of an earlier nonce does not change the newest one.
        if (line && BigInt(line.sequence) > sequence && !data.fees) return { lines: nonces.lines, deployedBy };
        return { lines: { ...nonces.lines, [String(key)]: assigned(line, String(sequence), data, time) }, deployedBy };
      }
      case 'NonceReleased': {
        if (line?.transactionId !== data.transactionId) return nonces;
        const deployedBy = nonces.deployedBy === data.transactionId ? undefined : nonces.deployedBy;
        if (sequence === 0n) return { lines: others, deployedBy };
        const free = { sequence: String(sequence - 1n), transactionId: undefined, assignedAt: time };
        return { lines: { ...nonces.lines, [String(key)]: free }, deployedBy };
      }
    }
  },
};

const assigned = (
  before: Line | undefined,
  sequence: string,
  { transactionId, fees }: Extract<NonceEvent, { type: 'NonceAssigned' }>['data'],
  assignedAt: number,
): Line => {
  const former = before?.sequence === sequence ? before.transactionId : undefined;
  const replaces = former === transactionId ? undefined : former;
  return { sequence, transactionId, assignedAt, ...(fees && { fees }), ...(replaces !== undefined && { replaces }) };
};

/** The state of transactions when a nonce is given. */
interface Unstored {
  /** Transactions that have a nonce and were not stored. */
  unstored: ReadonlySet<string>;
  nowMs: number;
}

/** A nonce that another transaction had before is not given away: that transaction may still be included. */
const isAbandoned = ({ transactionId, assignedAt, replaces }: Line, { unstored, nowMs }: Unstored): boolean =>
  transactionId !== undefined &&
  replaces === undefined &&
  unstored.has(transactionId) &&
  nowMs - assignedAt >= ABANDONED_AFTER_MS;

const lineOf = ({ lines }: Nonces, transactionId: string | undefined): [key: string, line: Line] | undefined =>
  transactionId === undefined
    ? undefined
    : Object.entries(lines).find(([, line]) => line.transactionId === transactionId);

/** Returns the transaction that has a nonce; `undefined` if none has it. */
export const holderOf = ({ lines }: Nonces, nonce: bigint): string | undefined => {
  const { key, sequence } = nonceParts(nonce);
  const line = lines[String(key)];
  return line?.sequence === String(sequence) ? line.transactionId : undefined;
};

/** Returns the transaction that has the newest nonce of the same key. */
export const newestOfKey = ({ lines }: Nonces, nonce: bigint): string | undefined =>
  lines[String(nonceParts(nonce).key)]?.transactionId;

/** Returns the nonce that a transaction has. */
export const nonceOfTransaction = (nonces: Nonces, transactionId: string): bigint | undefined => {
  const found = lineOf(nonces, transactionId);
  return found && nonceOf(BigInt(found[0]), BigInt(found[1].sequence));
};

/** Returns the transactions that have the newest nonce of a key. */
export const newestTransactions = ({ lines }: Nonces): string[] =>
  Object.values(lines).flatMap(({ transactionId }) => transactionId ?? []);

interface Account {
  chainId: number;
  sender: string;
}

interface Assignment extends Account, Unstored {
  /** Transactions whose nonce a block has used. */
  usedUp: ReadonlySet<string>;
  /** Transactions that can never be included; their nonces have to be used by others. */
  dropped: ReadonlySet<string>;
  /** Whether the account has code. */
  isDeployed: boolean;
}

/**
 * Gives a transaction the next nonce of an idle key, or else the first nonce of a new key, which costs more gas. A nonce that the
 * transaction had abandoned is stored as given again, so that no other transaction gets it.
 */
export const assignNonce = (
  nonces: Nonces,
  transactionId: string,
  { chainId, sender, isDeployed, ...known }: Assignment,
): NonceEvent[] => {
  const own = lineOf(nonces, transactionId);
  if (own && !isAbandoned(own[1], known)) return [];
  const { lines, deployedBy } = nonces;
  const free = (own ? [own] : Object.entries(lines)).flatMap(([key, line]) => nextOf(key, line, known) ?? [])[0];
  const deploying = lineOf(nonces, deployedBy);
  const isAgain = deploying !== undefined && isAbandoned(deploying[1], known);
  const deploys = !isDeployed && (deployedBy === undefined || known.dropped.has(deployedBy) || isAgain);
  const nonce = free ?? nonceOf(newKey(nonces), 0n);
  return [{ type: 'NonceAssigned', data: { chainId, sender, nonce: String(nonce), transactionId, deploys } }];
};

/** Returns the next nonce of an idle key: no unfinished transaction has a nonce of the key. */
const nextOf = (
  key: string,
  line: Line,
  { usedUp, dropped, ...unstored }: Pick<Assignment, 'usedUp' | 'dropped' | keyof Unstored>,
): bigint | undefined => {
  const { sequence, transactionId } = line;
  if (isAbandoned(line, unstored)) return nonceOf(BigInt(key), BigInt(sequence));
  if (transactionId === undefined || usedUp.has(transactionId)) return nonceOf(BigInt(key), BigInt(sequence) + 1n);
  // A dropped nonce above 0 is not given again: after a reorganisation an earlier nonce may be unused, too.
  return dropped.has(transactionId) && sequence === '0' ? nonceOf(BigInt(key), 0n) : undefined;
};

/** Gives a nonce to a transaction that replaces another one, or that the client signed for it. */
export const reassignNonce = (
  nonces: Nonces,
  transactionId: string,
  { chainId, sender, nonce, deploys }: Account & { nonce: bigint; deploys: boolean },
): NonceEvent[] =>
  holderOf(nonces, nonce) === transactionId
    ? []
    : [{ type: 'NonceAssigned', data: { chainId, sender, nonce: String(nonce), transactionId, deploys } }];

/** Another operation has the nonce: this one does not outbid it, or it cannot be replaced any more. */
export class NonceTaken extends Error {
  override readonly name = 'NonceTaken';
}

export interface NonceClaim extends Account {
  nonce: bigint;
  deploys: boolean;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/**
 * Gives a nonce to an operation that the client signed for it. An operation replaces another one of the same nonce only if both
 * of its fees are a tenth higher. So exactly one has the nonce, in whatever processes they arrive.
 * @param dropped transactions that can never be included
 * @param bundled transactions that are in a bundle
 * @throws NonceTaken
 */
export const claimNonce = (
  nonces: Nonces,
  transactionId: string,
  { chainId, sender, nonce, deploys, maxFeePerGas, maxPriorityFeePerGas }: NonceClaim,
  { dropped, bundled, ...unstored }: { dropped: ReadonlySet<string>; bundled: ReadonlySet<string> } & Unstored,
): NonceEvent[] => {
  const { key, sequence } = nonceParts(nonce);
  const line = nonces.lines[String(key)];
  const holder = line?.sequence === String(sequence) ? line.transactionId : undefined;
  if (holder === transactionId) return [];
  const isOver = line?.transactionId !== undefined && (dropped.has(line.transactionId) || isAbandoned(line, unstored));
  if (line && BigInt(line.sequence) > sequence && !isOver)
    throw new NonceTaken('a later nonce of this key has an operation');
  if (line && holder !== undefined && !isOver) {
    if (!line.fees) throw new NonceTaken('the nonce has an operation that this service signed');
    if (
      !outbids(maxFeePerGas, line.fees.maxFeePerGas) ||
      !outbids(maxPriorityFeePerGas, line.fees.maxPriorityFeePerGas)
    )
      throw new NonceTaken('the nonce has an operation: raise both fees by 10 % to replace it');
    if (bundled.has(holder)) throw new NonceTaken('the operation of this nonce is in a submitted bundle');
  }
  const fees = { maxFeePerGas: String(maxFeePerGas), maxPriorityFeePerGas: String(maxPriorityFeePerGas) };
  return [{ type: 'NonceAssigned', data: { chainId, sender, nonce: String(nonce), transactionId, deploys, fees } }];
};

const outbids = (wei: bigint, before: string): boolean => wei * 10n >= BigInt(before) * 11n;

/** Returns the transaction whose nonce a transaction has taken over; `null` if there is none. */
export const replacedBy = ({ lines }: Nonces, transactionId: string): string | null =>
  Object.values(lines).find((line) => line.transactionId === transactionId)?.replaces ?? null;

/** Releases the nonce of a transaction that was never signed. */
export const releaseNonce = (nonces: Nonces, transactionId: string, { chainId, sender }: Account): NonceEvent[] => {
  const nonce = nonceOfTransaction(nonces, transactionId);
  return nonce === undefined
    ? []
    : [{ type: 'NonceReleased', data: { chainId, sender, nonce: String(nonce), transactionId } }];
};

/** The smallest number is the cheapest. */
const newKey = ({ lines }: Nonces): bigint => {
  let key = 0n;
  while (String(key) in lines) key += 1n;
  return key;
};
