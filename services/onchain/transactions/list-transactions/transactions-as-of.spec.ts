import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import type { TransactionPage } from '../../../../schemas/http/onchain/onchain-routes.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import {
  chainsOf,
  startAccountUnderTest,
  type AccountUnderTest,
} from '../../../account/testing/account-under-test.ethers.ts';
import { bundleReceiptOf } from '../../testing/bundle-receipts.ts';

const folder = temporaryFolder();
const { userOpHash } = eventExamples.TxSubmitted;
const { logIndex, transactionHash } = eventExamples.TxIncluded;

describe('the own transactions as of an earlier time', () => {
  let account: AccountUnderTest;
  let node: JsonRpcNode;
  let ada: Session;
  let bob: Session;
  /** After five submissions; after two inclusions. */
  let [submitted, included] = [0, 0];
  let submittedAt = '';
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(2484));
    node.receipts.set(transactionHash, bundleReceiptOf(['before execution', { endOf: userOpHash }], logIndex - 1));
    account = await startAccountUnderTest(folder, { CHAINS: chainsOf([2484, node.url]) });
    ada = await account.logIn(account.newWallet());
    bob = await account.logIn(account.newWallet());
    for (const at of [1, 2, 3, 4, 5]) await happened(at, 'TxSubmitted');
    submitted = await account.foundation.eventStore.head();
    submittedAt = toIso(account.clock.time);
    account.clock.time += 1_000;
    for (const at of [1, 2]) await happened(at, 'TxIncluded');
    included = await account.foundation.eventStore.head();
    await happened(1, 'TxReorged');
    for (const at of [6, 7]) await happened(at, 'TxSubmitted');
    await projectStored(account.foundation);
  });
  afterAll(() => Promise.all([account.service.close(), node.stop()]));

  const happened = async (at: number, type: 'TxSubmitted' | 'TxIncluded' | 'TxReorged') => {
    const transactionId = `tx_${String(at)}`;
    const data: JsonObject = { ...eventExamples[type], transactionId, userId: ada.userId, chainId: 2484 };
    const { eventStore } = account.foundation;
    const revision = (await eventStore.read(`transaction-${transactionId}`)).length - 1;
    const event = anEvent({ type, data, time: account.clock.time });
    await eventStore.append(`transaction-${transactionId}`, revision, [event]);
  };
  const ask = async (path: string, { accessToken } = ada) => {
    const headers = { authorization: `Bearer ${accessToken}` };
    const answer = await account.ask(`/onchain/transactions${path}`, { headers });
    return { status: answer.status, asOf: answer.headers.get('x-as-of'), body: await answer.json() };
  };
  const list = async (query: string, session = ada) => {
    const { body, ...answer } = await ask(query, session);
    return { ...answer, body: body as TransactionPage };
  };
  const get = (id: string, asOf: number, session = ada) => ask(`/${id}?asOf=${String(asOf)}`, session);
  const statusesOf = ({ items }: TransactionPage) => items.map(({ id, status }) => [id, status]);
  const asSubmitted = ['tx_5', 'tx_4', 'tx_3', 'tx_2', 'tx_1'].map((id) => [id, 'submitted']);

  it('are listed with the states that they had', async () => {
    const first = await list(`?asOf=${String(submitted)}`);
    expect(first).toMatchObject({ status: 200, asOf: String(submitted) });
    expect(statusesOf(first.body)).toEqual(asSubmitted);
    expect(statusesOf((await list(`?asOf=${submittedAt}`)).body)).toEqual(asSubmitted);
    expect(statusesOf((await list(`?asOf=${String(included)}`)).body).slice(-2)).toEqual([
      ['tx_2', 'included'],
      ['tx_1', 'included'],
    ]);
    expect((await list('?asOf=2020-01-01')).body.items).toEqual([]);
    expect((await list(`?asOf=${String(included)}`, bob)).body.items).toEqual([]);
  });

  it('show the state of the first page on every page, whether asOf is repeated or not', async () => {
    for (const asOf of [String(submitted), submittedAt]) {
      for (const repeated of [`&asOf=${asOf}`, `&asOf=${String(submitted)}`, '']) {
        const pages: TransactionPage[] = [(await list(`?take=2&asOf=${asOf}`)).body];
        for (let next = pages[0]?.next ?? null; next !== null; next = pages.at(-1)?.next ?? null) {
          const page = await list(`?take=2&cursor=${next}${repeated}`);
          expect(page).toMatchObject({ status: 200, asOf: String(submitted) });
          pages.push(page.body);
        }
        expect(pages.flatMap(statusesOf)).toEqual(asSubmitted);
      }
    }
  });

  it('refuse a cursor that is from a list of another time or user', async () => {
    const earlier = (await list(`?take=2&asOf=${String(submitted)}`)).body.next ?? '';
    const now = (await list('?take=2')).body.next ?? '';
    const refused = { status: 400, body: { code: 'cursor_invalid' } };
    expect(await list(`?cursor=${earlier}&asOf=${String(included)}`)).toMatchObject(refused);
    expect(await list(`?cursor=${now}&asOf=${String(submitted)}`)).toMatchObject(refused);
    expect(await list(`?cursor=${earlier}`, bob)).toMatchObject(refused);
  });

  it('are told one by one, and are not there before they were submitted', async () => {
    expect(await get('tx_2', submitted)).toMatchObject({
      ...{ status: 200, asOf: String(submitted) },
      body: { status: 'submitted', history: [{ status: 'submitted' }], receipt: null },
    });
    expect(await get('tx_2', included)).toMatchObject({
      body: { status: 'included', receipt: { userOpHash, receipt: { transactionHash } } },
    });
    expect(await get('tx_6', included)).toMatchObject({
      ...{ status: 404, asOf: String(included) },
      body: { code: 'transaction_not_found' },
    });
    expect((await get('tx_2', included, bob)).status).toBe(404);
  });

  it('have no receipt of a block that has left the chain since', async () => {
    expect((await get('tx_1', included)).body).toMatchObject({ status: 'included', receipt: null });
  });

  it('cannot be asked for as of what has not happened yet', async () => {
    const head = await account.foundation.eventStore.head();
    for (const asOf of [toIso(account.clock.time + 1_000), String(head + 1), 'yesterday', '2026-13-01', '']) {
      const refused = { status: 400, asOf: null, body: { code: 'validation_failed' } };
      expect(await list(`?asOf=${encodeURIComponent(asOf)}`)).toMatchObject(refused);
      expect(await ask(`/tx_1?asOf=${encodeURIComponent(asOf)}`)).toMatchObject(refused);
    }
  });

  it('read the streams of those on the page that have changed since, and no others', async () => {
    const { eventStore } = account.foundation;
    const read = eventStore.read.bind(eventStore);
    const streams: string[] = [];
    eventStore.read = (stream, options) => {
      if (stream.startsWith('transaction-')) streams.push(stream);
      return read(stream, options);
    };
    await list(`?take=4&asOf=${String(submitted)}`);
    expect(streams).toEqual(['transaction-tx_2']);
    eventStore.read = read;
  });
});
