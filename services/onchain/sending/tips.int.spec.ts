import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { casesOf } from '../../../shared/testing/cases.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import type { ProviderGateway } from '../../../shared/testing/chain/provider-gateway.ts';
import { startAnvil, type StartChain } from '../../../shared/testing/chain/start-test-chain.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { startNodeWith, type NodeHabits } from '../testing/node-habits.ethers.ts';
import { RpcUnderTest, type RpcAnswer } from '../testing/rpc-under-test.ethers.ts';
import { SendsUnderTest, type Sender } from '../testing/sends-under-test.ethers.ts';

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const INCLUDED_WITHIN_MS = 120_000;
const USERS = casesOf(50);

const SUGGESTION = 'eth_maxPriorityFeePerGas';
const HISTORY = 'eth_feeHistory';
/** By what the node lacks of the two methods that tell the tip. */
const LACKS = { neither: [], suggestion: [SUGGESTION], history: [HISTORY], both: [SUGGESTION, HISTORY] };

interface TestedNode extends NodeHabits {
  name: string;
  /** Whether blocks have a base fee. Default: true */
  hasBaseFee?: boolean;
}

const all: TestedNode[] = [
  ...[0n, 1n, 25n, 100n].flatMap((gwei) =>
    Object.entries(LACKS).map(([lacks, methods]) => ({
      name: `refuses tips below ${String(gwei)} gwei and lacks ${lacks}`,
      leastTip: gwei * GWEI,
      lacks: methods,
    })),
  ),
  {
    name: 'has no base fee, refuses tips below 1 gwei and lacks both',
    hasBaseFee: false,
    leastTip: GWEI,
    lacks: LACKS.both,
  },
];
const hardest = all.filter(({ leastTip, lacks }) => leastTip === 25n * GWEI && lacks === LACKS.both);
const nodes = casesOf(50) < 50 ? [...hardest, ...all.slice(-1)] : all;

const bigintsIn = (quantities: unknown): Record<string, bigint> =>
  Object.fromEntries(Object.entries(quantities as object).map(([name, value]) => [name, BigInt(String(value))]));

const paymasterIn = ({ result, error }: RpcAnswer): NonNullable<UserOperation['paymaster']> => {
  if (error) throw new Error(error.message);
  const { paymaster = '', paymasterData = '', ...limits } = result as Record<string, string>;
  return {
    address: paymaster,
    data: paymasterData,
    verificationGasLimit: BigInt(limits['paymasterVerificationGasLimit'] ?? 0),
    postOpGasLimit: BigInt(limits['paymasterPostOpGasLimit'] ?? 0),
  };
};

/** Starts the service behind a node with these habits. */
const startBehind = async (
  habits: NodeHabits,
  { folder, startChain }: { folder: string; startChain: StartChain },
): Promise<{ sends: SendsUnderTest; rpc: RpcUnderTest; stop: () => Promise<void> }> => {
  let node: ProviderGateway | undefined;
  const sends = await SendsUnderTest.start(join(folder, 'sends'), {
    depositWei: 100n * ETHER,
    startChain,
    through: async (rpcUrl) => {
      node = await startNodeWith(habits, rpcUrl);
      return node.url;
    },
  });
  const stop = async () => {
    await sends.stop();
    await node?.stop();
  };
  return { sends, rpc: await RpcUnderTest.start(sends), stop };
};

describe.each(nodes)('sends through a node that $name', ({ hasBaseFee = true, ...habits }) => {
  const { leastTip = 0n } = habits;
  const folder = temporaryFolder();
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let stop: () => Promise<void>;
  let before: bigint[];
  const balances = () => Promise.all(sends.prepared.executors.map((address) => sends.balance(address)));
  beforeAll(async () => {
    const startChain: StartChain = hasBaseFee ? startAnvil : (at) => Anvil.start(at, Anvil.chainId, 'berlin');
    ({ sends, rpc, stop } = await startBehind(habits, { folder, startChain }));
    before = await balances();
  });
  afterAll(() => stop());

  const isIncluded = async (sender: Sender, value: string): Promise<boolean> => {
    const { body } = await sends.get('/onchain/transactions', sender);
    const ofSend = (body['items'] as JsonObject[]).filter((item) => item['value'] === value);
    return ofSend.some(({ status }) => status === 'included' || status === 'final');
  };

  it(`includes the sends of ${String(USERS)} users, sponsored or not`, async () => {
    const sendOnce = async (at: number) => {
      const sender = await sends.sender(rpc.app);
      await sends.fund(sender.address, ETHER);
      const { status } = await sends.send(sender, { sponsor: at % 2 === 0, transactionReq: { value: '7' } });
      expect(status).toBe(201);
      await eventually(() => isIncluded(sender, '7'), INCLUDED_WITHIN_MS, 'a block must have the send');
    };
    await Promise.all(Array.from({ length: USERS }, (_, at) => sendOnce(at)));
  });

  it('includes what a client makes of our gas prices and estimates, sponsored or not', async () => {
    for (const isSponsored of [true, false]) {
      const account = rpc.account();
      await sends.fund(account.address, ETHER);
      const { result: prices } = await rpc.call('pimlico_getUserOperationGasPrice');
      const { fast } = prices as { fast: { maxFeePerGas: string; maxPriorityFeePerGas: string } };
      const fees = { maxFeePerGas: BigInt(fast.maxFeePerGas), maxPriorityFeePerGas: BigInt(fast.maxPriorityFeePerGas) };
      expect(fees.maxPriorityFeePerGas).toBeGreaterThanOrEqual(leastTip);
      const draft = { ...rpc.operation(account, { ...fees, factory: account.factory }), preVerificationGas: 0n };
      const stub = isSponsored ? paymasterIn(await rpc.stub(draft)) : undefined;
      const { result: limits } = await rpc.estimate({ ...draft, paymaster: stub });
      const { paymasterVerificationGasLimit: ofPaymaster, ...gas } = bigintsIn(limits);
      const paymaster = stub && { ...stub, verificationGasLimit: ofPaymaster ?? 0n };
      const whole = { ...draft, ...gas, paymaster };
      const paid = paymaster && paymasterIn(await rpc.sponsor(whole));
      const { result, error } = await rpc.send(rpc.operation(account, { ...whole, paymaster: paid }));
      expect(error).toBeUndefined();
      expect(await rpc.receipt(result)).toMatchObject({ success: true });
    }
  });

  it('costs the executors nothing', async () => {
    const after = await balances();
    for (const [at, wei] of before.entries()) expect(after[at]).toBeGreaterThanOrEqual(wei);
  });
});

describe('a tip that is too high or too low for a chain', () => {
  const folder = temporaryFolder();
  const habits: NodeHabits = {};
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ sends, rpc, stop } = await startBehind(habits, { folder, startChain: startAnvil }));
  });
  afterAll(() => stop());

  const funded = async (): Promise<Sender> => {
    const sender = await sends.sender(rpc.app);
    await sends.fund(sender.address, ETHER);
    return sender;
  };
  const withTip = (tip: bigint): JsonObject => ({ transactionReq: { maxPriorityFeePerGas: String(tip) } });
  const sentOverRpc = async (tip: bigint) => {
    const account = rpc.account();
    const fees = { maxFeePerGas: 1_000n * GWEI, maxPriorityFeePerGas: tip };
    return rpc.send(rpc.operation(account, { ...fees, factory: account.factory }));
  };

  it('is refused with tipMax, whether the caller or the node asks for it', async () => {
    const sender = await sends.sender(rpc.app);
    const detail = expect.stringContaining('above the tipMax of this chain, which is 100000000000 wei');
    const refused = { status: 400, body: { code: 'validation_failed', detail } };
    const tooHigh = withTip(100n * GWEI + 1n);
    expect(await sends.send(sender, { sponsor: false, ...tooHigh })).toMatchObject(refused);
    expect(await sends.post('/onchain/estimate-user-op-gas', sender, tooHigh)).toMatchObject(refused);
    expect(await sentOverRpc(100n * GWEI + 1n)).toMatchObject({ error: { code: -32_602, message: detail } });
    habits.suggests = 200n * GWEI;
    await eventually(
      async () => (await sends.send(sender)).status !== 201,
      INCLUDED_WITHIN_MS,
      'a send must be refused once the suggestion is read',
    );
    expect(await sends.send(sender)).toMatchObject(refused);
    expect(await sends.post('/onchain/estimate-user-op-gas', sender)).toMatchObject(refused);
    const prices = await rpc.call('pimlico_getUserOperationGasPrice');
    expect(prices).toMatchObject({ error: { code: -32_602, message: detail } });
    const { body: lower } = await sends.send(sender, withTip(3n * GWEI));
    await sends.until(sender, lower['id'], 'included');
    delete habits.suggests;
    const isAsWas = async () => (await sends.post('/onchain/estimate-user-op-gas', sender)).status === 201;
    await eventually(isAsWas, INCLUDED_WITHIN_MS, 'an estimate must be given once the suggestion is read');
  });

  it('waits, if the caller chose the tip before a node refused it, and is raised if not', async () => {
    const [chooser, other] = [await funded(), await funded()];
    // Until both are accepted, no node refuses anything.
    const accepted = Promise.withResolvers<undefined>();
    Object.assign(habits, { leastTip: 25n * GWEI, takesTransactionsAfter: accepted.promise });
    const { body: chosen } = await sends.send(chooser, { sponsor: false, ...withTip(2n * GWEI) });
    const { body: raised } = await sends.send(other, { sponsor: false });
    accepted.resolve(undefined);
    await sends.until(other, raised['id'], 'replaced');
    const reason = 'its tip is below the least that the nodes of this chain take, 25000000000 wei a gas';
    const hasReason = async () => {
      const { body } = await sends.get(`/onchain/transactions/${chosen['id'] as string}`, chooser);
      return (body['history'] as JsonObject[]).at(-1)?.['reason'] === reason;
    };
    await eventually(hasReason, INCLUDED_WITHIN_MS, 'the send must say for what it waits');
  });

  it('is refused with the least tip once a node has named it', async () => {
    const sender = await funded();
    const detail = expect.stringContaining('which is 25000000000 wei');
    const answer = await sends.send(sender, withTip(25n * GWEI - 1n));
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed', detail } });
    expect(await sentOverRpc(25n * GWEI - 1n)).toMatchObject({ error: { code: -32_602, message: detail } });
    const { body } = await sends.send(sender, withTip(25n * GWEI));
    await sends.until(sender, body['id'], 'included');
  });

  it('is not all that a problem names: also a method that the node lacks', async () => {
    const sender = await funded();
    habits.lacks = ['eth_getBalance'];
    const answer = await sends.send(sender);
    delete habits.lacks;
    expect(answer).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } });
    expect(answer.body['detail']).toContain('has eth_getBalance: provider 1: the method eth_getBalance does not exist');
  });
});
