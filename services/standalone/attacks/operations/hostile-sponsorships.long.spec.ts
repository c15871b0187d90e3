import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JsonRpcProvider, Wallet } from 'ethers';
import { readSponsorship } from '../../../onchain/sponsorship-administration.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { isFullSize } from '../../../../shared/testing/sized.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { executeCall } from '../../../onchain/operations/domain/account-calls.ts';
import { encodeHandleOps } from '../../../onchain/operations/domain/operation-encoding.ts';
import { STUB_PAYMASTER_DATA } from '../../../onchain/operations/domain/operation-hash.ts';
import { nonceOf, type UserOperation } from '../../../onchain/operations/domain/user-operation.ts';
import { writes } from '../../../onchain/testing/evm-code.ts';
import { RpcUnderTest, type OwnedAccount } from '../../../onchain/testing/rpc-under-test.ethers.ts';
import { SendsUnderTest } from '../../../onchain/testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const HAPPENS_WITHIN_MS = 20_000;
/** In wei, from hundredths of a gwei. */
const BASE_FEES = [1n, 10n, 100n, 1_000n, 10_000n].map((hundredths) => (hundredths * GWEI) / 100n);
/** 1,000 in all, if started by the command. */
const EACH = isFullSize ? 100 : 6;
/**
 * Maximum gain in thousandths of what was paid: for an operation as estimated, and for the most that the rules allow.
 */
const GAIN_MAX = { 'as estimated': 10, 'at the edge of the rules': 120 };

type Terms = keyof typeof GAIN_MAX;
type Limits = Pick<UserOperation, 'callGasLimit' | 'verificationGasLimit' | 'preVerificationGas'>;

describe('a stranger who sends operations that an app pays for, with himself as the beneficiary', () => {
  let sends: SendsUnderTest;
  let provider: JsonRpcProvider;
  let stranger: Wallet;
  let written: string;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1, depositWei: 1_000n * ETHER });
    provider = new JsonRpcProvider(sends.testChain.rpcUrl, Anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
    stranger = new Wallet(randomWallet().privateKey, provider);
    await sends.fund(stranger.address, 1_000n * ETHER);
    written = randomWallet().address;
    await sends.testChain.call('anvil_setCode', written, writes(1));
  });
  afterAll(async () => {
    provider.destroy();
    await sends.stop();
  });

  const setBaseFee = (wei: bigint) => sends.testChain.call('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`);
  const pricesOf = async (rpc: RpcUnderTest): Promise<{ baseFee: bigint; tip: bigint }> => {
    const { result } = await rpc.call('pimlico_getUserOperationGasPrice');
    const { fast = {} } = result as Record<string, Record<string, string>>;
    const tip = BigInt(fast['maxPriorityFeePerGas'] ?? 0);
    return { tip, baseFee: (BigInt(fast['maxFeePerGas'] ?? 0) - tip) / 2n };
  };
  /** Makes a block with this base fee the head, also for the service. @returns the tip that blocks are paid */
  const atBaseFee = async (rpc: RpcUnderTest, wei: bigint): Promise<bigint> => {
    await setBaseFee(wei);
    await sends.mine(1);
    const isSeen = async () => {
      const { tip, baseFee } = await pricesOf(rpc);
      return baseFee === wei && { tip };
    };
    return (await eventually(isSeen, HAPPENS_WITHIN_MS, 'the head must be seen')).tip;
  };
  const deployed = async (rpc: RpcUnderTest): Promise<OwnedAccount> => {
    await atBaseFee(rpc, GWEI);
    return rpc.deployed();
  };

  /** Makes an operation signed by our paymaster, with fees and limits as high as the terms allow. */
  const sponsored = async (
    rpc: RpcUnderTest,
    account: OwnedAccount,
    { key, baseFee, terms }: { key: bigint; baseFee: bigint; terms: Terms },
  ): Promise<{ operation: UserOperation; tip: bigint }> => {
    const tip = await atBaseFee(rpc, baseFee);
    const stub = { address: sends.prepared.paymaster, verificationGasLimit: 0n, postOpGasLimit: 0n };
    const draft = {
      nonce: nonceOf(key, 0n),
      callData: executeCall({ to: written, value: 0n, data: '0x' }),
      maxFeePerGas: 3n * baseFee + tip,
      maxPriorityFeePerGas: tip,
      paymaster: { ...stub, data: STUB_PAYMASTER_DATA },
    };
    const { result } = await rpc.estimate(rpc.operation(account, draft));
    const found = result as Record<string, string>;
    const gas = (name: string) => BigInt(found[name] ?? 0);
    const isEdge = terms === 'at the edge of the rules';
    const limits: Limits = {
      callGasLimit: gas('callGasLimit') * (isEdge ? 2n : 1n),
      verificationGasLimit: gas('verificationGasLimit') * (isEdge ? 2n : 1n),
      preVerificationGas: isEdge ? (gas('preVerificationGas') * 11n) / 10n : gas('preVerificationGas'),
    };
    const payer = { ...draft.paymaster, verificationGasLimit: gas('paymasterVerificationGasLimit') };
    const asked = rpc.operation(account, { ...draft, ...limits, paymaster: payer });
    const { result: signed, error } = await rpc.sponsor(asked);
    if (error) throw new Error(error.message);
    const { paymasterData: data = '0x', ...answer } = signed as Record<string, string>;
    const verificationGasLimit = BigInt(answer['paymasterVerificationGasLimit'] ?? 0);
    const operation = rpc.operation(account, {
      ...draft,
      ...limits,
      paymaster: { ...payer, data, verificationGasLimit },
    });
    return { operation, tip };
  };

  /**
   * Sends the operation as any bundler would, for the tip that blocks are paid.
   * @returns the bundler's gain and the paymaster's loss
   */
  const bundled = async (operation: UserOperation, { tip, baseFee }: { tip: bigint; baseFee: bigint }) => {
    const [had, deposit] = [await sends.balance(stranger.address), await sends.deposit()];
    await setBaseFee(baseFee);
    const sent = await stranger.sendTransaction({
      to: sends.prepared.entryPoint,
      data: encodeHandleOps([operation], stranger.address),
      ...{ gasLimit: 3_000_000n, maxPriorityFeePerGas: tip, maxFeePerGas: 2n * baseFee + tip },
    });
    const receipt = await sent.wait();
    expect(receipt?.status).toBe(1);
    return { gain: (await sends.balance(stranger.address)) - had, paid: deposit - (await sends.deposit()) };
  };

  it.each(Object.keys(GAIN_MAX) as Terms[])(
    'gains next to nothing, whatever the base fee is: %s',
    async (terms) => {
      const gains: string[] = [];
      for (const baseFee of BASE_FEES) {
        const rpc = await RpcUnderTest.start(sends);
        const account = await deployed(rpc);
        let [gain, paid] = [0n, 0n];
        for (let at = 0; at < EACH; at += 1) {
          const { operation, tip } = await sponsored(rpc, account, { key: BigInt(at + 1), baseFee, terms });
          const outcome = await bundled(operation, { tip, baseFee });
          gain += outcome.gain;
          paid += outcome.paid;
        }
        const thousandths = Number((gain * 1_000n) / paid);
        gains.push(`${(Number(baseFee) / 1e9).toString()} gwei: ${(thousandths / 10).toFixed(1)} %`);
        expect(thousandths).toBeLessThanOrEqual(GAIN_MAX[terms]);
      }
      process.stdout.write(`${terms}: ${gains.join(', ')}\n`);
    },
    EACH * 60_000,
  );

  it('locks little of a day with ten new wallets, however often they ask for signatures', async () => {
    const dayWei = 100n * ETHER;
    const app = await sends.app({
      ...{ dayWei: String(dayWei), userDayWei: String(10n * ETHER), operationWei: String(ETHER / 10n) },
      ...{ allow: [], anySession: false },
    });
    const wallets = await Promise.all(
      Array.from({ length: 10 }, async () => new RpcUnderTest(sends, app, await sends.sender(app))),
    );
    for (const rpc of wallets) {
      const account = await deployed(rpc);
      for (let key = 1n; key <= 9n; key += 1n) {
        await sponsored(rpc, account, { key, baseFee: GWEI, terms: 'at the edge of the rules' });
      }
    }
    const { chains } = await readSponsorship(sends.foundation, app.id);
    const locked = BigInt((chains[0] as unknown as JsonObject)['reserved'] as string);
    process.stdout.write(`locked: ${((Number(locked) / Number(dayWei)) * 100).toFixed(3)} % of a day\n`);
    expect(locked * 100n).toBeLessThanOrEqual(dayWei);
  }, 300_000);
});
