import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Interface, type Log } from 'ethers';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { chainSettings } from '../../../shared/config/chain-settings.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { addressOfKey, newPrivateKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { signDigest } from '../../../shared/keys/signatures/sign-digest.ts';
import { HARDFORKS } from '../../../shared/chain/hardforks.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import type { TestChain } from '../../../shared/testing/chain/test-chain.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { chainAdministration, type PreparedChain } from '../chain-administration.ts';
import { createAccountData, executeCall } from '../operations/domain/account-calls.ts';
import { signedTransaction, transactionDigest, transactionHash } from '../bundler/domain/bundle-transaction.ts';
import { FORKS } from '../operations/domain/fork-rules.ts';
import { encodeHandleOps } from '../operations/domain/operation-encoding.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE, userOpHash } from '../operations/domain/operation-hash.ts';
import { preVerificationGas } from '../operations/domain/pre-verification-gas.ts';
import { accountAddress } from '../smart-accounts/domain/smart-account.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { signOperation } from '../testing/signed-operation.ts';

const ETHER = 10n ** 18n;
const FEE = 10n ** 9n;
const CHAIN_ID = Anvil.chainId;
const SOMEBODY = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const folder = temporaryFolder();
const events = new Interface([
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
]);
/** By the EntryPoint, for validation and a call that does little. */
const COUNTED_GAS = 120_000;
const DEPLOYED = { factory: undefined, verificationGasLimit: 200_000n };

interface Receipt {
  gasUsed: string;
  logs: Log[];
}

describe.each(HARDFORKS)('a bundle of one operation at %s', (hardfork) => {
  const rules = FORKS[hardfork];
  let testChain: TestChain;
  let chain: PreparedChain;
  let paymasterKey: Buffer;
  const executorKey = newPrivateKey();
  let executorNonce = 0;
  beforeAll(async () => {
    testChain = await startTestChain(join(folder, hardfork), hardfork);
    const foundation = await testFoundation();
    chain = await chainAdministration(foundation).prepare(
      chainSettings.parse({ chainId: CHAIN_ID, rpcUrls: [testChain.rpcUrl] }),
      { funderKey: LOCAL_FUNDER_KEY, depositWei: 10n * ETHER, executors: 1, executorWei: ETHER },
    );
    paymasterKey = await personalDataOf(foundation).keys.paymasterKey(CHAIN_ID);
    await testChain.setBalance(addressOfKey(executorKey), 100n * ETHER);
  });
  afterAll(() => testChain.stop());

  const newOwner = () => {
    const key = newPrivateKey();
    const owner = addressOfKey(key);
    return { key, owner, sender: accountAddress(chain.accountFactory, owner) };
  };
  type Owner = ReturnType<typeof newOwner>;

  const operationOf = ({ owner, sender }: Owner, changes: Partial<UserOperation>): UserOperation => ({
    sender,
    nonce: 0n,
    factory: { address: chain.accountFactory, data: createAccountData(owner) },
    callData: '0x',
    callGasLimit: 0n,
    verificationGasLimit: 400_000n,
    preVerificationGas: 0n,
    maxFeePerGas: 5n * FEE,
    maxPriorityFeePerGas: FEE,
    paymaster: undefined,
    signature: STUB_SIGNATURE,
    ...changes,
  });
  const sponsor = () => ({
    address: chain.paymaster,
    verificationGasLimit: 60_000n,
    postOpGasLimit: 0n,
    data: STUB_PAYMASTER_DATA,
  });

  const signed = ({ key }: Owner, stub: UserOperation): UserOperation =>
    signOperation(
      { ...stub, preVerificationGas: preVerificationGas(stub, rules) },
      {
        ...{ chainId: CHAIN_ID, entryPoint: chain.entryPoint, owner: key },
        paymaster: { key: paymasterKey, validUntil: 2 ** 32 - 1, validAfter: 0 },
      },
    );

  const bundle = async (operation: UserOperation) => {
    const executor = addressOfKey(executorKey);
    const transaction = {
      chainId: CHAIN_ID,
      nonce: executorNonce,
      maxFeePerGas: 5n * FEE,
      maxPriorityFeePerGas: FEE,
      gasLimit: 8_000_000n,
      to: chain.entryPoint,
      data: encodeHandleOps([operation], executor),
    };
    executorNonce += 1;
    const raw = signedTransaction(transaction, signDigest(executorKey, transactionDigest(transaction)));
    expect(await testChain.call('eth_sendRawTransaction', raw)).toBe(transactionHash(raw));
    const receipt = await eventually(
      async () => (await testChain.call('eth_getTransactionReceipt', transactionHash(raw))) as Receipt | null,
      5_000,
      'the bundle is not in a block',
    );
    const event = receipt.logs.map((log) => events.parseLog(log)).find((parsed) => parsed !== null);
    return {
      used: BigInt(receipt.gasUsed),
      paid: event?.args['actualGasUsed'] as bigint,
      success: event?.args['success'] as boolean,
      hash: event?.args['userOpHash'] as string,
    };
  };

  const expectPaid = ({ used, paid }: Awaited<ReturnType<typeof bundle>>) => {
    expect(Number(paid)).toBeGreaterThanOrEqual(Number(used));
    // What the EntryPoint counts is paid besides where the floor for data is what a bundle costs.
    const counted = rules.floorTokenGas > 0n ? COUNTED_GAS : 0;
    expect(Number(paid)).toBeLessThanOrEqual(Number(used) * 1.1 + counted);
  };
  const funded = async (): Promise<Owner> => {
    const owner = newOwner();
    await testChain.setBalance(owner.sender, ETHER);
    return owner;
  };

  it('is executed, with the hash and signatures that the contracts compute, and costs its sender nothing', async () => {
    for (const paymaster of [undefined, sponsor()]) {
      const owner = await funded();
      const first = signed(owner, operationOf(owner, { paymaster }));
      const deployed = await bundle(first);
      expect(deployed).toMatchObject({ success: true, hash: userOpHash(first, chain.entryPoint, CHAIN_ID) });
      expectPaid(deployed);
      for (const [number, bytes] of [0, 4, 68, 1_000, 10_000].entries()) {
        const call = { to: SOMEBODY, value: 1n, data: `0x${'ab'.repeat(bytes)}` };
        const callGasLimit = 24_000n + BigInt(2 * bytes);
        const nonce = BigInt(number + 1);
        const changes = { nonce, callData: executeCall(call), callGasLimit, paymaster };
        const called = await bundle(signed(owner, operationOf(owner, { ...DEPLOYED, ...changes })));
        expect(called.success).toBe(true);
        expectPaid(called);
      }
    }
  });

  it('costs its sender nothing however much it holds, with a deposit or none before, and when its call fails', async () => {
    for (const paymaster of [undefined, sponsor()]) {
      const owner = await funded();
      await bundle(signed(owner, operationOf(owner, { paymaster: sponsor() })));
      let nonce = 0n;
      for (const selector of ['0x8dd7712f', '0xabababab']) {
        for (const bytes of [0, 100, 1_000, 10_000, 32_000, 64_000]) {
          const callData = selector + 'ab'.repeat(bytes);
          nonce += 1n;
          const failed = await bundle(signed(owner, operationOf(owner, { ...DEPLOYED, nonce, callData, paymaster })));
          expect(failed.success).toBe(false);
          expectPaid(failed);
        }
      }
    }
  });

  it('is asked for the same gas whatever its limits, fees and signature are', () => {
    const stub = operationOf(newOwner(), { callData: '0xabcd', paymaster: sponsor() });
    const other = {
      ...stub,
      callGasLimit: 12_345_678n,
      verificationGasLimit: 1n,
      preVerificationGas: 100_000n,
      maxFeePerGas: 0n,
      maxPriorityFeePerGas: 2n ** 63n,
      paymaster: { ...sponsor(), verificationGasLimit: 7n, postOpGasLimit: 8n },
      signature: `0x${'00'.repeat(65)}`,
    };
    expect(preVerificationGas(other, rules)).toBe(preVerificationGas(stub, rules));
  });
});
