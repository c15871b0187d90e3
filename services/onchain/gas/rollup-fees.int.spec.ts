import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executorStream } from '../../../schemas/events/onchain/executor-events.ts';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { FORKS } from '../operations/domain/fork-rules.ts';
import { encodeHandleOps } from '../operations/domain/operation-encoding.ts';
import { STUB_SIGNATURE } from '../operations/domain/operation-hash.ts';
import { fullBundleOf, preVerificationGas } from '../operations/domain/pre-verification-gas.ts';
import { operationOf } from '../transactions/domain/transaction.ts';
import { BundlerStreams } from '../bundler/mempool/bundler-streams.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { RpcUnderTest, type OwnedAccount } from '../testing/rpc-under-test.ethers.ts';
import { SendsUnderTest } from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const GWEI = 10n ** 9n;
const WEI_PER_BYTE = 10n ** 12n;
const GAS_PER_BYTE = 100n;
const PRICE = { maxFeePerGas: 4n * GWEI, maxPriorityFeePerGas: 4n * GWEI };
const bytesOf = (data: string) => BigInt(data.length / 2 - 1);

/** CALLDATASIZE, PUSH5, MUL, MSTORE: each byte of the question costs as much. RETURN of so many words. */
const answersBySize = (each: bigint, words: number): string =>
  `0x3664${each.toString(16).padStart(10, '0')}0260005260${(words * 32).toString(16).padStart(2, '0')}6000f3`;

const ROLLUPS = [
  ['op-stack', '0x420000000000000000000000000000000000000F', answersBySize(WEI_PER_BYTE, 1)],
  ['arbitrum', '0x00000000000000000000000000000000000000C8', answersBySize(GAS_PER_BYTE, 3)],
] as const;

describe.each(ROLLUPS)('an operation on a rollup of the kind %s', (kind, oracle, code) => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let account: OwnedAccount;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(join(folder, kind), { executors: 1 });
    await sends.testChain.call('anvil_setCode', oracle, code);
    rpc = await RpcUnderTest.start(sends);
    account = rpc.account();
    await sends.fund(account.address, 10n ** 18n);
  });
  afterAll(() => sends.stop());

  const draft = () => rpc.operation(account, { factory: account.factory, ...PRICE });
  /** What its data costs at least, which the oracle is asked about with what stands around it. */
  const dataFeeGas = () => {
    const bytes = bytesOf(fullBundleOf(draft()));
    return kind === 'arbitrum' ? bytes * GAS_PER_BYTE : (bytes * WEI_PER_BYTE) / PRICE.maxFeePerGas;
  };

  it('is estimated with the fee for its data, and refused with less', async () => {
    const least = preVerificationGas(draft(), FORKS[Anvil.hardfork]) + dataFeeGas();
    const { result } = await rpc.estimate({ ...draft(), signature: STUB_SIGNATURE });
    const estimated = BigInt((result as Record<string, string>)['preVerificationGas'] ?? 0);
    expect(estimated).toBeGreaterThan(least);
    expect(estimated).toBeLessThan(least * 2n);
    expect(await rpc.send(rpc.operation(account, { ...draft(), preVerificationGas: least }))).toMatchObject({
      error: { code: rpcCodes.invalidParams, message: expect.stringMatching(/^preVerificationGas is below/) },
    });
    const { result: hash } = await rpc.send(rpc.operation(account, { ...draft(), preVerificationGas: estimated }));
    expect(await rpc.receipt(hash)).toMatchObject({ success: true });
  });

  it('is sent for a user with the fee for its data, in a bundle that has the gas for it', async () => {
    const sender = await sends.sender(rpc.app);
    const { body } = await sends.send(sender);
    await sends.until(sender, body['id'], 'included');
    const { eventStore, ids } = sends.foundation;
    const streams = new BundlerStreams(new Transactor(eventStore, sends.foundation.clock, ids), Anvil.chainId);
    const operation = operationOf(await streams.loadTransaction(body['id'] as string));
    expect(operation.preVerificationGas).toBeGreaterThan(preVerificationGas(operation, FORKS[Anvil.hardfork]) * 2n);
    const [executor = ''] = sends.prepared.executors;
    const signed = (await eventStore.read(executorStream(Anvil.chainId, executor))).findLast(
      ({ type }) => type === 'BundleSigned',
    );
    const gasLimit = BigInt(signed?.data['gasLimit'] as string);
    const ofData = bytesOf(encodeHandleOps([operation], executor)) * GAS_PER_BYTE;
    if (kind === 'arbitrum') expect(gasLimit).toBeGreaterThan(ofData + operation.verificationGasLimit);
  });
});
