import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { entityStream } from '../../../../schemas/events/onchain/entity-events.ts';
import { executorStream } from '../../../../schemas/events/onchain/executor-events.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import { userOpHash } from '../../operations/domain/operation-hash.ts';
import { accountImplementation } from '../../smart-accounts/domain/smart-account.ts';
import { idOfOperation } from '../../transactions/domain/transaction.ts';
import { maxCostOf, nonceOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { IMPLEMENTATION_SLOT } from '../../../../shared/chain/state/eip-1967.ts';
import { contractCode } from '../../chain/contracts.ts';
import { RpcUnderTest, type OwnedAccount } from '../../testing/rpc-under-test.ethers.ts';
import { SendsUnderTest, type Sender } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const THROTTLED = -32504;
const HAPPENS_WITHIN_MS = 20_000;
const HOUR_MS = 3_600_000;
const STARTED_AT = Date.now();
/** Pays for everything: validation answers no context and 0. PUSH1 64, PUSH1 0, MSTORE, PUSH1 96, PUSH1 0, RETURN. */
const PAYS = '0x604060005260606000f3';
/** PUSH1 0, DUP1, REVERT. */
const REVERTS = '0x600080fd';
/** Where SimpleAccount keeps its owner. */
const OWNER_SLOT = `0x${'0'.repeat(64)}`;

const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;

describe('operations that were not signed here', () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let copy: string;
  let anvilAccount: string;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1, stoppedAt: STARTED_AT });
    rpc = await RpcUnderTest.start(sends);
    const implementation = accountImplementation(sends.prepared.accountFactory);
    copy = await contract((await sends.testChain.call('eth_getCode', implementation, 'latest')) as string);
    [anvilAccount = ''] = (await sends.testChain.call('eth_accounts')) as string[];
  });
  afterAll(() => sends.stop());
  beforeEach(() => sends.testChain.setAutomine(true));

  const idOf = (operation: UserOperation) => idOfOperation(Anvil.chainId, sends.prepared.entryPoint, hashOf(operation));
  const hashOf = (operation: UserOperation) => userOpHash(operation, sends.prepared.entryPoint, Anvil.chainId);
  const contract = (code: string): Promise<string> => sends.testChain.deploy(code);
  const runs = ({ address }: OwnedAccount, implementation: string) =>
    sends.testChain.call('anvil_setStorageAt', address, IMPLEMENTATION_SLOT, word(implementation));
  /** Whether each bundle that a block has succeeded, in the order of their blocks. */
  const minedBundles = async (): Promise<unknown[]> => {
    const executor = executorStream(Anvil.chainId, sends.prepared.executors[0] ?? '');
    const events = await sends.foundation.eventStore.read(executor);
    return events.filter(({ type }) => type === 'BundleMined').map(({ data }) => data['success']);
  };
  /** An account of ours that its owner has given other code. */
  const upgraded = async (): Promise<OwnedAccount> => {
    const account = await rpc.deployed();
    await runs(account, copy);
    return account;
  };
  /** @param nonce of another key each */
  const operation = (account: OwnedAccount, key: number, changes: Partial<UserOperation> = {}) =>
    rpc.operation(account, { nonce: nonceOf(BigInt(key), 0n), ...changes });
  const accepted = async (...operations: UserOperation[]) => {
    for (const one of operations) expect(await rpc.send(one)).toMatchObject({ result: hashOf(one) });
  };
  /** Blocks come again, and have all of these. */
  const included = async (...operations: UserOperation[]) => {
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    for (const one of operations) expect(await rpc.receipt(hashOf(one))).toMatchObject({ success: true });
  };
  const refused = async (one: UserOperation, address: string) => {
    expect(await rpc.send(one)).toMatchObject({ error: { code: THROTTLED, data: { address } } });
  };
  const sentByAnvil = async (transaction: JsonObject): Promise<JsonObject> => {
    const hash = await sends.testChain.call('eth_sendTransaction', { from: anvilAccount, ...transaction });
    const asking = () => sends.testChain.call('eth_getTransactionReceipt', hash) as Promise<JsonObject | null>;
    return eventually(asking, HAPPENS_WITHIN_MS, 'the transaction must be in a block');
  };
  const deposit = (address: string, wei: bigint) => {
    const data = `0xb760faf9${word(address).slice(2)}`;
    return sentByAnvil({ to: sends.prepared.entryPoint, data, value: quantity(wei) });
  };
  const paymaster = async (depositWei: bigint) => {
    const address = await contract(PAYS);
    await deposit(address, depositWei);
    return { address, verificationGasLimit: 100_000n, postOpGasLimit: 0n, data: '0x' };
  };
  const foreignFactory = async (): Promise<string> => {
    const data = contractCode.SimpleAccountFactory + word(sends.prepared.entryPoint).slice(2);
    const { contractAddress } = await sentByAnvil({ data, gas: quantity(5_000_000) });
    return checksumAddress((contractAddress as string).slice(2));
  };
  /** Waits until these bundles, and no others, are signed of these operations, and sent. Blocks come one by one. */
  const bundled = (operations: readonly UserOperation[], expected: readonly (readonly UserOperation[])[]) =>
    bundledIds(
      operations.map(idOf),
      expected.map((bundle) => bundle.map(idOf)),
    );
  const bundledIds = async (ids: readonly string[], expected: readonly (readonly string[])[]) => {
    await eventually(
      async () => (await rpc.bundlesOf(ids)).length >= expected.length,
      HAPPENS_WITHIN_MS,
      `there must be ${String(expected.length)} bundles`,
    );
    expect(await rpc.bundlesOf(ids)).toEqual(expected);
    await eventually(() => rpc.nodeHasNewestBundle(), HAPPENS_WITHIN_MS, 'the node must have the newest bundle');
  };
  /** A bundle that no block has yet, so that what follows waits. */
  const busy = async (): Promise<UserOperation> => {
    const first = operation(await rpc.deployed(), 1);
    await sends.testChain.setAutomine(false);
    await accepted(first);
    await bundled([first], [[first]]);
    return first;
  };
  /** A transaction that the vault signs. @returns its id */
  const sent = async (sender: Sender): Promise<string> => {
    const { status, body } = await sends.send(sender);
    expect(status).toBe(201);
    return body['id'] as string;
  };

  describe('have bundles of their own', () => {
    it('one at a time, and what the vault signed comes first in between, and shares its bundle', async () => {
      const senders = await Promise.all([1, 2, 3].map(() => sends.sender(rpc.app)));
      const [one, two] = [operation(await rpc.deployed(), 1), operation(await rpc.deployed(), 1)];
      await busy();
      await accepted(one, two);
      const ours = [];
      for (const sender of senders) ours.push(await sent(sender));
      const ids = [...ours, ...[one, two].map(idOf)];
      await sends.mine(1);
      await bundledIds(ids, [ours]);
      await sends.mine(1);
      await bundledIds(ids, [ours, [idOf(one)]]);
      const [first] = senders;
      if (!first) throw new Error('there are three');
      const later = await sent(first);
      await sends.mine(1);
      await bundledIds([...ids, later], [ours, [idOf(one)], [later]]);
      await sends.mine(1);
      await bundledIds([...ids, later], [ours, [idOf(one)], [later], [idOf(two)]]);
      await included(one, two);
    });

    it('each, whatever their factory and paymaster are', async () => {
      const payer = await paymaster(ETHER);
      const [account, sponsored] = [await rpc.deployed(), await rpc.deployed()];
      const fresh = rpc.account();
      await sends.fund(fresh.address, ETHER);
      const all = [
        operation(account, 1),
        operation(account, 2),
        operation(sponsored, 1, { paymaster: payer }),
        operation(fresh, 1, { factory: fresh.factory }),
      ];
      await busy();
      await accepted(...all);
      for (const [at] of all.entries()) {
        await sends.mine(1);
        await bundled(
          all,
          all.slice(0, at + 1).map((one) => [one]),
        );
      }
      await included(...all);
    });
  });

  describe('are few:', () => {
    it('four of a sender, also of our factory, which has to cover them all', async () => {
      const [account, poor] = [await rpc.deployed(), await rpc.deployed()];
      await sends.testChain.setAutomine(false);
      const all = [1, 2, 3, 4].map((key) => operation(account, key));
      await accepted(...all);
      const fifth = operation(account, 5);
      await refused(fifth, account.address);
      // Another one of a nonce takes the place of the first.
      const raised = operation(account, 4, { maxFeePerGas: 5n * GWEI, maxPriorityFeePerGas: 2n * GWEI });
      await accepted(raised);
      await sends.fund(poor.address, 2n * maxCostOf(fifth));
      const covered = [1, 2].map((key) => operation(poor, key));
      await accepted(...covered);
      expect(await rpc.send(operation(poor, 3))).toMatchObject({
        error: { code: -32500, message: expect.stringMatching(/^AA21 .* all that it has pending$/) },
      });
      await included(...all.slice(0, 3), raised, ...covered);
      await accepted(fifth);
    });

    it('sixty-four of a caller, however many accounts they are of', async () => {
      const caller = await RpcUnderTest.start(sends);
      const accounts = await Promise.all(Array.from({ length: 17 }, () => rpc.deployed()));
      await sends.testChain.setAutomine(false);
      const all = accounts.flatMap((account) => [1, 2, 3, 4].map((key) => operation(account, key)));
      for (const one of all.slice(0, 64)) expect(await caller.send(one)).toMatchObject({ result: hashOf(one) });
      for (const one of all.slice(64)) expect(await caller.send(one)).toMatchObject({ error: { code: THROTTLED } });
      const [another] = all.slice(64);
      if (!another) throw new Error('there are more');
      await accepted(another);
      await included(...all.slice(0, 64), another);
    });

    it('ten of a factory, and ten of a paymaster, whose deposit has to cover them all', async () => {
      const factory = await foreignFactory();
      const payer = await paymaster(ETHER);
      const poor = await paymaster(5n * 10n ** 15n);
      const made = Array.from({ length: 11 }, () => rpc.account(factory));
      const paid = await Promise.all(Array.from({ length: 3 }, () => rpc.deployed()));
      const account = await upgraded();
      for (const { address } of made) await sends.fund(address, ETHER);
      await sends.testChain.setAutomine(false);
      const deploying = made.map((each) => operation(each, 1, { factory: each.factory }));
      await accepted(...deploying.slice(0, 10));
      for (const eleventh of deploying.slice(10)) await refused(eleventh, factory);
      const sponsored = paid.flatMap((each) => [1, 2, 3, 4].map((key) => operation(each, key, { paymaster: payer })));
      await accepted(...sponsored.slice(0, 10));
      for (const more of sponsored.slice(10)) await refused(more, payer.address);
      const covered = operation(account, 1, { paymaster: poor });
      await accepted(covered);
      expect(await rpc.send(operation(account, 2, { paymaster: poor }))).toMatchObject({
        error: { code: -32508, data: { paymaster: poor.address } },
      });
      await included(...deploying.slice(0, 10), ...sponsored.slice(0, 10), covered);
    });
  });

  describe('whose bundle is reverted', () => {
    const bansOf = async (address: string) => {
      const types = await sends.typesOf(entityStream(Anvil.chainId, address));
      return types.filter((type) => type === 'EntityBanned').length;
    };
    const banned = (address: string) =>
      eventually(async () => (await bansOf(address)) > 0, HAPPENS_WITHIN_MS, `${address} must be banned`);
    /** The newest bundle is of this operation, and fails once something has changed. */
    const reverts = async (one: UserOperation, change: () => Promise<unknown>) => {
      await bundled([one], [[one]]);
      await change();
      await sends.mine(1);
    };

    it('are refused for an hour, and what is pending waits', async () => {
      const foreign = await upgraded();
      const refusing = await contract(REVERTS);
      const ours = await rpc.deployed();
      await sends.testChain.setAutomine(false);
      const [first, second] = [operation(foreign, 1), operation(foreign, 2)];
      await accepted(first, second);
      await reverts(first, () => runs(foreign, refusing));
      await banned(foreign.address);
      await runs(foreign, copy);
      await refused(operation(foreign, 3), foreign.address);
      await sends.testChain.setAutomine(true);
      const other = operation(ours, 1);
      await accepted(other);
      await rpc.receipt(hashOf(other));
      await bundled([first, second], [[first]]);
      expect(await bansOf(foreign.address)).toBe(1);
      const told = async () => (await sends.typesOf(transactionStream(idOf(second)))).includes('TxDelayed');
      await eventually(told, HAPPENS_WITHIN_MS, 'what waits must be told why');
    });

    it('bring the same on their factory and paymaster', async () => {
      const payer = await paymaster(ETHER);
      const factory = await foreignFactory();
      const [made, other] = [rpc.account(factory), rpc.account(factory)];
      const ours = await rpc.deployed();
      await sends.fund(other.address, ETHER);
      await sends.testChain.setAutomine(false);
      const first = operation(made, 1, { factory: made.factory, paymaster: payer });
      await accepted(first);
      await reverts(first, () => sends.testChain.call('anvil_setCode', payer.address, REVERTS));
      await banned(payer.address);
      await sends.testChain.call('anvil_setCode', payer.address, PAYS);
      await refused(operation(other, 1, { factory: other.factory }), factory);
      await refused(operation(ours, 1, { paymaster: payer }), payer.address);
      expect(await bansOf(sends.prepared.paymaster)).toBe(0);
    });

    it('are not at fault where somebody else had them included first', async () => {
      const foreign = await upgraded();
      const one = operation(foreign, 1);
      await sends.testChain.setAutomine(false);
      await accepted(one);
      await reverts(one, () =>
        sends.testChain.call('eth_sendTransaction', {
          from: anvilAccount,
          to: sends.prepared.entryPoint,
          data: encodeHandleOps([one], anvilAccount),
          ...{
            gas: quantity(2_000_000),
            maxFeePerGas: quantity(50n * GWEI),
            maxPriorityFeePerGas: quantity(20n * GWEI),
          },
        }),
      );
      await rpc.receipt(hashOf(one));
      await eventually(
        async () => (await minedBundles()).at(-1) === false,
        HAPPENS_WITHIN_MS,
        'our bundle must be reverted',
      );
      await accepted(operation(foreign, 2));
      expect(await bansOf(foreign.address)).toBe(0);
    });

    it('bring nothing on an account whose key the vault has', async () => {
      const sender = await sends.sender(rpc.app);
      await sends.until(sender, await sent(sender), 'included');
      await sends.testChain.setAutomine(false);
      const id = await sent(sender);
      await bundledIds([id], [[id]]);
      const owner = await sends.testChain.call('eth_getStorageAt', sender.address, OWNER_SLOT, 'latest');
      await sends.testChain.call('anvil_setStorageAt', sender.address, OWNER_SLOT, word(randomWallet().address));
      await sends.mine(1);
      await eventually(async () => (await minedBundles()).at(-1) === false, HAPPENS_WITHIN_MS, 'it must be reverted');
      await sends.testChain.call('anvil_setStorageAt', sender.address, OWNER_SLOT, owner);
      await sends.testChain.setAutomine(true);
      await sends.until(sender, id, 'included');
      expect(await bansOf(sender.address)).toBe(0);
    });

    it('are taken again after an hour', async () => {
      const [now, before] = [await rpc.deployed(), await rpc.deployed()];
      const revertedAt = async ({ address }: OwnedAccount, time: number) => {
        const data = { chainId: Anvil.chainId, address, transactionHash: `0x${'1'.repeat(64)}` };
        const event = anEvent({ type: 'EntityBanned', data, time });
        const stream = entityStream(Anvil.chainId, address);
        await sends.foundation.eventStore.append(stream, (await sends.typesOf(stream)).length - 1, [event]);
      };
      await revertedAt(now, STARTED_AT - HOUR_MS + 1);
      await revertedAt(before, STARTED_AT - HOUR_MS);
      await refused(operation(now, 1), now.address);
      const taken = [1, 2, 3, 4].map((key) => operation(before, key));
      await accepted(...taken);
      await included(...taken);
    });
  });

  it('are those of a contract too that only names our implementation', async () => {
    const impostor = { ...rpc.account(), address: await contract('0x60206000f3') };
    await runs(impostor, accountImplementation(sends.prepared.accountFactory));
    await deposit(impostor.address, ETHER);
    await sends.testChain.setAutomine(false);
    const taken = [1, 2, 3, 4].map((key) => operation(impostor, key));
    await accepted(...taken);
    await refused(operation(impostor, 5), impostor.address);
    await included(...taken);
  });
});
