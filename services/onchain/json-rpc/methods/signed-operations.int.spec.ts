import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { rpcCodes } from '../../../../schemas/rpc/rpc-messages.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { call } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { executeCall } from '../../operations/domain/account-calls.ts';
import { FORKS } from '../../operations/domain/fork-rules.ts';
import { userOpHash } from '../../operations/domain/operation-hash.ts';
import { idOfOperation } from '../../transactions/domain/transaction.ts';
import { nonceOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { reverts, SAYS_NO } from '../../testing/evm-code.ts';
import { RpcUnderTest, type OwnedAccount } from '../../testing/rpc-under-test.ethers.ts';
import { NOBODY, SendsUnderTest } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const GWEI = 10n ** 9n;
const HAPPENS_WITHIN_MS = 20_000;
const MEBIBYTE = 1_048_576;
const { invalidParams, callReverts } = rpcCodes;

describe('an operation that came signed', () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let account: OwnedAccount;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1 });
    rpc = await RpcUnderTest.start(sends);
    account = await rpc.deployed();
  });
  afterAll(() => sends.stop());

  const hashOf = (one: UserOperation) => userOpHash(one, sends.prepared.entryPoint, Anvil.chainId);
  const idOf = (one: UserOperation) => idOfOperation(Anvil.chainId, sends.prepared.entryPoint, hashOf(one));
  const operation = (key: number, changes: Partial<UserOperation> = {}) =>
    rpc.operation(account, { nonce: nonceOf(BigInt(key), 0n), ...changes });
  const accepted = async (one: UserOperation) => {
    expect(await rpc.send(one)).toMatchObject({ result: hashOf(one) });
  };
  const refused = async (one: UserOperation, message: string) => {
    expect(await rpc.send(one)).toMatchObject({
      error: { code: invalidParams, message: expect.stringContaining(message) },
    });
  };
  const bundled = (one: UserOperation) =>
    eventually(
      async () => (await rpc.bundlesOf([idOf(one)])).length > 0 && (await rpc.nodeHasNewestBundle()),
      HAPPENS_WITHIN_MS,
      'the operation must be in a bundle that the node has',
    );

  it.each<[string, Partial<UserOperation>]>([
    ['a limit or a fee has more than 120 bits', { maxFeePerGas: 2n ** 120n }],
    ['a limit or a fee has more than 120 bits', { callGasLimit: 2n ** 256n - 1n }],
    ['maxPriorityFeePerGas is above maxFeePerGas', { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI + 1n }],
    ['maxFeePerGas is below the base fee', { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }],
    ['the gas limits fit no block', { callGasLimit: 30_000_000n }],
    ['the gas limits fit no block', { verificationGasLimit: 30_000_000n }],
    ['the operation is too long', { callData: `0x${'00'.repeat(131_072)}` }],
    ['preVerificationGas is below', { preVerificationGas: 40_000n }],
  ])('is refused where %s', (message, changes) => refused(operation(1, changes), message));

  it('is included with as high a limit as a transaction may have, however little its call uses', async () => {
    const { transactionGasMax } = FORKS[Anvil.hardfork];
    const [most, message] =
      transactionGasMax === undefined
        ? [28_390_000n, 'the gas limits fit no block']
        : [15_570_000n, 'a transaction may have 16777216 gas here'];
    await refused(operation(6, { callGasLimit: most + 10_000n }), message);
    const one = operation(6, { callGasLimit: most });
    await accepted(one);
    expect(await rpc.receipt(hashOf(one))).toMatchObject({ success: true });
    expect(await rpc.bundlesOf([idOf(one)])).toHaveLength(1);
  });

  it('is answered the same hash again, however often, and told by it over every way in', async () => {
    const { address: to } = randomWallet();
    const one = operation(2, { callData: executeCall({ to, value: 3n, data: '0x' }) });
    await sends.testChain.setAutomine(false);
    for (let time = 0; time < 3; time += 1) await accepted(one);
    const found = async () => (await rpc.call('eth_getUserOperationByHash', hashOf(one))).result as JsonObject;
    expect(await eventually(found, HAPPENS_WITHIN_MS, 'it must be known')).toMatchObject({
      ...{ blockHash: null, blockNumber: null, transactionHash: null, entryPoint: sends.prepared.entryPoint },
      userOperation: { sender: account.address, signature: one.signature, callData: one.callData },
    });
    expect(await rpc.call('eth_getUserOperationReceipt', hashOf(one))).toMatchObject({ result: null });
    await bundled(one);
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    const receipt = await rpc.receipt(hashOf(one));
    expect(receipt).toMatchObject({ success: true, sender: account.address });
    expect(receipt).not.toHaveProperty('reason');
    await accepted(one);
    expect(await sends.balance(to)).toBe(3n);
    const { body } = await call(`${sends.service.url}/onchain/user-op-receipt/${String(Anvil.chainId)}/${hashOf(one)}`);
    expect(body).toMatchObject({ status: 'included', receipt });
    expect(await found()).toMatchObject({ transactionHash: (receipt['receipt'] as JsonObject)['transactionHash'] });
  });

  it('that is not known here is answered null', async () => {
    const unknown = `0x${'12'.repeat(32)}`;
    for (const method of ['eth_getUserOperationByHash', 'eth_getUserOperationReceipt'])
      expect(await rpc.call(method, unknown)).toMatchObject({ result: null });
  });

  it('of a user of this service is told by its hash too', async () => {
    const sender = await sends.sender(rpc.app);
    const { body } = await sends.send(sender);
    expect(await rpc.receipt(body['userOpHash'])).toMatchObject({ sender: sender.address, success: true });
  });

  it('takes the place of another one of its nonce that waits, if it raises both fees by a tenth', async () => {
    const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    const [busy, first] = [operation(3), operation(4, fees)];
    await sends.testChain.setAutomine(false);
    await accepted(busy);
    await bundled(busy);
    await accepted(first);
    const other = { ...fees, callGasLimit: 90_000n };
    const outbid = 'raise both fees by 10 %';
    await refused(operation(4, other), outbid);
    await refused(operation(4, { ...other, maxFeePerGas: 11n * GWEI }), outbid);
    await refused(operation(4, { ...other, maxPriorityFeePerGas: 3n * GWEI }), outbid);
    const second = operation(4, { ...other, maxFeePerGas: 11n * GWEI, maxPriorityFeePerGas: (22n * GWEI) / 10n });
    await accepted(second);
    await accepted(first);
    await sends.mine(1);
    await bundled(second);
    const third = operation(4, { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 5n * GWEI });
    await refused(third, 'is in a submitted bundle');
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    expect(await rpc.receipt(hashOf(second))).toMatchObject({ success: true });
    expect(await rpc.bundlesOf([first, third].map(idOf))).toEqual([]);
    const { body } = await call(
      `${sends.service.url}/onchain/user-op-receipt/${String(Anvil.chainId)}/${hashOf(first)}`,
    );
    expect(body).toMatchObject({ status: 'replaced', replacedBy: hashOf(second), receipt: null });
  });

  it('is estimated as if what is overridden were so, and a call that reverts is told with its reason', async () => {
    const { address: to } = randomWallet();
    const { entryPoint } = sends.prepared;
    const form = {
      ...{
        sender: account.address,
        nonce: '0x80000000000000000',
        callData: executeCall({ to, value: 0n, data: '0x' }),
      },
    };
    const estimate = (...more: unknown[]) => rpc.call('eth_estimateUserOperationGas', form, entryPoint, ...more);
    expect(await estimate()).toHaveProperty('result.callGasLimit');
    const refusing = { [to]: { code: reverts(SAYS_NO) } };
    expect(await estimate(refusing)).toMatchObject({
      error: { code: callReverts, message: expect.stringContaining('no'), data: { reason: 'no', revertData: SAYS_NO } },
    });
    const poor = { ...form, callData: executeCall({ to: NOBODY, value: 10n ** 30n, data: '0x' }) };
    const rich = { [account.address.toLowerCase()]: { balance: `0x${(10n ** 31n).toString(16)}` } };
    const estimatePoor = (...more: unknown[]) => rpc.call('eth_estimateUserOperationGas', poor, entryPoint, ...more);
    expect(await estimatePoor()).toMatchObject({ error: { code: callReverts } });
    expect(await estimatePoor(rich)).toHaveProperty('result');
  });

  it('is one of fifty calls of an array, each answered in its place', async () => {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => rpc.deployed()));
    const keys = [1n, 2n, 3n, 4n];
    const operations = accounts.flatMap((one) => keys.map((key) => rpc.operation(one, { nonce: nonceOf(key, 0n) })));
    const { entryPoint } = sends.prepared;
    const requests = operations.map((one, id) => ({
      ...{ jsonrpc: '2.0', id, method: 'eth_sendUserOperation', params: [rpc.form(one), entryPoint] },
    }));
    const wrong = Array.from({ length: 30 }, (_, at) => ({ jsonrpc: '2.0', id: `w${String(at)}`, method: 'no' }));
    const { status, body } = await call(rpc.url, {
      method: 'POST',
      body: [...requests, ...wrong],
      headers: rpc.bearer,
    });
    expect(status).toBe(200);
    expect(body).toEqual([
      ...operations.map((one, id) => ({ jsonrpc: '2.0', id, result: hashOf(one) })),
      ...wrong.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32601, message: 'there is no method no' } })),
    ]);
    for (const one of operations) expect(await rpc.receipt(hashOf(one))).toMatchObject({ success: true });
  });

  it('may be as long as a body may be, and is refused for what is wrong with it', async () => {
    const bytes = (MEBIBYTE - 2_048) / 2;
    await refused(operation(5, { callData: `0x${'11'.repeat(bytes)}` }), 'the operation is too long');
    const { status, body } = await call(rpc.url, {
      method: 'POST',
      body: { method: 'eth_chainId', more: 'x'.repeat(MEBIBYTE) },
      headers: rpc.bearer,
    });
    expect([status, body['code']]).toEqual([413, 'body_too_large']);
  });
});
