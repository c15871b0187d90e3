import type { Measured } from '../../../../shared/host/health/measure.ts';
import type { WatchModels } from '../../edge/watch-models.ts';
import type { ChainLoops } from './chain-loops.ts';
import type { ChainShares } from './chain-shares.ts';

interface ChainMetricsOptions {
  chainIds: readonly number[];
  shares: Pick<ChainShares, 'announcement'>;
  followed: Pick<ChainLoops, 'rangesOf'>;
  models: Pick<WatchModels, 'chain' | 'verification'>;
}

/**
 * Returns metrics: which chains this process follows, how far each chain is read and verified, and the backfills of
 * this process. Every process reports the same block numbers, because they come from the read models.
 */
export const chainMetrics = ({ chainIds, shares, followed, models }: ChainMetricsOptions): Measured[] => {
  const followedHere = () => chainIds.filter((chainId) => shares.announcement.followed.includes(chainId));
  const block = (name: string, help: string, blockOf: (chainId: number) => Promise<number | undefined>): Measured => ({
    name,
    help,
    labelNames: ['chain_id'],
    read: async () => {
      const blocks = await Promise.all(
        chainIds.map(async (chainId) => ({ labels: labelsOf(chainId), value: await blockOf(chainId) })),
      );
      return blocks.flatMap(({ labels, value }) => (value === undefined ? [] : [{ labels, value }]));
    },
  });
  return [
    {
      name: 'annals_chain_followed_here',
      help: '1 when this process follows the chain, 0 when it is on standby.',
      labelNames: ['chain_id'],
      read: () => {
        const here = followedHere();
        return Promise.resolve(
          chainIds.map((chainId) => ({ labels: labelsOf(chainId), value: Number(here.includes(chainId)) })),
        );
      },
    },
    block(
      'annals_chain_head_block',
      'Number of the newest block that was read.',
      async (chainId) => (await models.chain(chainId))?.head,
    ),
    block(
      'annals_chain_finalized_block',
      'Number of the newest final block.',
      async (chainId) => (await models.chain(chainId))?.finalized,
    ),
    block(
      'annals_chain_verified_block',
      'Number of the block up to which every registration has been verified.',
      async (chainId) => {
        const verification = await models.verification(chainId);
        return verification && Math.min(verification.verified, ...verification.behind.map(({ next }) => next - 1));
      },
    ),
    {
      name: 'annals_chain_backfills',
      help: 'Ranges of blocks that this process reads, or that wait for their turn.',
      labelNames: ['chain_id', 'state'],
      read: () =>
        Promise.resolve(
          followedHere().flatMap((chainId) =>
            Object.entries(followed.rangesOf(chainId)).map(([state, value]) => ({
              labels: { ...labelsOf(chainId), state },
              value,
            })),
          ),
        ),
    },
  ];
};

const labelsOf = (chainId: number): { chain_id: string } => ({ chain_id: String(chainId) });
