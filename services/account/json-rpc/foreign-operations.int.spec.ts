import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { entityStream } from '../../../schemas/events/entity-events.ts';
import { executorStream } from '../../../schemas/events/executor-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { checksumAddress } from '../../../shared/chain/address.ts';
import { Anvil } from '../../../shared/testing/anvil.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../shared/testing/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { encodeHandleOps } from '../domain/operation-encoding.ts';
import { userOpHash } from '../domain/operation-hash.ts';
import { accountImplementation } from '../domain/smart-account.ts';
import { nonceOf, type UserOperation } from '../domain/user-operation.ts';
import { IMPLEMENTATION_SLOT } from '../../../shared/chain/eip-1967.ts';
import { contractCode } from '../prepare-chain/contracts.ts';
import { RpcUnderTest, type OwnedAccount } from '../testing/rpc-under-test.ethers.ts';
import { SendsUnderTest } from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const THROTTLED = -32504;
const HAPPENS_WITHIN_MS = 20_000;
const HOUR_MS = 3_600_000;
/** Pays for everything: validation answers no context and 0. PUSH1 64, PUSH1 0, MSTORE, PUSH1 96, PUSH1 0, RETURN. */
const PAYS = '0x604060005260606000f3';
/** PUSH1 0, DUP1, REVERT. */
const REVERTS = '0x600080fd';
/** Where SimpleAccount keeps its owner. */
const OWNER_SLOT = `0x${'0'.repeat(64)}`;

const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;

describe('operations that are not known to behave', () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let copy: string;
  let anvilAccount: string;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1 });
    rpc = await RpcUnderTest.start(sends);
    const implementation = accountImplementation(sends.prepared.accountFactory);
    copy = await contract((await sends.anvil.call('eth_getCode', implementation, 'latest')) as string);
    [anvilAccount = ''] = (await sends.anvil.call('eth_accounts')) as string[];
  });
  afterAll(() => sends.stop());
  beforeEach(() => sends.anvil.call('evm_setAutomine', true));

  const hashOf = (operation: UserOperation) => userOpHash(operation, sends.prepared.entryPoint, Anvil.chainId);
  const contract = async (code: string): Promise<string> => {
    const { address } = randomWallet();
    await sends.anvil.call('anvil_setCode', address, code);
    return address;
  };
  const setSlot = ({ address }: OwnedAccount, slot: string, held: string) =>
    sends.anvil.call('anvil_setStorageAt', address, slot, word(held));
  const runs = (account: OwnedAccount, implementation: string) => setSlot(account, IMPLEMENTATION_SLOT, implementation);
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
    await sends.anvil.call('evm_setAutomine', true);
    await sends.mine(1);
    for (const one of operations) expect(await rpc.receipt(hashOf(one))).toMatchObject({ success: true });
  };
  const refused = async (one: UserOperation, address: string) => {
    expect(await rpc.send(one)).toMatchObject({ error: { code: THROTTLED, data: { address } } });
  };
  const sentByAnvil = async (transaction: JsonObject): Promise<JsonObject> => {
    const hash = await sends.anvil.call('eth_sendTransaction', { from: anvilAccount, ...transaction });
    const asking = () => sends.anvil.call('eth_getTransactionReceipt', hash) as Promise<JsonObject | null>;
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
  const bundled = async (operations: readonly UserOperation[], expected: readonly (readonly UserOperation[])[]) => {
    const wanted = expected.map((bundle) => bundle.map(hashOf));
    await eventually(
      async () => (await rpc.bundlesOf(operations)).length >= wanted.length,
      HAPPENS_WITHIN_MS,
      `there must be ${String(wanted.length)} bundles`,
    );
    expect(await rpc.bundlesOf(operations)).toEqual(wanted);
    await eventually(() => rpc.nodeHasNewestBundle(), HAPPENS_WITHIN_MS, 'the node must have the newest bundle');
  };
  /** A bundle that no block has yet, so that what follows waits. */
  const busy = async (): Promise<UserOperation> => {
    const first = operation(await rpc.deployed(), 1);
    await sends.anvil.call('evm_setAutomine', false);
    await accepted(first);
    await bundled([first], [[first]]);
    return first;
  };

  describe('have bundles of their own', () => {
    it('one at a time, and ours come first in between, which share theirs', async () => {
      const ours = [await rpc.deployed(), await rpc.deployed(), await rpc.deployed()] as const;
      const [a, b, c] = [operation(ours[0], 1), operation(ours[1], 1), operation(ours[2], 1)];
      const [one, two] = [operation(await upgraded(), 1), operation(await upgraded(), 1)];
      const later = operation(ours[0], 2);
      const all = [a, b, c, one, two, later];
      await busy();
      await accepted(a, one, b, two, c);
      await sends.mine(1);
      await bundled(all, [[a, b, c]]);
      await sends.mine(1);
      await bundled(all, [[a, b, c], [one]]);
      await accepted(later);
      await sends.mine(1);
      await bundled(all, [[a, b, c], [one], [later]]);
      await sends.mine(1);
      await bundled(all, [[a, b, c], [one], [later], [two]]);
      await included(...all);
    });

    it('although they were of ours when they were accepted', async () => {
      const [changed, ours] = [await rpc.deployed(), await rpc.deployed()];
      const all = [operation(changed, 1), operation(ours, 1), operation(ours, 2)] as const;
      await busy();
      await accepted(...all);
      await runs(changed, copy);
      await sends.mine(1);
      await bundled(all, [[all[0]]]);
      await sends.mine(1);
      await bundled(all, [[all[0]], [all[1], all[2]]]);
      await included(...all);
    });

    it('where only the paymaster or the factory is of others, and a deploying one comes before what needs it', async () => {
      const payer = await paymaster(ETHER);
      const [sponsored, ours] = [await rpc.deployed(), await rpc.deployed()];
      const made = rpc.account(await foreignFactory());
      const fresh = rpc.account();
      for (const { address } of [made, fresh]) await sends.fund(address, ETHER);
      const all = [
        operation(sponsored, 1, { paymaster: payer }),
        operation(made, 1, { factory: made.factory }),
        operation(ours, 1),
        operation(fresh, 1, { factory: fresh.factory }),
        operation(ours, 2),
      ] as const;
      await busy();
      await accepted(...all);
      await sends.mine(1);
      await bundled(all, [[all[0]]]);
      await sends.mine(1);
      await bundled(all, [[all[0]], [all[2], all[3], all[4]]]);
      await sends.mine(1);
      await bundled(all, [[all[0]], [all[2], all[3], all[4]], [all[1]]]);
      await included(...all);
    });
  });

  describe('are few:', () => {
    it('four of a sender, while those of ours are not counted', async () => {
      const [foreign, ours] = [await upgraded(), await rpc.deployed()];
      await sends.anvil.call('evm_setAutomine', false);
      const theirs = [1, 2, 3].map((key) => operation(foreign, key));
      await accepted(...theirs, operation(foreign, 4));
      await accepted(...Array.from({ length: 12 }, (_, key) => operation(ours, key + 1)));
      const fifth = operation(foreign, 5);
      await refused(fifth, foreign.address);
      // Another one of a nonce takes the place of the first.
      const raised = operation(foreign, 4, { maxFeePerGas: 5n * GWEI, maxPriorityFeePerGas: 2n * GWEI });
      await accepted(raised);
      await included(...theirs, raised);
      await accepted(fifth);
    });

    it('ten of a factory, and ten of a paymaster, whose deposit has to cover them all', async () => {
      const factory = await foreignFactory();
      const payer = await paymaster(ETHER);
      const poor = await paymaster(5n * 10n ** 15n);
      const made = Array.from({ length: 11 }, () => rpc.account(factory));
      const paid = await Promise.all(Array.from({ length: 3 }, () => rpc.deployed()));
      const account = await upgraded();
      for (const { address } of made) await sends.fund(address, ETHER);
      await sends.anvil.call('evm_setAutomine', false);
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
      await sends.anvil.call('evm_setAutomine', false);
      const [first, second] = [operation(foreign, 1), operation(foreign, 2)];
      await accepted(first, second);
      await reverts(first, () => runs(foreign, refusing));
      await banned(foreign.address);
      await runs(foreign, copy);
      await refused(operation(foreign, 3), foreign.address);
      await sends.anvil.call('evm_setAutomine', true);
      const other = operation(ours, 1);
      await accepted(other);
      await rpc.receipt(hashOf(other));
      await bundled([first, second], [[first]]);
      expect(await bansOf(foreign.address)).toBe(1);
    });

    it('bring the same on their factory and paymaster', async () => {
      const payer = await paymaster(ETHER);
      const factory = await foreignFactory();
      const [made, other] = [rpc.account(factory), rpc.account(factory)];
      const ours = await rpc.deployed();
      await sends.fund(other.address, ETHER);
      await sends.anvil.call('evm_setAutomine', false);
      const first = operation(made, 1, { factory: made.factory, paymaster: payer });
      await accepted(first);
      await reverts(first, () => sends.anvil.call('anvil_setCode', payer.address, REVERTS));
      await banned(payer.address);
      await sends.anvil.call('anvil_setCode', payer.address, PAYS);
      await refused(operation(other, 1, { factory: other.factory }), factory);
      await refused(operation(ours, 1, { paymaster: payer }), payer.address);
      expect(await bansOf(sends.prepared.paymaster)).toBe(0);
    });

    it('are not at fault where somebody else had them included first', async () => {
      const foreign = await upgraded();
      const one = operation(foreign, 1);
      await sends.anvil.call('evm_setAutomine', false);
      await accepted(one);
      await reverts(one, () =>
        sends.anvil.call('eth_sendTransaction', {
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
      const executor = executorStream(Anvil.chainId, sends.prepared.executors[0] ?? '');
      await eventually(
        async () => {
          const mined = (await sends.foundation.eventStore.read(executor)).findLast(
            ({ type }) => type === 'BundleMined',
          );
          return mined?.data['success'] === false;
        },
        HAPPENS_WITHIN_MS,
        'our bundle must be reverted',
      );
      await accepted(operation(foreign, 2));
      expect(await bansOf(foreign.address)).toBe(0);
    });

    it('go on at once where the account is ours', async () => {
      const [ours, other] = [await rpc.deployed(), await rpc.deployed()];
      const all = [operation(ours, 1), operation(ours, 2), operation(other, 1)] as const;
      await sends.anvil.call('evm_setAutomine', false);
      await accepted(all[0]);
      await bundled(all, [[all[0]]]);
      await accepted(all[1], all[2]);
      await reverts(all[0], () => setSlot(ours, OWNER_SLOT, other.owner.address));
      await banned(ours.address);
      await setSlot(ours, OWNER_SLOT, ours.owner.address);
      await included(...all);
    });

    it('are taken again after an hour, and those of ours share bundles as before', async () => {
      const [now, before] = [await rpc.deployed(), await rpc.deployed()];
      const revertedAt = async ({ address }: OwnedAccount, time: number) => {
        const data = { chainId: Anvil.chainId, address, transactionHash: `0x${'1'.repeat(64)}` };
        const event = anEvent({ type: 'EntityBanned', data, time });
        await sends.foundation.eventStore.append(entityStream(Anvil.chainId, address), -1, [event]);
      };
      await revertedAt(now, Date.now() - HOUR_MS + 60_000);
      await revertedAt(before, Date.now() - HOUR_MS);
      await refused(operation(now, 1), now.address);
      const other = await rpc.deployed();
      const taken = [1, 2, 3, 4, 5].map((key) => operation(before, key));
      const ours = [1, 2].map((key) => operation(other, key));
      await busy();
      await accepted(...taken, ...ours);
      await included(...taken, ...ours);
      await bundled([...taken, ...ours], [[...taken, ...ours]]);
    });
  });

  it('are those of a contract too that only names our implementation', async () => {
    const impostor = { ...rpc.account(), address: await contract('0x60206000f3') };
    await runs(impostor, accountImplementation(sends.prepared.accountFactory));
    await deposit(impostor.address, ETHER);
    await sends.anvil.call('evm_setAutomine', false);
    const taken = [1, 2, 3, 4].map((key) => operation(impostor, key));
    await accepted(...taken);
    await refused(operation(impostor, 5), impostor.address);
    await included(...taken);
  });
});
