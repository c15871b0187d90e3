import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noncesStream } from '../../../../schemas/events/onchain/nonce-events.ts';
import { sponsorshipStream } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { gasEstimate, type GasEstimate } from '../../../../schemas/http/onchain/onchain-routes.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import type { SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { utcDay } from '../../sponsorship/sponsorships.ts';
import { reverts } from '../../testing/evm-code.ts';
import { refusingPolicies } from '../../testing/refusing-policies.ts';
import { ALLOWS_ALL, SendsUnderTest, type Sender, type SendingApp } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const STARTED_AT = Date.now();
const GWEI = 10n ** 9n;
const FOLLOWED_WITHIN_MS = 60_000;
/** `Panic(0x11)` */
const PANICS = `0x4e487b71${'11'.padStart(64, '0')}`;

describe('an estimate', () => {
  let sends: SendsUnderTest;
  let app: SendingApp;
  let sender: Sender;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { stoppedAt: STARTED_AT });
    app = await sends.app();
    sender = await sends.sender(app);
  });
  afterAll(() => sends.stop());

  const ask = (request: JsonObject = {}, by: SignedIn = sender) =>
    sends.post('/onchain/estimate-user-op-gas', by, request);
  const estimated = async (request: JsonObject = {}, by: SignedIn = sender): Promise<GasEstimate> => {
    const { status, body } = await ask(request, by);
    expect(status).toBe(201);
    return gasEstimate.strict().parse(body);
  };
  const contract = (code: string): Promise<string> => sends.testChain.deploy(code);

  it('of what the account pays for is enough to the wei, however little the account has now', async () => {
    await sends.hasSeenTheHead(sender);
    const { maxCost, sponsored, ...rest } = await estimated({ sponsor: false });
    const { callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas, ...others } = rest;
    const gas = [callGasLimit, verificationGasLimit, preVerificationGas].reduce((sum, one) => sum + BigInt(one), 0n);
    expect({ maxCost, sponsored }).toEqual({ maxCost: String(gas * BigInt(maxFeePerGas)), sponsored: false });
    expect(others).toMatchObject({ paymasterVerificationGasLimit: '0', paymasterPostOpGasLimit: '0' });
    await sends.fund(sender.address, BigInt(maxCost) - 1n);
    expect(await sends.send(sender, { sponsor: false })).toMatchObject({ status: 422, body: { missing: '1' } });
    await sends.fund(sender.address, BigInt(maxCost));
    const { status, body } = await sends.send(sender, { sponsor: false });
    expect(status).toBe(201);
    await sends.until(sender, body['id'], 'included');
  });

  it('of what an app pays for has the gas of the paymaster too, and reserves nothing', async () => {
    const fresh = await sends.sender(app);
    const { maxCost, maxFeePerGas, maxPriorityFeePerGas, sponsored, ...gas } = await estimated({}, fresh);
    expect(sponsored).toBe(true);
    expect(BigInt(gas.paymasterVerificationGasLimit)).toBeGreaterThan(15_000n);
    const sum = Object.values(gas).reduce((total, one) => total + BigInt(one), 0n);
    expect(maxCost).toBe(String(sum * BigInt(maxFeePerGas)));
    expect(BigInt(maxPriorityFeePerGas)).toBeLessThanOrEqual(3n * GWEI);
    expect(await sends.typesOf(sponsorshipStream(app.id, utcDay(STARTED_AT)))).toEqual([]);
    expect(await sends.typesOf(noncesStream(Anvil.chainId, fresh.address))).toEqual([]);
  });

  it.each(refusingPolicies)(
    'says that nobody would pay where the rule %s refuses, and refuses nothing',
    async (rule, policy) => {
      const by = await sends.sender(await sends.app(policy && { ...ALLOWS_ALL, ...policy }));
      const unsponsored = await estimated({ sponsor: false }, by);
      const { maxCost, maxFeePerGas, ...gas } = await estimated({}, by);
      expect({ ...unsponsored, maxCost, maxFeePerGas }).toEqual({ ...gas, maxCost, maxFeePerGas });
      expect(await sends.send(by)).toMatchObject({ status: 403, body: { code: 'sponsorship_refused', rule } });
    },
  );

  it('is of another app where its key is named, which pays if its policy is for any session', async () => {
    for (const anySession of [false, true]) {
      const { apiKey: appApiKey } = await sends.app({ ...ALLOWS_ALL, anySession });
      expect(await estimated({ appApiKey })).toMatchObject({ sponsored: anySession });
      const answer = await sends.send(sender, { appApiKey });
      expect(answer).toMatchObject(anySession ? { status: 201 } : { status: 403, body: { rule: 'session' } });
      // Later specs change the deposit, and compare fees with the head.
      if (anySession) await sends.until(sender, answer.body['id'], 'included');
    }
    expect(await ask({ appApiKey: 'ak_none' })).toMatchObject({ status: 401, body: { code: 'api_key_unknown' } });
  });

  it('says so too where the tip is wasteful, or the deposit does not cover it', async () => {
    const tip = { transactionReq: { maxPriorityFeePerGas: String(10n * GWEI) } };
    expect(await estimated(tip)).toMatchObject({ sponsored: false, maxPriorityFeePerGas: String(10n * GWEI) });
    const deposit = await sends.deposit();
    await sends.setDeposit(0n);
    expect(await estimated()).toMatchObject({ sponsored: false, paymasterVerificationGasLimit: '0' });
    await sends.setDeposit(deposit);
  });

  it('has fees of twice the base fee and the tip, at most the feeCap of the chain', async () => {
    await sends.hasSeenTheHead(sender);
    const tip = { transactionReq: { maxPriorityFeePerGas: '7' } };
    const { baseFeePerGas } = (await sends.testChain.call('eth_getBlockByNumber', 'latest', false)) as {
      baseFeePerGas: string;
    };
    const feesOf = async (request: JsonObject) => {
      const { maxFeePerGas, maxPriorityFeePerGas } = await estimated({ sponsor: false, ...request });
      return [BigInt(maxFeePerGas), BigInt(maxPriorityFeePerGas)];
    };
    expect(await feesOf(tip)).toEqual([2n * BigInt(baseFeePerGas) + 7n, 7n]);
    const nextBaseFee = async (wei: bigint) => {
      await sends.testChain.call('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`);
      await sends.mine(1);
    };
    await nextBaseFee(300n * GWEI);
    const isCapped = async () => (await feesOf(tip))[0] === 500n * GWEI;
    await eventually(isCapped, FOLLOWED_WITHIN_MS, 'the fee must be the feeCap of the chain');
    await nextBaseFee(BigInt(baseFeePerGas));
    await sends.hasSeenTheHead(sender);
  });

  it('of a call that would revert is refused with its reason, as is what validation refuses', async () => {
    const to = await contract(reverts(PANICS));
    for (const sponsor of [true, false]) {
      expect(await ask({ sponsor, transactionReq: { to } })).toMatchObject({
        status: 422,
        body: { code: 'execution_reverted', reason: expect.stringContaining('0x11'), revertData: PANICS },
      });
      const broken = await sends.sender(app);
      await sends.testChain.call('anvil_setCode', broken.address, '0x60006000fd');
      expect(await ask({ sponsor }, broken)).toMatchObject({
        status: 422,
        body: { code: 'user_op_rejected', reason: 'AA23 reverted' },
      });
    }
  });

  it.each([
    ['a chain that is not served', { chainId: 1 }, 422, 'chain_not_supported'],
    ['a chain in quotes', { chainId: '2484' }, 400, 'validation_failed'],
    ['a number for a choice', { sponsor: 1 }, 400, 'validation_failed'],
    ['a number for a key', { appApiKey: 1 }, 400, 'validation_failed'],
    ['an address that is too short', { transactionReq: { to: '0x12' } }, 400, 'validation_failed'],
    ['a value below 0', { transactionReq: { value: '-1' } }, 400, 'validation_failed'],
    ['a value of 257 bits', { transactionReq: { value: String(2n ** 256n) } }, 400, 'validation_failed'],
    ['half a byte', { transactionReq: { data: '0x1' } }, 400, 'validation_failed'],
    ['data above 32 KiB', { transactionReq: { data: `0x${'00'.repeat(32_769)}` } }, 400, 'validation_failed'],
    ['a tip of 65 bits', { transactionReq: { maxPriorityFeePerGas: String(2n ** 64n) } }, 400, 'validation_failed'],
  ])('and a send refuse %s', async (_, request: JsonObject, status, code) => {
    for (const answer of [await ask(request), await sends.send(sender, request)]) {
      expect([answer.status, answer.body['code']]).toEqual([status, code]);
    }
  });

  it('and a send take the largest value and data that there may be', async () => {
    const largest = { value: String(2n ** 256n - 1n), data: `0x${'01'.repeat(32_768)}` };
    const answer = await sends.send(sender, { transactionReq: largest });
    expect(answer).toMatchObject({ status: 422, body: { code: 'insufficient_funds' } });
    expect(await estimated({ transactionReq: { data: largest.data } })).toMatchObject({ sponsored: true });
  });
});
