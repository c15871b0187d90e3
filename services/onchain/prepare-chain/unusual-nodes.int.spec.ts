import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chainSettings, type ChainSettings } from '../../../shared/config/chain-settings.ts';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { refusing, type ProviderGateway } from '../../../shared/testing/chain/provider-gateway.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { chainAdministration } from '../chain-administration.ts';
import { startNodeWith, type NodeHabits } from '../testing/node-habits.ethers.ts';

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const REFUSALS = 5;
const NO_TIPS = ['eth_maxPriorityFeePerGas', 'eth_feeHistory'];
const FUNDING = { funderKey: LOCAL_FUNDER_KEY, depositWei: ETHER, executors: 1, executorWei: ETHER };

const folder = temporaryFolder();
const nodes: { stop: () => Promise<void> }[] = [];
afterAll(async () => {
  for (const node of nodes.reverse()) await node.stop();
});

/** Starts a chain of its own behind a node with these habits. */
const given = async (
  habits: NodeHabits,
  hardfork?: 'berlin',
): Promise<{ chain: ChainSettings; node: ProviderGateway }> => {
  const anvil = await Anvil.start(join(folder, String(nodes.length)), Anvil.chainId, hardfork);
  const node = await startNodeWith(habits, anvil.rpcUrl);
  nodes.push(anvil, node);
  return { chain: chainSettings.parse({ chainId: Anvil.chainId, rpcUrls: [node.url] }), node };
};

it.each<[string, NodeHabits, 'berlin' | undefined]>([
  ['takes five calls in one request', { batchMax: 5 }, undefined],
  ['takes one call in one request', { batchMax: 1 }, undefined],
  ['refuses a transaction before the one before is in a block', { queuesNothing: true }, undefined],
  ['refuses tips below 25 gwei, and tells no tip', { leastTip: 25n * GWEI, lacks: NO_TIPS }, undefined],
  ['has no base fee, and tells no tip', { leastTip: GWEI, lacks: NO_TIPS }, 'berlin'],
])('a chain is prepared at a node that %s', async (_, habits, hardfork) => {
  const { chain } = await given(habits, hardfork);
  const administration = chainAdministration(await testFoundation());
  const { paymaster } = await administration.prepare(chain, { ...FUNDING, executors: 4 });
  const state = await administration.state(chain);
  expect(state).toMatchObject({ missing: [], paymaster: { address: paymaster, depositWei: String(ETHER) } });
  await administration.withdraw(chain, ETHER, `0x${'1'.repeat(40)}`);
  expect(await administration.state(chain)).toMatchObject({ paymaster: { depositWei: '0' } });
});

it('a chain is prepared at a node that is still indexing transactions', async () => {
  const { chain, node } = await given({});
  let refused = 0;
  // In the words of geth, which refuses to say that no block has a transaction.
  node.answer = refusing(({ method }) => {
    if (method !== 'eth_getTransactionReceipt' || refused === REFUSALS) return undefined;
    refused += 1;
    return { code: -32_000, message: 'transaction indexing is in progress' };
  });
  await chainAdministration(await testFoundation()).prepare(chain, FUNDING);
  expect(refused).toBe(REFUSALS);
});

it.each<[string, NodeHabits, 'berlin' | undefined]>([
  ['without a base fee', { leastTip: GWEI, lacks: NO_TIPS }, 'berlin'],
  ['with a base fee', { leastTip: 25n * GWEI, lacks: NO_TIPS }, undefined],
])(
  'a chain %s is prepared if the first transaction is the one that shows the lowest tip',
  async (_, habits, hardfork) => {
    const { chain } = await given(habits, hardfork);
    await chainAdministration(await testFoundation()).prepare(chain, FUNDING);
    // The contracts exist, and no executor lacks anything.
    const another = chainAdministration(await testFoundation());
    expect(await another.prepare(chain, { ...FUNDING, executorWei: 0n })).toMatchObject({
      executors: [expect.anything()],
    });
  },
);

it('a deposit is withdrawn at a node that takes no state overrides', async () => {
  const habits: NodeHabits = {};
  const { chain } = await given(habits);
  const administration = chainAdministration(await testFoundation());
  await administration.prepare(chain, FUNDING);
  habits.takesNoOverrides = true;
  expect(await administration.withdraw(chain, ETHER, `0x${'1'.repeat(40)}`)).toMatch(/^0x/);
});

describe('a node that lacks what cannot be done without', () => {
  let administration: ReturnType<typeof chainAdministration>;
  beforeAll(async () => {
    administration = chainAdministration(await testFoundation());
  });

  it.each<[string, NodeHabits, string]>([
    [
      'state overrides',
      { takesNoOverrides: true },
      'has eth_call with state overrides: provider 1: too many arguments, want at most 2',
    ],
    [
      'the code of accounts',
      { lacks: ['eth_getCode'] },
      'has eth_getCode: provider 1: the method eth_getCode does not exist/is not available',
    ],
  ])('is told so when the chain is prepared, and when its state is asked for: %s', async (_, habits, told) => {
    const { chain } = await given(habits);
    const message = `no provider of chain 2484 ${told}`;
    await expect(administration.prepare(chain, FUNDING)).rejects.toThrow(message);
    await expect(administration.state(chain)).rejects.toThrow(message);
  });
});
