import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { noncesStream } from '../../../schemas/events/onchain/nonce-events.ts';
import { transactionStream } from '../../../schemas/events/onchain/transaction-events.ts';
import { reservationsModel } from '../../../shared/read-models/onchain/reservations.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { onAnvil, startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import { call, type Answered, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { burnsGas, passesOn, reverts, SAYS_NO } from '../testing/evm-code.ts';
import {
  ALLOWS_ALL,
  NOBODY,
  SendsUnderTest,
  type Sender,
  type SendingApp,
} from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const GWEI = 10n ** 9n;

const codeOf = ({ status, body }: Answered) => [status, body['code']];
const keysOf = (answers: readonly Answered[]) => answers.map(({ body }) => BigInt(body['nonce'] as string) >> 64n);

describe('sends on a chain', () => {
  let sends: SendsUnderTest;
  let app: SendingApp;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { startChain: startTestChain });
    app = await sends.app();
  });
  afterAll(() => sends.stop());

  const contract = (code: string): Promise<string> => sends.testChain.deploy(code);
  const nothingIsLeftBy = async (sender: Sender) => {
    expect(await sends.typesOf(noncesStream(Anvil.chainId, sender.address))).toEqual([]);
    const { body } = await sends.get('/onchain/transactions', sender);
    expect(body['items']).toEqual([]);
    const filter = { userId: sender.userId, state: 'reserved' };
    expect(await sends.foundation.readStore.find(reservationsModel.collections.reservation.name, { filter })).toEqual(
      [],
    );
  };

  describe('that an app pays for', () => {
    let sender: Sender;
    let first: JsonObject;
    beforeAll(async () => {
      sender = await sends.sender(app);
    });

    it('deploy a new account with the first', async () => {
      const sent = await sends.send(sender);
      expect(sent).toMatchObject({
        status: 201,
        body: { status: 'submitted', nonce: '0', sender: sender.address, sponsor: true, chainId: Anvil.chainId },
      });
      first = await sends.until(sender, sent.body['id'], 'included');
      expect(await sends.typesOf(transactionStream(first['id'] as string))).toEqual(['TxSubmitted', 'TxIncluded']);
      const { body } = await sends.get(`/user/${sender.userId}`, sender);
      expect(body['smartAccounts']).toMatchObject([{ address: sender.address, deployed: true }]);
    });

    it('use the nonce key of the first again with the second, which is cheaper', async () => {
      const { body } = await sends.send(sender);
      expect(body).toMatchObject({ nonce: '1' });
      const second = await sends.until(sender, body['id'], 'included');
      const gasOf = (one: JsonObject) => BigInt((one['receipt'] as JsonObject)['actualGasUsed'] as string);
      expect(gasOf(first) - gasOf(second)).toBeGreaterThan(17_100n);
      expect(await sends.typesOf(noncesStream(Anvil.chainId, sender.address))).toEqual([
        'NonceAssigned',
        'NonceAssigned',
      ]);
    });

    it('are final behind enough blocks', async () => {
      await sends.mine(3);
      await sends.until(sender, first['id'], 'final');
      expect(await sends.typesOf(transactionStream(first['id'] as string))).toEqual([
        'TxSubmitted',
        'TxIncluded',
        'TxFinalized',
      ]);
      expect(first['history']).toMatchObject([{ status: 'submitted' }, { status: 'included' }]);
    });

    it('run in parallel on separate keys: fifty of one user', async () => {
      await sends.testChain.setAutomine(false);
      const sent = await Promise.all(Array.from({ length: 50 }, () => sends.send(sender)));
      expect(sent.map(({ status }) => status)).toEqual(Array<number>(50).fill(201));
      expect(new Set(keysOf(sent)).size).toBe(50);
      await sends.testChain.setAutomine(true);
      await sends.mine(1);
      for (const { body } of sent) await sends.until(sender, body['id'], 'included');
    });

    it('run in parallel before the account is deployed: fifty of a new user', async () => {
      const other = await sends.sender(app);
      const sent = await Promise.all(Array.from({ length: 50 }, () => sends.send(other)));
      expect(sent.map(({ status }) => status)).toEqual(Array<number>(50).fill(201));
      for (const { body } of sent) await sends.until(other, body['id'], 'included');
    });

    it('are included although they take most of the gas that a transaction may have', async () => {
      const to = await contract(burnsGas(12_000_000));
      const { body } = await sends.send(sender, { transactionReq: { to } });
      await sends.until(sender, body['id'], 'included');
      const next = await sends.send(sender);
      await sends.until(sender, next.body['id'], 'included');
    });
  });

  describe('with an Idempotency-Key', () => {
    it('are carried out once, and answered the same again', async () => {
      const sender = await sends.sender(app);
      const again = () => sends.send(sender, {}, { 'idempotency-key': 'one' });
      const answers = await Promise.all(Array.from({ length: 20 }, again));
      answers.push(await again());
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      await sends.until(sender, answers[0]?.body['id'], 'included');
      expect(await again()).toMatchObject({ status: 201, body: answers[0]?.body });
      expect(codeOf(await sends.send(sender, { sponsor: false }, { 'idempotency-key': 'one' }))).toEqual([
        422,
        'idempotency_key_reused',
      ]);
      expect(await sends.typesOf(noncesStream(Anvil.chainId, sender.address))).toEqual(['NonceAssigned']);
    });
  });

  describe('are refused, in this order, and leave nothing behind:', () => {
    let sender: Sender;
    let refusing: string;
    let other: SendingApp;
    beforeAll(async () => {
      sender = await sends.sender(app);
      refusing = await contract(reverts(SAYS_NO));
      other = await sends.app();
    });
    afterAll(() => nothingIsLeftBy(sender));
    /** @param wrong what would be refused later */
    const refused = async (request: JsonObject, wrong: JsonObject, by: SignedIn = sender) =>
      codeOf(
        await sends.send(by, {
          ...wrong,
          ...request,
          transactionReq: {
            ...(wrong['transactionReq'] as JsonObject | undefined),
            ...(request['transactionReq'] as JsonObject | undefined),
          },
        }),
      );
    const reverting = () => ({ transactionReq: { to: refusing } });
    const withPolicy = async (policy: Partial<typeof ALLOWS_ALL> | null, request: JsonObject = {}) => {
      const paying = await sends.app(policy && { ...ALLOWS_ALL, ...policy });
      const by = await sends.sender(paying);
      const { status, body } = await sends.send(by, request);
      await nothingIsLeftBy(by);
      return [status, body['code'], body['rule']];
    };

    it('the account itself as target', async () => {
      const itself = { transactionReq: { to: sender.address } };
      expect(await refused(itself, { appApiKey: 'ak_none' })).toEqual([400, 'validation_failed']);
    });

    it('a chain that is not served', async () => {
      expect(await refused({ chainId: 1 }, { appApiKey: 'ak_none', ...reverting() })).toEqual([
        422,
        'chain_not_supported',
      ]);
    });

    it('an unknown and a revoked app', async () => {
      expect(await refused({ appApiKey: 'ak_none' }, reverting())).toEqual([401, 'api_key_unknown']);
      await sends.apps.change(other.id, { revoke: true });
      expect(await refused({ appApiKey: other.apiKey }, reverting())).toEqual([403, 'app_revoked']);
    });

    it('what the rules that need no estimate refuse', async () => {
      const third = await sends.app();
      expect(await refused({ appApiKey: third.apiKey }, reverting())).toEqual([403, 'sponsorship_refused']);
      expect(await withPolicy(null, reverting())).toEqual([403, 'sponsorship_refused', 'no_policy']);
      const allow = [{ target: NOBODY, selectors: ['0x11223344'] }];
      expect(await withPolicy({ allow }, reverting())).toEqual([403, 'sponsorship_refused', 'target']);
      expect(await withPolicy({ allow })).toEqual([403, 'sponsorship_refused', 'selector']);
    });

    it('a call that reverts, with its reason, also through another contract', async () => {
      expect(await withPolicy({ operationWei: '1' }, reverting())).toEqual([422, 'execution_reverted', undefined]);
      const answer = await sends.send(sender, reverting());
      expect(answer).toMatchObject({
        status: 422,
        body: { code: 'execution_reverted', reason: 'no', revertData: SAYS_NO },
      });
      const through = await contract(passesOn(refusing));
      expect(await sends.send(sender, { transactionReq: { to: through } })).toMatchObject({
        status: 422,
        body: { code: 'execution_reverted', revertData: '0x' },
      });
    });

    it('what the other rules refuse', async () => {
      const rule = (name: string) => [403, 'sponsorship_refused', name];
      const tip = { transactionReq: { maxPriorityFeePerGas: String(10n * GWEI) } };
      expect(await withPolicy({ operationWei: '1' }, tip)).toEqual(rule('gas'));
      expect(await withPolicy({ operationWei: '1', userDayWei: '1', dayWei: '1' })).toEqual(rule('operation'));
      expect(await withPolicy({ userDayWei: '1', dayWei: '1' })).toEqual(rule('user_day'));
      expect(await withPolicy({ dayWei: '1' })).toEqual(rule('day'));
    });

    it('what a deposit does not cover', async () => {
      const deposit = await sends.deposit();
      await sends.withdraw(deposit);
      expect(await withPolicy({})).toEqual([403, 'sponsorship_refused', 'deposit']);
      await sends.addDeposit(deposit);
    });

    onAnvil(it)('what validation refuses', async () => {
      const broken = await sends.sender(app);
      await sends.testChain.call('anvil_setCode', broken.address, '0x60006000fd');
      const { status, body } = await sends.send(broken);
      expect([status, body['code'], body['reason']]).toEqual([422, 'user_op_rejected', 'AA23 reverted']);
      await nothingIsLeftBy(broken);
    });
  });

  describe('that the account pays for', () => {
    onAnvil(it).each([
      ['and send value', { transactionReq: { value: '12345' } }],
      ['and send no value', {}],
    ])(
      'lack to the wei what makes them pass, before the account is deployed and after, %s',
      async (_, more: JsonObject) => {
        const sender = await sends.sender(app);
        for (let round = 0; round < 2; round += 1) {
          await sends.fund(sender.address, 0n);
          await sends.hasSeenTheHead(sender);
          const request = { sponsor: false, ...more };
          const before = await sends.balance(NOBODY);
          const refused = await sends.send(sender, request);
          expect(codeOf(refused)).toEqual([422, 'insufficient_funds']);
          if (round === 0) await nothingIsLeftBy(sender);
          const missing = BigInt(refused.body['missing'] as string);
          await sends.fund(sender.address, missing - 1n);
          expect(await sends.send(sender, request)).toMatchObject({ status: 422, body: { missing: '1' } });
          await sends.fund(sender.address, missing);
          const { status, body } = await sends.send(sender, request);
          expect(status).toBe(201);
          // What the first may take is not there for a second.
          expect(codeOf(await sends.send(sender, request))).toEqual([422, 'insufficient_funds']);
          await sends.until(sender, body['id'], 'included');
          const value = BigInt(
            ((more['transactionReq'] as JsonObject | undefined)?.['value'] as string | undefined) ?? 0,
          );
          expect((await sends.balance(NOBODY)) - before).toBe(value);
        }
      },
    );
  });

  it('account for every wei, and for every nonce of executors, at the end', async () => {
    await sends.mine(4);
    await sends.everythingIsOver();
  });

  it("from a session of somebody else's app are those that its own policy pays for, and it sees no others", async () => {
    const wallet = randomWallet();
    const anybody = await sends.app({ ...ALLOWS_ALL, anySession: true });
    const theirs = await sends.app({ ...ALLOWS_ALL, anySession: true }, true);
    const [own, other] = [await sends.sender(anybody, wallet), await sends.sender(theirs, wallet)];
    await sends.fund(own.address, 10n ** 18n);
    const forbidden = [403, 'forbidden'];
    expect(codeOf(await sends.send(other, { sponsor: false }))).toEqual(forbidden);
    expect(codeOf(await sends.send(other, { appApiKey: anybody.apiKey }))).toEqual(forbidden);
    const [first, second] = [await sends.send(own, { appApiKey: theirs.apiKey }), await sends.send(other)];
    expect([first.status, second.status]).toEqual([201, 201]);
    await sends.until(other, second.body['id'], 'included');
    const listed = async (sender: Sender) =>
      ((await sends.get('/onchain/transactions', sender)).body['items'] as JsonObject[]).map(({ id }) => id);
    expect(await listed(other)).toEqual([second.body['id']]);
    expect((await listed(own)).toSorted()).toEqual([first.body['id'], second.body['id']].toSorted());
    const path = `/onchain/transactions/${first.body['id'] as string}`;
    expect(codeOf(await sends.get(path, other))).toEqual([404, 'transaction_not_found']);
    const cancelled = await call(sends.service.url + path, { method: 'DELETE', headers: other.bearer });
    expect(codeOf(cancelled)).toEqual(forbidden);
  });
});
