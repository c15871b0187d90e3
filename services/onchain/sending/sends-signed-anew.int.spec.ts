import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import {
  ALLOWS_ALL,
  NOBODY,
  SendsUnderTest,
  type Sender,
  type SendingApp,
} from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const ETHER = 10n ** 18n;
/** Longer than what the paymaster signs for. */
const EXPIRED_SECONDS = 700;
const CONFIRMATIONS = 3;

describe('a sponsored send whose block left the chain, and that expired before another block had it', () => {
  let sends: SendsUnderTest;
  let app: SendingApp;
  let sender: Sender;
  let first: JsonObject;
  let second: JsonObject;
  let deploying: JsonObject;
  let paidBefore: bigint;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { confirmations: CONFIRMATIONS });
    const { apiKey: appApiKey } = await sends.app({ ...ALLOWS_ALL, anySession: true });
    app = await sends.app();
    sender = await sends.sender(app);
    await sends.fund(sender.address, ETHER);
    paidBefore = await sends.balance(NOBODY);
    ({ body: deploying } = await sends.send(sender));
    await sends.until(sender, deploying['id'], 'included');
    await sends.mine(CONFIRMATIONS + 1);
    await sends.until(sender, deploying['id'], 'final');
    const { body } = await sends.send(sender, { appApiKey, transactionReq: { value: '5' } });
    first = await sends.until(sender, body['id'], 'included');
    await sends.testChain.setAutomine(false);
    ({ body: second } = await sends.send(sender, { sponsor: false, transactionReq: { value: '7' } }));
    await sends.testChain.rollBack(1);
    await sends.testChain.increaseTime(EXPIRED_SECONDS);
    await sends.mine(2);
    await sends.until(sender, first['id'], 'submitted');
    await sends.testChain.setAutomine(true);
    await sends.mine(CONFIRMATIONS);
  });
  afterAll(() => sends.stop());

  it('is signed anew with its nonce, because the next one of its key waits for it', async () => {
    expect([first['nonce'], second['nonce']]).toEqual(['1', '2']);
    const replaced = await sends.until(sender, first['id'], 'replaced');
    await sends.until(sender, second['id'], 'included');
    const { body } = await sends.get('/onchain/transactions', sender);
    const items = body['items'] as JsonObject[];
    expect(new Set(items.map(({ appId }) => appId))).toEqual(new Set([app.id]));
    expect(items.map(({ nonce, value, userOpHash }) => ({ nonce, value, userOpHash }))).toEqual([
      { nonce: '1', value: '5', userOpHash: replaced['replacedBy'] },
      { nonce: '2', value: '7', userOpHash: second['userOpHash'] },
      { nonce: '1', value: '5', userOpHash: first['userOpHash'] },
      { nonce: '0', value: '0', userOpHash: deploying['userOpHash'] },
    ]);
  });

  it('is executed once, and paid for once', async () => {
    await sends.mine(CONFIRMATIONS + 1);
    await sends.everythingIsOver();
    expect((await sends.balance(NOBODY)) - paidBefore).toBe(12n);
  });
});
