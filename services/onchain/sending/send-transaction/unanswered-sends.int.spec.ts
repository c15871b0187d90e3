import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { noncesStream } from '../../../../schemas/events/onchain/nonce-events.ts';
import { unavailable } from '../../../../shared/errors/refusal.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { reverts } from '../../testing/evm-code.ts';
import { SendsUnderTest, type Sender } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const TEN_MINUTES_MS = 600_000;

describe('a send that was given a nonce, and was not stored because the event store did not answer', () => {
  let sends: SendsUnderTest;
  let sender: Sender;
  let to: string;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder);
  });
  afterAll(() => sends.stop());
  beforeEach(async () => {
    sender = await sends.sender(await sends.app());
    to = randomWallet().address;
  });

  const nonces = () => noncesStream(Anvil.chainId, sender.address);
  const send = () => sends.send(sender, { transactionReq: { to } }, { 'idempotency-key': 'once' });
  const sendWithoutAnswer = async () => {
    const failed = await withoutAppendsTo('transaction-', sends.foundation, send, unavailable('planned', undefined));
    expect(failed).toMatchObject({ status: 503 });
    expect(await sends.typesOf(nonces())).toEqual(['NonceAssigned']);
  };

  it('has this nonce when it is repeated', async () => {
    await sendWithoutAnswer();
    const { body } = await send();
    expect(body).toMatchObject({ nonce: '0' });
    await sends.until(sender, body['id'], 'included');
    expect(await sends.typesOf(nonces())).toEqual(['NonceAssigned']);
  });

  it('leaves nothing behind when the repeat is refused', async () => {
    await sendWithoutAnswer();
    await sends.testChain.call('anvil_setCode', to, reverts('0x'));
    expect(await send()).toMatchObject({ status: 422, body: { code: 'execution_reverted' } });
    expect(await sends.typesOf(nonces())).toEqual(['NonceAssigned', 'NonceReleased']);
  });

  it('leaves its nonce, and to deploy the account, to another one ten minutes later', async () => {
    const { chainId } = Anvil;
    const data = { chainId, sender: sender.address, nonce: '0', transactionId: 'tx_never_stored', deploys: true };
    await sends.foundation.eventStore.append(nonces(), -1, [
      anEvent({ type: 'NonceAssigned', data, time: Date.now() - TEN_MINUTES_MS }),
    ]);
    const { body } = await send();
    expect(body).toMatchObject({ nonce: '0' });
    await sends.until(sender, body['id'], 'included');
  });
});
