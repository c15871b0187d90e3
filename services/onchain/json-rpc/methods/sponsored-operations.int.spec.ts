import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import { rpcCodes } from '../../../../schemas/rpc/rpc-messages.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { executeCall } from '../../operations/domain/account-calls.ts';
import { STUB_PAYMASTER_DATA } from '../../operations/domain/operation-hash.ts';
import { maxCostOf, nonceOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { executeBatch } from '../../testing/operations-on-chain.ethers.ts';
import { RpcUnderTest, type OwnedAccount, type RpcAnswer } from '../../testing/rpc-under-test.ethers.ts';
import { OTHER_SELECTOR, refusingPolicies } from '../../testing/refusing-policies.ts';
import { ALLOWS_ALL, NOBODY, SendsUnderTest } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 20_000;
const SELECTOR = '0x11223344';
const CALL = { to: NOBODY, value: 0n, data: SELECTOR };
const CHAIN = `0x${Anvil.chainId.toString(16)}`;

describe('an operation that an app is to pay for', () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let account: OwnedAccount;
  /** What it needs, and what the node suggests. */
  let needed: UserOperation;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1 });
    rpc = await RpcUnderTest.start(sends);
    account = await rpc.deployed();
    needed = await whatIsNeeded();
  });
  afterAll(() => sends.stop());

  const whatIsNeeded = async (): Promise<UserOperation> => {
    const sender = await sends.sender(rpc.app);
    await sends.hasSeenTheHead(sender);
    const { body: fees } = await sends.post('/onchain/estimate-user-op-gas', sender, { sponsor: false });
    const address = sends.prepared.paymaster;
    const stub = { address, data: STUB_PAYMASTER_DATA, verificationGasLimit: 0n, postOpGasLimit: 0n };
    return withLimits({
      ...rpc.operation(account, { nonce: nonceOf(1n, 0n), callData: executeCall(CALL), paymaster: stub }),
      maxFeePerGas: BigInt(fees['maxFeePerGas'] as string),
      maxPriorityFeePerGas: BigInt(fees['maxPriorityFeePerGas'] as string),
    });
  };
  const withLimits = async (draft: UserOperation): Promise<UserOperation> => {
    const limits = (await rpc.estimate(draft)).result as Record<string, string>;
    const gas = (name: string) => BigInt(limits[name] ?? 0);
    return {
      ...draft,
      callGasLimit: gas('callGasLimit'),
      verificationGasLimit: gas('verificationGasLimit'),
      preVerificationGas: gas('preVerificationGas'),
      paymaster: draft.paymaster && {
        ...draft.paymaster,
        verificationGasLimit: gas('paymasterVerificationGasLimit'),
      },
    };
  };
  /** Somebody who is signed in to an app with this policy. */
  const byPolicy = async (policy: Partial<SponsorshipPolicy> | null): Promise<RpcUnderTest> => {
    const app = await sends.app(policy && { ...ALLOWS_ALL, ...policy });
    return new RpcUnderTest(sends, app, await sends.sender(app));
  };
  const ofKey = (key: number, changes: Partial<UserOperation> = {}): UserOperation => ({
    ...needed,
    nonce: nonceOf(BigInt(key), 0n),
    ...changes,
  });
  const signed = ({ result }: RpcAnswer): Record<string, string> => {
    expect(result).toMatchObject({ paymaster: sends.prepared.paymaster, sponsor: { name: 'App' } });
    return result as Record<string, string>;
  };
  const refused = (answer: RpcAnswer, rule: string) => {
    const { paymaster } = sends.prepared;
    expect(answer.error).toMatchObject({ code: rpcCodes.paymasterRefused, data: { paymaster, rule } });
  };

  it.each(refusingPolicies)('is refused by the rule %s', async (rule, policy) => {
    refused(await (await byPolicy(policy)).sponsor(ofKey(10)), rule);
  });

  it("is refused by the rule session where the key is another app's, unless its policy is for any", async () => {
    const sender = await sends.sender(rpc.app);
    for (const anySession of [false, true]) {
      const app = await sends.app({ ...ALLOWS_ALL, anySession });
      const answer = await new RpcUnderTest(sends, app, sender).sponsor(ofKey(11));
      if (anySession) signed(answer);
      else refused(answer, 'session');
    }
  });

  it('is looked into call by call where the policy lists targets, and is refused where that cannot be', async () => {
    const listing = await byPolicy({ allow: [{ target: NOBODY, selectors: [SELECTOR] }] });
    signed(await listing.sponsor(ofKey(12)));
    const allowed = { to: NOBODY, data: SELECTOR };
    const batch = async (...calls: Parameters<typeof executeBatch>[0]) =>
      listing.sponsor(await withLimits(ofKey(13, { callData: executeBatch(calls) })));
    signed(await batch(allowed, allowed));
    refused(await batch(allowed, { to: randomWallet().address, data: SELECTOR }), 'target');
    refused(await batch(allowed, { to: NOBODY, data: OTHER_SELECTOR }), 'selector');
    for (const callData of ['0x', '0xabababab']) refused(await listing.sponsor(ofKey(13, { callData })), 'target');
    const foreign = rpc.account(randomWallet().address);
    const { factory, address: sender } = foreign;
    refused(await listing.sponsor(ofKey(0, { factory, sender })), 'target');
  });

  it('is refused where the deposit does not cover it and all that is reserved', async () => {
    const deposit = await sends.deposit();
    await sends.setDeposit(1n);
    await eventually(
      async () => (await rpc.sponsor(ofKey(14))).error?.code === rpcCodes.depositTooLow,
      HAPPENS_WITHIN_MS,
      'the deposit must be seen to be too low',
    );
    const { error } = await rpc.sponsor(ofKey(15));
    expect(error).toMatchObject({ data: { paymaster: sends.prepared.paymaster } });
    await sends.setDeposit(deposit);
    await eventually(
      async () => (await rpc.sponsor(ofKey(14))).result,
      HAPPENS_WITHIN_MS,
      'the deposit must be seen to suffice',
    );
  });

  describe('may have', () => {
    const withPaymaster = (changes: Partial<NonNullable<UserOperation['paymaster']>>) => ({
      paymaster: needed.paymaster && { ...needed.paymaster, ...changes },
    });
    const ofPaymaster = () => needed.paymaster?.verificationGasLimit ?? 0n;
    const tip = () => needed.maxPriorityFeePerGas;
    // What is suggested is twice the base fee and the tip.
    const baseFee = () => (needed.maxFeePerGas - tip()) / 2n;
    it.each<[string, (more: bigint) => Partial<UserOperation>]>([
      [
        'a tenth more preVerificationGas',
        (more) => ({ preVerificationGas: (needed.preVerificationGas * 11n) / 10n + more }),
      ],
      ['twice the callGasLimit', (more) => ({ callGasLimit: needed.callGasLimit * 2n + more })],
      ['twice the verificationGasLimit', (more) => ({ verificationGasLimit: needed.verificationGasLimit * 2n + more })],
      [
        'twice the paymasterVerificationGasLimit',
        (more) => withPaymaster({ verificationGasLimit: ofPaymaster() * 2n + more }),
      ],
      ['no paymasterPostOpGasLimit', (more) => withPaymaster({ postOpGasLimit: more })],
      ['three times the base fee, and the tip', (more) => ({ maxFeePerGas: 3n * baseFee() + tip() + more })],
      ['the tip of recent blocks', (more) => ({ maxPriorityFeePerGas: tip() + more })],
    ])('%s, and not more', async (_, changes) => {
      signed(await rpc.sponsor(ofKey(20, changes(0n))));
      refused(await rpc.sponsor(ofKey(20, changes(1n))), 'gas');
    });
  });

  it('is refused where no block would have it, or nobody would send it', async () => {
    const wrong = { code: rpcCodes.invalidParams };
    expect((await rpc.sponsor(ofKey(21, { preVerificationGas: 21_000n }))).error).toMatchObject(wrong);
    expect((await rpc.sponsor(ofKey(21, { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }))).error).toMatchObject(wrong);
    const dear = { maxFeePerGas: needed.maxPriorityFeePerGas - 1n };
    expect((await rpc.sponsor(ofKey(21, dear))).error).toMatchObject(wrong);
  });

  it('is estimated by a stub that is as long as what is signed, and has no more zero bytes', async () => {
    const answer = await rpc.call('pm_getPaymasterStubData', rpc.form(needed), sends.prepared.entryPoint, CHAIN, {});
    const stub = answer.result as Record<string, string>;
    expect(Object.keys(stub).sort()).toEqual([
      ...['paymaster', 'paymasterData', 'paymasterPostOpGasLimit', 'paymasterVerificationGasLimit'],
    ]);
    const limit = BigInt(stub['paymasterVerificationGasLimit'] ?? 0);
    expect(limit).toBeGreaterThanOrEqual(needed.paymaster?.verificationGasLimit ?? limit);
    const { paymasterData = '', ...rest } = signed(await rpc.sponsor(ofKey(22)));
    expect(rest['paymaster']).toBe(stub['paymaster']);
    const bytesOf = (data: string) => Buffer.from(data.slice(2), 'hex');
    const zeros = (data: string) => bytesOf(data).filter((byte) => byte === 0).length;
    expect(bytesOf(stub['paymasterData'] ?? '')).toHaveLength(bytesOf(paymasterData).length);
    expect(zeros(stub['paymasterData'] ?? '')).toBeLessThanOrEqual(zeros(paymasterData));
  });

  it('is reserved once for its nonce, by the largest of what was signed', async () => {
    const dear = ofKey(30, { maxFeePerGas: needed.maxFeePerGas + 1_000n });
    const capped = await byPolicy({ dayWei: String(maxCostOf(dear)) });
    for (const one of [ofKey(30), dear, ofKey(30), dear]) signed(await capped.sponsor(one));
    refused(await capped.sponsor(ofKey(31)), 'day');
    refused(await capped.sponsor({ ...dear, maxFeePerGas: dear.maxFeePerGas + 1n }), 'day');
  });

  it('counts for the user of the token, and for the app of the key', async () => {
    const cost = maxCostOf(needed);
    const one = await byPolicy({ userDayWei: String(cost), dayWei: String(2n * cost) });
    const [other, third] = [await sends.sender(one.app), await sends.sender(one.app)];
    signed(await one.sponsor(ofKey(40)));
    refused(await one.sponsor(ofKey(41)), 'user_day');
    signed(await new RpcUnderTest(sends, one.app, other).sponsor(ofKey(42)));
    refused(await new RpcUnderTest(sends, one.app, third).sponsor(ofKey(43)), 'day');
  });

  it('counts for each sender where the token is an app’s own', async () => {
    const { factory, address: sender } = rpc.account();
    const other = (key: number) => withLimits(ofKey(key, { factory, sender }));
    const first = await other(0);
    const { app } = await byPolicy({ userDayWei: String(maxCostOf(first)) });
    const itself = new RpcUnderTest(sends, app, await sends.appItself(app));
    signed(await itself.sponsor(first));
    refused(await itself.sponsor(await other(1)), 'user_day');
    signed(await itself.sponsor(ofKey(44)));
  });

  it('costs what the block says once it is included, and others may have the rest', async () => {
    const cost = maxCostOf(needed);
    const capped = await byPolicy({ dayWei: String(2n * cost - 1n) });
    const { paymasterData: data = '0x' } = signed(await capped.sponsor(ofKey(50)));
    refused(await capped.sponsor(ofKey(51)), 'day');
    const { paymaster } = needed;
    const whole = rpc.operation(account, ofKey(50, { paymaster: paymaster && { ...paymaster, data } }));
    const { result } = await capped.send(whole);
    expect(await capped.receipt(result)).toMatchObject({ success: true, paymaster: sends.prepared.paymaster });
    await eventually(
      async () => (await capped.sponsor(ofKey(51))).result,
      HAPPENS_WITHIN_MS,
      'what the first did not cost must be free for the second',
    );
  });
});
