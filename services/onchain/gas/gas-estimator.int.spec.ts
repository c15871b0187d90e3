import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AbiCoder, concat, type Wallet } from 'ethers';
import { startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { burns, caught, checksGas, passesOn, reverts, writes } from '../testing/evm-code.ts';
import { execute, executeBatch, OperationsOnChain } from '../testing/operations-on-chain.ethers.ts';
import { GasEstimator, type GasLimits } from './gas-estimator.ts';
import { RequestBatcher } from '../chain/request-batcher.ts';
import type { SimulationRequest } from '../chain/operations-chain.ts';

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const abi = AbiCoder.defaultAbiCoder();
const folder = temporaryFolder();

interface Draft {
  owner: Wallet;
  operation: UserOperation;
}
type LimitName = keyof GasLimits;
const NONE: GasLimits = {
  callGasLimit: 0n,
  verificationGasLimit: 0n,
  paymasterVerificationGasLimit: 0n,
  paymasterPostOpGasLimit: 0n,
};

describe('estimating gas', () => {
  let local: OperationsOnChain;
  let estimator: GasEstimator;
  beforeAll(async () => {
    local = await OperationsOnChain.start(folder, startTestChain);
    estimator = new GasEstimator(local.chain, new RequestBatcher((all) => local.chain.simulate(all), 10));
  });
  afterAll(() => local.stop());

  const limited = ({ operation }: Draft, { callGasLimit, verificationGasLimit, ...ofPaymaster }: GasLimits) => ({
    ...operation,
    callGasLimit,
    verificationGasLimit,
    paymaster: operation.paymaster && {
      ...operation.paymaster,
      verificationGasLimit: ofPaymaster.paymasterVerificationGasLimit,
      postOpGasLimit: ofPaymaster.paymasterPostOpGasLimit,
    },
  });

  /** Whether it succeeds with these limits, and the same slot is written; afterwards nothing has happened. */
  const suffices = async (draft: Draft, limits: GasLimits, written?: string): Promise<boolean> => {
    const before = await local.testChain.snapshot();
    try {
      const signed = local.sign(draft.owner, limited(draft, limits));
      const trial = await local.chain.tryBundle([signed], local.executor.address);
      if (trial.kind !== 'ok') return false;
      const { inclusions } = await local.include([signed]);
      const slot = written && (await local.testChain.call('eth_getStorageAt', written, '0x0', 'latest'));
      return inclusions[0]?.success === true && (slot === undefined || BigInt(slot as string) === 1n);
    } finally {
      await local.testChain.revertTo(before);
    }
  };

  const smallest = async (draft: Draft, limits: GasLimits, name: LimitName, written?: string): Promise<bigint> => {
    let [low, high] = [0n, limits[name]];
    while (high - low > high / 64n + 1n) {
      const middle = (low + high) / 2n;
      if (await suffices(draft, { ...limits, [name]: middle }, written)) high = middle;
      else low = middle;
    }
    return high;
  };

  const newAccount = (callData: string, { sponsored = true } = {}): Draft => {
    const owner = randomWallet();
    return { owner, operation: local.operation(owner, { factory: local.factoryOf(owner), callData, sponsored }) };
  };
  const deployed = async (callData: string, { sponsored = true } = {}): Promise<Draft> => {
    const owner = randomWallet();
    await local.deploy(owner);
    return { owner, operation: local.operation(owner, { nonce: 1n, callData, sponsored }) };
  };
  /** A contract that calls another, through so many. */
  const through = async (to: string, depth: number): Promise<string> =>
    depth === 0 ? to : through(await local.contract(passesOn(to)), depth - 1);
  const nested = async (code: string, depth: number): Promise<string> => through(await local.contract(code), depth);
  const estimate = ({ operation }: Draft) => estimator.estimate({ operation });

  interface Animal {
    name: string;
    draft: () => Promise<Draft> | Draft;
    /** A contract whose first slot is 1 afterwards. */
    written?: () => string;
    wei?: bigint;
  }
  let writer = '';
  const zoo: Animal[] = [
    { name: 'a new account that calls nobody', draft: () => newAccount('0x') },
    { name: 'a new account that sends nothing to nobody', draft: () => newAccount(execute(randomWallet().address)) },
    {
      name: 'a new account that pays',
      draft: () => newAccount(execute(randomWallet().address, 1n), { sponsored: false }),
      wei: ETHER,
    },
    { name: 'an account that calls nobody', draft: () => deployed('0x') },
    {
      name: 'an account that sends all it has',
      draft: () => deployed(execute(randomWallet().address, ETHER)),
      wei: ETHER,
    },
    {
      name: 'an account that pays, and sends',
      draft: () => deployed(execute(randomWallet().address, 5n), { sponsored: false }),
      wei: ETHER,
    },
    { name: 'a call that writes', draft: async () => deployed(execute(await local.contract(writes(3)))) },
    {
      name: 'a batch that sends and writes, with much data',
      draft: async () =>
        deployed(
          executeBatch([
            { to: randomWallet().address, value: 3n },
            { to: await local.contract(writes(2)) },
            { to: await local.contract(writes(1)), data: `0x${'7f'.repeat(3_000)}` },
          ]),
        ),
      wei: ETHER,
    },
    {
      name: 'a call through six others, each of which is given 63/64',
      draft: async () => deployed(execute(await nested(writes(30), 6))),
    },
    {
      name: 'a call of which running out of gas is caught',
      draft: async () => {
        writer = await local.contract(writes(20));
        return deployed(execute(await local.contract(caught(writer))));
      },
      written: () => writer,
    },
    {
      name: 'a call through ten others that runs out of gas with what it uses, which is caught',
      draft: async () => {
        writer = await local.contract(writes(30));
        return deployed(execute(await local.contract(caught(await through(writer, 10)))));
      },
      written: () => writer,
    },
    {
      name: 'a call that asks for much gas and uses little',
      draft: async () => deployed(execute(await local.contract(checksGas(700_000)))),
    },
    {
      name: 'a call that asks for much gas, through three others',
      draft: async () => deployed(execute(await nested(checksGas(2_000_000), 3)), { sponsored: false }),
      wei: ETHER,
    },
    {
      name: 'a call of one that takes whatever gas it is given, and fails, which is caught',
      draft: async () => deployed(execute(await local.contract(caught(await local.contract(burns))))),
    },
  ];

  it.each(zoo)(
    'of $name it finds limits that suffice, at most half above the smallest',
    async ({ draft, ...animal }) => {
      const drafted = await draft();
      if (animal.wei !== undefined) await local.fund(drafted.operation.sender, animal.wei);
      const limits = await estimate(drafted);
      const written = animal.written?.();
      expect(await suffices(drafted, limits, written)).toBe(true);
      for (const name of ['callGasLimit', 'verificationGasLimit', 'paymasterVerificationGasLimit'] as const) {
        const least = await smallest(drafted, limits, name, written);
        expect({ name, limit: limits[name] * 2n <= least * 3n ? 'close' : limits[name], least }).toEqual({
          name,
          limit: 'close',
          least,
        });
      }
      expect(limits.paymasterPostOpGasLimit).toBe(0n);
    },
  );

  it.each([
    ['a text', concat(['0x08c379a0', abi.encode(['string'], ['not today'])]), 'not today'],
    [
      'a panic',
      concat(['0x4e487b71', abi.encode(['uint256'], [0x11])]),
      'panic 0x11: arithmetic overflow or underflow',
    ],
    ['a custom error', '0xc0ffee00', 'custom error 0xc0ffee00'],
    ['nothing', '0x', 'the call reverted without a reason'],
  ])(
    'refuses a call that reverts with %s, of new and other accounts, and so it is included',
    async (_, data, reason) => {
      const to = await local.contract(reverts(data));
      for (const draft of [newAccount(execute(to)), await deployed(execute(to))]) {
        await expect(estimate(draft)).rejects.toMatchObject({
          code: 'execution_reverted',
          members: { reason, revertData: data },
        });
        const { inclusions } = await local.include([local.sign(draft.owner, draft.operation)]);
        expect(inclusions[0]).toMatchObject({ success: false, revertReason: data === '0x' ? undefined : data });
      }
    },
  );

  it('lets an account that has nothing be estimated, but not send more than it has', async () => {
    const poor = newAccount(execute(randomWallet().address), { sponsored: false });
    expect((await estimate(poor)).verificationGasLimit).toBeGreaterThan(200_000n);
    for (const sponsored of [true, false]) {
      const near = await deployed(execute(randomWallet().address, ETHER + 1n), { sponsored });
      await local.fund(near.operation.sender, ETHER);
      await expect(estimate(near)).rejects.toMatchObject({ code: 'execution_reverted', members: { revertData: '0x' } });
    }
  });

  it('gives an account that has a deposit the gas to add to it', async () => {
    const draft = await deployed(execute(randomWallet().address), { sponsored: false });
    await local.fund(draft.operation.sender, ETHER);
    await local.include([local.sign(draft.owner, draft.operation)]);
    const again = { ...draft, operation: { ...draft.operation, nonce: 2n, maxFeePerGas: 50n * GWEI } };
    expect((await local.chain.accounts([draft.operation.sender]))[0]?.depositWei).toBeGreaterThan(0n);
    expect(await suffices(again, await estimate(again))).toBe(true);
  });

  it('estimates an account as if it were deployed', async () => {
    const owner = randomWallet();
    const operation = local.operation(owner, { sponsored: true, callData: execute(await local.contract(writes(1))) });
    const asDeployed = { address: operation.sender, owner: owner.address };
    const limits = await estimator.estimate({ operation, asDeployed });
    await local.deploy(owner);
    expect(await suffices({ owner, operation: { ...operation, nonce: 1n } }, limits)).toBe(true);
  });

  it.each([
    ['little', 1],
    // A node refuses a transaction of more than 131,072 bytes.
    ['much', 1_600],
  ])('finds limits that suffice in the last place of a full bundle, for operations with %s data', async (_, bytes) => {
    const owners = Array.from({ length: 50 }, () => randomWallet());
    const plenty = { sponsored: true, callGasLimit: 0n };
    for (const half of [owners.slice(0, 25), owners.slice(25)]) {
      const deploying = half.map((owner) => ({ owner, factory: local.factoryOf(owner) }));
      await local.include(
        deploying.map(({ owner, factory }) => local.sign(owner, local.operation(owner, { ...plenty, factory }))),
      );
    }
    const callData = execute(randomWallet().address, 0n, `0x${'5a'.repeat(bytes)}`);
    const operations = await Promise.all(
      owners.map(async (owner) => {
        const operation = local.operation(owner, { sponsored: true, nonce: 1n, callData });
        return local.sign(owner, limited({ owner, operation }, await estimator.estimate({ operation })));
      }),
    );
    expect(await local.chain.tryBundle(operations, local.executor.address)).toMatchObject({ kind: 'ok' });
    const { inclusions } = await local.include(operations);
    expect(inclusions.filter(({ success }) => success)).toHaveLength(50);
  });

  it('refuses what validation refuses, with the reason of the EntryPoint', async () => {
    const draft = newAccount(execute(randomWallet().address));
    const { operation } = draft;
    const refused = async (changes: Partial<UserOperation>, reason: string) => {
      const estimated = estimator.estimate({ operation: { ...operation, ...changes } });
      await expect(estimated).rejects.toMatchObject({ code: 'user_op_rejected', members: { reason } });
    };
    await refused({ factory: undefined }, 'AA20 account not deployed');
    await refused({ nonce: 4n }, 'AA25 invalid account nonce');
    await refused({ signature: '0x' }, 'AA23 reverted');
    const nobody = { verificationGasLimit: 0n, postOpGasLimit: 0n, data: '0x', address: randomWallet().address };
    await refused({ paymaster: nobody }, 'AA30 paymaster not deployed');
    await refused({ factory: { ...local.factoryOf(randomWallet()) } }, 'AA14 initCode must return sender');
  });

  it('asks once for all that are estimated at once', async () => {
    let requests = 0;
    const { chain } = local;
    const simulations = new RequestBatcher((asked: readonly SimulationRequest[]) => {
      requests += 1;
      return chain.simulate(asked);
    }, 16);
    const counted = new GasEstimator(chain, simulations);
    const drafts = Array.from({ length: 8 }, () => newAccount(execute(randomWallet().address)));
    const limits = await Promise.all(drafts.map(({ operation }) => counted.estimate({ operation })));
    expect(requests).toBe(2);
    const operations = drafts.map((draft, at) => local.sign(draft.owner, limited(draft, limits[at] ?? NONE)));
    const { inclusions } = await local.include(operations);
    expect(inclusions.map(({ success }) => success)).toEqual(drafts.map(() => true));
  });
});
