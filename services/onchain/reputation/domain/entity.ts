import type { EntityEvent } from '../../../../schemas/events/onchain/entity-events.ts';

const BANNED_MS = 3_600_000;
/** ERC-7562, "Mempool validation rules": one of so many seen operations has to be included, apart from the slack. */
const SEEN_FOR_ONE_INCLUDED = 10;
const THROTTLING_SLACK = 10;
const BAN_SLACK = 50;
const OF_THROTTLED_MAX = 4;
/** How long an admitted operation may take to be stored as a transaction. */
const STORED_WITHIN_MS = 60_000;

/** A foreign sender, factory or paymaster, or a caller of `/rpc` who submits operations of such senders. */
export interface Entity {
  pending: readonly { transactionId: string; admittedAt: number }[];
  /** When it last reverted a bundle, in Unix milliseconds; `undefined` if never. */
  revertedAt: number | undefined;
  /** The bundle transactions that it reverted. */
  reverted: readonly string[];
  /** How many of its operations count as seen, and as included in blocks; `undefined` where nobody has set it. */
  reputation: { opsSeen: number; opsIncluded: number } | undefined;
}
export type ReputationStatus = 'ok' | 'throttled' | 'banned';

export const entityFold = {
  initial: { pending: [], revertedAt: undefined, reverted: [], reputation: undefined } as Entity,
  evolve: (entity: Entity, { type, data }: EntityEvent, time: number): Entity => {
    switch (type) {
      case 'OperationAdmitted': {
        const left = entity.pending.filter(({ transactionId }) => !data.ended.includes(transactionId));
        return { ...entity, pending: [...left, { transactionId: data.transactionId, admittedAt: time }] };
      }
      case 'OperationTakenBack': {
        const left = entity.pending.filter(({ transactionId }) => transactionId !== data.transactionId);
        return { ...entity, pending: left };
      }
      case 'EntityBanned':
        return { ...entity, revertedAt: time, reverted: [...entity.reverted, data.transactionHash] };
      case 'EntityReputationSet': {
        const { opsSeen, opsIncluded } = data;
        return { ...entity, revertedAt: undefined, reputation: { opsSeen, opsIncluded } };
      }
      case 'EntityForgotten':
        return { ...entityFold.initial, reverted: entity.reverted };
    }
  },
};

/** The entity has too many pending operations, or reverted a bundle. */
export class Throttled extends Error {
  override readonly name = 'Throttled';

  constructor(
    message: string,
    readonly address: string,
  ) {
    super(message);
  }
}

export interface EntityAddress {
  chainId: number;
  /** EIP-55; `user:<id>` or `app:<id>` for a caller. */
  address: string;
}

/** In Unix milliseconds; 0 if never. */
export const bannedUntil = ({ revertedAt }: Entity): number => (revertedAt === undefined ? 0 : revertedAt + BANNED_MS);

export const reputationStatus = (entity: Entity, nowMs: number): ReputationStatus => {
  if (nowMs < bannedUntil(entity)) return 'banned';
  if (!entity.reputation) return 'ok';
  const missing = Math.floor(entity.reputation.opsSeen / SEEN_FOR_ONE_INCLUDED) - entity.reputation.opsIncluded;
  if (missing > BAN_SLACK) return 'banned';
  return missing > THROTTLING_SLACK ? 'throttled' : 'ok';
};

/** @throws Throttled */
export const requireNotBanned = (entity: Entity, address: string, nowMs: number): void => {
  if (nowMs < bannedUntil(entity))
    throw new Throttled(`${address} reverted a bundle: it is refused for an hour`, address);
  if (reputationStatus(entity, nowMs) === 'banned')
    throw new Throttled(`${address} has too few of its operations included: it is refused`, address);
};

/** @param ended of its pending ones, those of which nothing can become, or that have become what they could */
export const admitOperation = (
  entity: Entity,
  { chainId, address }: EntityAddress,
  { transactionId, ended, pendingMax }: { transactionId: string; ended: readonly string[]; pendingMax: number },
  nowMs: number,
): EntityEvent[] => {
  if (entity.pending.some((one) => one.transactionId === transactionId)) return [];
  requireNotBanned(entity, address, nowMs);
  const over = entity.pending.map((one) => one.transactionId).filter((id) => ended.includes(id));
  const isThrottled = reputationStatus(entity, nowMs) === 'throttled';
  const most = isThrottled ? Math.min(OF_THROTTLED_MAX, pendingMax) : pendingMax;
  if (entity.pending.length - over.length >= most)
    throw new Throttled(`${address} has ${String(most)} pending operations, which is the most`, address);
  return [{ type: 'OperationAdmitted', data: { chainId, address, transactionId, ended: over } }];
};

/** An operation was refused after it was admitted. */
export const withdrawOperation = (
  { pending }: Entity,
  { chainId, address }: EntityAddress,
  transactionId: string,
): EntityEvent[] =>
  pending.some((one) => one.transactionId === transactionId)
    ? [{ type: 'OperationTakenBack', data: { chainId, address, transactionId } }]
    : [];

/** Whether an admitted operation that is not stored as a transaction will never be stored. */
export const isForgotten = ({ admittedAt }: Entity['pending'][number], nowMs: number): boolean =>
  nowMs > admittedAt + STORED_WITHIN_MS;

/** @param transactionHash of the bundle; a repeat changes nothing */
export const banEntity = (
  entity: Entity,
  { chainId, address }: EntityAddress,
  transactionHash: string,
): EntityEvent[] =>
  entity.reverted.includes(transactionHash)
    ? []
    : [{ type: 'EntityBanned', data: { chainId, address, transactionHash } }];

/** @param reputation which counts from now on, in whatever bundles its operations were */
export const setReputation = (
  entity: Entity,
  { chainId, address }: EntityAddress,
  { opsSeen, opsIncluded }: NonNullable<Entity['reputation']>,
): EntityEvent[] => {
  const { revertedAt, reputation: before } = entity;
  const isSame = revertedAt === undefined && before?.opsSeen === opsSeen && before.opsIncluded === opsIncluded;
  return isSame ? [] : [{ type: 'EntityReputationSet', data: { chainId, address, opsSeen, opsIncluded } }];
};

export const forgetEntity = (
  { pending, revertedAt, reputation }: Entity,
  { chainId, address }: EntityAddress,
): EntityEvent[] =>
  pending.length === 0 && revertedAt === undefined && reputation === undefined
    ? []
    : [{ type: 'EntityForgotten', data: { chainId, address } }];
