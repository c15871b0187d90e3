import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sentTransaction, transaction, userOpReceipt } from '../../../schemas/http/onchain/onchain-routes.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { startTestChain } from '../../../shared/testing/chain/start-test-chain.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, type Answered } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { createAccountData } from '../operations/domain/account-calls.ts';
import { revertsOnceCalledWithData, SAYS_NO } from '../testing/evm-code.ts';
import { ALLOWS_ALL, SendsUnderTest, type Sender, type SendingApp } from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const ETHER = 10n ** 18n;
const HAPPENS_WITHIN_MS = 20_000;
/** Longer than a paymaster's signature counts. */
const EXPIRED_SECONDS = 700;
/** Keeps what it was given: SSTORE(0, CALLDATALOAD(0)), SSTORE(1, CALLVALUE), STOP. */
const KEEPS = '0x6000356000553460015500';

describe('a transaction that was sent', () => {
  let sends: SendsUnderTest;
  let app: SendingApp;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1, startChain: startTestChain });
    app = await sends.app();
  });
  afterAll(() => sends.stop());
  beforeEach(() => sends.testChain.setAutomine(true));

  const contract = (code: string): Promise<string> => sends.testChain.deploy(code);
  const accepted = async (sender: Sender, request: JsonObject = {}): Promise<JsonObject> => {
    const { status, body } = await sends.send(sender, request);
    expect(status).toBe(201);
    return sentTransaction.strict().parse(body);
  };
  const path = ({ id }: JsonObject) => `/onchain/transactions/${id as string}`;
  const cancel = ({ bearer }: Sender, sent: JsonObject): Promise<Answered> =>
    call(sends.service.url + path(sent), { method: 'DELETE', headers: bearer });
  const lifeOf = async (sender: Sender, sent: JsonObject): Promise<JsonObject> => {
    const { status, body } = await sends.get(path(sent), sender);
    expect(status).toBe(200);
    return transaction.strict().parse(body);
  };
  const statesOf = ({ history }: JsonObject) => (history as JsonObject[]).map(({ status }) => status);
  const receiptOf = async (hash: unknown, query = ''): Promise<JsonObject> => {
    const url = `${sends.service.url}/onchain/user-op-receipt/${String(Anvil.chainId)}/${String(hash)}${query}`;
    const { status, body } = await call(url);
    expect(status).toBe(200);
    return userOpReceipt.strict().parse(body);
  };
  const bundleIsUnderWay = () =>
    eventually(
      async () => (await sends.testChain.pendingTransactions()) > 0,
      HAPPENS_WITHIN_MS,
      'a bundle must be under way',
    );
  /** A bundle is under way that no block has yet: what is accepted from now on waits. */
  const busy = async (): Promise<() => Promise<void>> => {
    const sender = await sends.sender(app);
    await sends.testChain.setAutomine(false);
    const first = await accepted(sender);
    await bundleIsUnderWay();
    return async () => {
      await sends.testChain.setAutomine(true);
      await sends.mine(1);
      await sends.until(sender, first['id'], 'included');
    };
  };
  /** Unsponsored, and waiting; a reorganisation has removed what the account was given. */
  const poor = async (by = app): Promise<{ sender: Sender; sent: JsonObject }> => {
    const sender = await sends.sender(by);
    const before = await sends.testChain.snapshot();
    await sends.fund(sender.address, ETHER);
    const sent = await accepted(sender, { sponsor: false });
    await sends.testChain.revertTo(before);
    return { sender, sent };
  };

  it('carries value and data, and is told by its receipt to anybody, from submitted to final', async () => {
    const sender = await sends.sender(app);
    await sends.fund(sender.address, 5n);
    const to = await contract(KEEPS);
    await sends.testChain.setAutomine(false);
    const data = `0x${'ab'.repeat(32)}`;
    const sent = await accepted(sender, { transactionReq: { to, value: '5', data } });
    const { userOpHash } = sent;
    expect(await receiptOf(userOpHash)).toEqual({
      ...{ userOpHash, status: 'submitted', confirmations: 0, receipt: null, replacedBy: null },
    });
    await sends.until(sender, sent['id'], 'submitted');
    await bundleIsUnderWay();
    const waiting = receiptOf(userOpHash, '?wait=30');
    await sends.mine(1);
    expect(await waiting).toMatchObject({ status: 'included', confirmations: 1, receipt: { success: true } });
    expect(await sends.testChain.call('eth_getStorageAt', to, '0x0', 'latest')).toBe(data);
    expect(BigInt(String(await sends.testChain.call('eth_getStorageAt', to, '0x1', 'latest')))).toBe(5n);
    await sends.mine(3);
    const final = await sends.until(sender, sent['id'], 'final');
    expect(final).toMatchObject({ to, value: '5', data, appId: app.id, sponsor: true, receipt: { userOpHash } });
    expect(await receiptOf(userOpHash, '?wait=30')).toMatchObject({ status: 'final', confirmations: 4 });
  });

  it('whose call fails is reverted, and stays so when it is final', async () => {
    const sender = await sends.sender(app);
    const to = await contract(revertsOnceCalledWithData(SAYS_NO));
    await sends.testChain.setAutomine(false);
    const sent = await accepted(sender, { transactionReq: { to } });
    await bundleIsUnderWay();
    await sends.testChain.send({ to, data: '0x01' });
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    await sends.until(sender, sent['id'], 'reverted');
    await sends.mine(4);
    await eventually(
      async () => Number((await receiptOf(sent['userOpHash']))['confirmations']) >= 5,
      HAPPENS_WITHIN_MS,
      'it must be final',
    );
    const { status, receipt } = await receiptOf(sent['userOpHash']);
    expect({ status, receipt }).toMatchObject({
      status: 'reverted',
      receipt: { success: false, reason: SAYS_NO, receipt: { status: '0x1' } },
    });
  });

  it("is nobody else's to see or to cancel", async () => {
    const [sender, other] = [await sends.sender(app), await sends.sender(app)];
    const sent = await accepted(sender);
    for (const { status, body } of [await sends.get(path(sent), other), await cancel(other, sent)])
      expect([status, body['code']]).toEqual([404, 'transaction_not_found']);
    expect((await sends.get('/onchain/transactions', other)).body).toMatchObject({ items: [] });
    await sends.until(sender, sent['id'], 'included');
  });

  it('waits with the reason where the account has too little, and goes on when it has enough', async () => {
    const go = await busy();
    const { sender, sent } = await poor();
    await go();
    const delayed = async () => {
      const { history } = await lifeOf(sender, sent);
      return (history as JsonObject[]).some(({ reason }) => (reason as string | undefined)?.startsWith('AA21'));
    };
    await eventually(delayed, HAPPENS_WITHIN_MS, 'it must say what it waits for');
    expect(await lifeOf(sender, sent)).toMatchObject({ status: 'submitted', receipt: null });
    await sends.fund(sender.address, ETHER);
    await sends.until(sender, sent['id'], 'included');
  });

  it('is cancelled by another one of its nonce, which the app pays for, and which is answered again until a block has it', async () => {
    const targeted = await sends.app({ ...ALLOWS_ALL, allow: [{ target: randomWallet().address, selectors: null }] });
    const go = await busy();
    const { sender, sent } = await poor(targeted);
    const { status, body } = await cancel(sender, sent);
    expect({ status, body }).toMatchObject({ status: 202, body: { nonce: sent['nonce'], sponsor: true } });
    expect(await cancel(sender, sent)).toMatchObject({ status: 202, body });
    await go();
    await sends.until(sender, body['id'], 'included');
    const { userOpHash: replacedBy } = body;
    expect(await sends.until(sender, sent['id'], 'replaced')).toMatchObject({ replacedBy, receipt: null });
    expect(await cancel(sender, sent)).toMatchObject({ status: 409, body: { code: 'not_cancellable' } });
    expect(await receiptOf(sent['userOpHash'])).toMatchObject({ status: 'replaced', replacedBy, receipt: null });
    expect(await lifeOf(sender, body)).toMatchObject({ to: null, value: null, data: null });
  });

  it('is cancelled by what the account pays for, where no policy allows it', async () => {
    const go = await busy();
    const { sender, sent } = await poor(await sends.app(null));
    const before = await lifeOf(sender, sent);
    const refused = await cancel(sender, sent);
    expect(refused).toMatchObject({ status: 422, body: { code: 'insufficient_funds' } });
    expect(await lifeOf(sender, sent)).toEqual(before);
    await sends.fund(sender.address, BigInt(refused.body['missing'] as string));
    const { status, body } = await cancel(sender, sent);
    expect({ status, body }).toMatchObject({ status: 202, body: { nonce: sent['nonce'], sponsor: false } });
    await go();
    await sends.until(sender, body['id'], 'included');
    await sends.until(sender, sent['id'], 'replaced');
  });

  it('is not cancelled once a block has it, or where an app pays for it', async () => {
    const sender = await sends.sender(app);
    const go = await busy();
    const sponsored = await accepted(sender);
    expect(await cancel(sender, sponsored)).toMatchObject({ status: 409, body: { code: 'not_cancellable' } });
    await go();
    await sends.until(sender, sponsored['id'], 'included');
    await sends.fund(sender.address, ETHER);
    const sent = await accepted(sender, { sponsor: false });
    await sends.until(sender, sent['id'], 'included');
    expect(await cancel(sender, sent)).toMatchObject({ status: 409, body: { code: 'not_cancellable' } });
  });

  it('is signed anew with the same nonce where somebody else has deployed the account', async () => {
    const sender = await sends.sender(app);
    const { body: user } = await sends.get(`/user/${sender.userId}`, sender);
    const [{ owner, factory: to } = {}] = user['smartAccounts'] as JsonObject[];
    const go = await busy();
    const sent = await accepted(sender);
    await sends.testChain.send({ to: to as string, data: createAccountData(owner as string) });
    await go();
    const { replacedBy } = await sends.until(sender, sent['id'], 'replaced');
    expect(await receiptOf(sent['userOpHash'])).toMatchObject({ status: 'replaced', replacedBy, receipt: null });
    const { body } = await sends.get('/onchain/transactions', sender);
    expect(body['items']).toMatchObject([{ userOpHash: replacedBy, nonce: sent['nonce'] }, { id: sent['id'] }]);
    expect(await receiptOf(replacedBy)).toMatchObject({ receipt: { success: true } });
  });

  it('is submitted again by a reorganisation, and included again', async () => {
    const sender = await sends.sender(app);
    const sent = await accepted(sender);
    const first = await sends.until(sender, sent['id'], 'included');
    await sends.testChain.rollBack(1);
    await sends.mine(1);
    const again = async () => {
      const life = await lifeOf(sender, sent);
      return statesOf(life).length === 4 && life;
    };
    const second = await eventually(again, HAPPENS_WITHIN_MS, 'it must be included again');
    expect(statesOf(second)).toEqual(['submitted', 'included', 'submitted', 'included']);
    const blockOf = ({ receipt }: JsonObject) => (receipt as JsonObject | null)?.['receipt'];
    expect(blockOf(second)).not.toEqual(blockOf(first));
  });

  it('is accounted for to the wei', async () => {
    await sends.mine(4);
    await sends.everythingIsOver();
  });

  it('is dropped once what the paymaster signed has expired in a final block', async () => {
    const sender = await sends.sender(app);
    await sends.testChain.setAutomine(false);
    const sent = await accepted(sender);
    await sends.testChain.increaseTime(EXPIRED_SECONDS);
    await sends.testChain.mineWithoutPending(5);
    const dropped = await sends.until(sender, sent['id'], 'dropped');
    expect(dropped).toMatchObject({ receipt: null, replacedBy: null });
    expect(await receiptOf(sent['userOpHash'], '?wait=30')).toMatchObject({ status: 'dropped', confirmations: 0 });
  });
});
