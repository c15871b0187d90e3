import type { EntityEvent } from '../../../schemas/events/entity-events.ts';

const BANNED_MS = 3_600_000;
/** How long one that was admitted may take to be stored as a transaction. */
const STORED_WITHIN_MS = 60_000;

/** A sender, factory or paymaster that is not ours. */
export interface Entity {
  pending: readonly { transactionId: string; admittedAt: number }[];
  /** When it last reverted a bundle, in Unix milliseconds; `undefined` of one that never has. */
  revertedAt: number | undefined;
  /** The transactions that it reverted. */
  reverted: readonly string[];
}

export const entityFold = {
  initial: { pending: [], revertedAt: undefined, reverted: [] } as Entity,
  evolve: (entity: Entity, { type, data }: EntityEvent, time: number): Entity => {
    switch (type) {
      case 'OperationAdmitted': {
        const left = entity.pending.filter(({ transactionId }) => !data.ended.includes(transactionId));
        return { ...entity, pending: [...left, { transactionId: data.transactionId, admittedAt: time }] };
      }
      case 'EntityBanned':
        return { ...entity, revertedAt: time, reverted: [...entity.reverted, data.transactionHash] };
    }
  },
};

/** It has too many operations under way, or reverted a bundle. */
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
  /** EIP-55. */
  address: string;
}

/** In Unix milliseconds; 0 of one that never was. */
export const bannedUntil = ({ revertedAt }: Entity): number => (revertedAt === undefined ? 0 : revertedAt + BANNED_MS);

/** @throws Throttled */
export const requireNotBanned = (entity: Entity, address: string, nowMs: number): void => {
  if (nowMs >= bannedUntil(entity)) return;
  throw new Throttled(`${address} reverted a bundle: it is refused for an hour`, address);
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
  if (entity.pending.length - over.length >= pendingMax)
    throw new Throttled(`${address} has ${String(pendingMax)} pending operations, which is the most`, address);
  return [{ type: 'OperationAdmitted', data: { chainId, address, transactionId, ended: over } }];
};

/** Whether one that was admitted, and is no transaction, will never be one. */
export const isForgotten = ({ admittedAt }: Entity['pending'][number], nowMs: number): boolean =>
  nowMs > admittedAt + STORED_WITHIN_MS;

/** @param transactionHash of the bundle; the same again is nothing new */
export const banEntity = (
  entity: Entity,
  { chainId, address }: EntityAddress,
  transactionHash: string,
): EntityEvent[] =>
  entity.reverted.includes(transactionHash)
    ? []
    : [{ type: 'EntityBanned', data: { chainId, address, transactionHash } }];
