import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { checksumAddress } from '../../../shared/chain/identifiers/address.ts';
import { compileDecoder } from '../domain/decoding/log-decoder.ts';
import { TOKEN, transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const inputs = [
  { name: 'to', type: 'address', indexed: true },
  { name: 'amount', type: 'uint256', indexed: false },
  { name: 'memo', type: 'string', indexed: false },
];
const paid = {
  eventSignature: 'Paid(address indexed,uint256,string)',
  eventAbi: ['event Paid(address indexed to, uint256 amount, string memo)'],
};
const TO = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const word = (digits: string): string => digits.padStart(64, '0');
const memo = (text: string): string => word('1') + text.padEnd(64, '0');

let catcher: CatcherRoutes;
beforeAll(async () => {
  catcher = await startCatcherRoutes();
  const { id: WatchId } = (await (await catcher.register(paid)).json()) as { id: string };
  await catcher.documents.project();
  const decode = compileDecoder({ name: 'Paid', anonymous: false, inputs }, checksumAddress);
  const records = ['41', 'ff'].map((text, at) => {
    const topics = [`0x${word('1')}`, `0x${word(TO.slice(2).toLowerCase())}`];
    const Data = decode({ topics, data: `0x${word('7')}${word('40')}${memo(text)}` });
    return transferRecord({ WatchId, EventName: 'Paid', EventSignature: paid.eventSignature, LogIndex: at, Data });
  });
  await catcher.documents.observe(records, () => false);
});
afterAll(() => catcher.service.close());

const ask = (query: string, accept = 'application/json') =>
  catcher.ask(`/api/v1/events?chainId=2484&contractAddress=${TOKEN}&${query}`, { headers: { accept } });
const misfit = { raw: '0xff', error: 'is not valid UTF-8' };

it.each([`arg.to=${TO}`, 'arg.amount=7', 'eventSignature=Paid', ''])(
  'a record is found with %s, whatever its sender put into another argument',
  async (query) => {
    const { items, total } = (await (await ask(query)).json()) as EventPage;
    expect([total, items.map(({ Data }) => Data['memo'])]).toEqual([2, ['A', misfit]]);
    expect(items[1]?.Data).toEqual({ to: TO, amount: '7', memo: misfit });
  },
);

it('an argument that does not fit its type is not found by a text that looks like it', async () => {
  for (const text of ['0xff', '\uFFFD', 'A']) {
    const { total } = (await (await ask(`arg.memo=${encodeURIComponent(text)}`)).json()) as EventPage;
    expect(total).toBe(text === 'A' ? 1 : 0);
  }
});

it('an export has it as the query does', async () => {
  const lines = (await (await ask('', 'application/x-ndjson')).text()).trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { Data: object }).Data)).toMatchObject([{}, { memo: misfit }]);
  expect(await (await ask('', 'text/csv')).text()).toContain(
    '""memo"":{""raw"":""0xff"",""error"":""is not valid UTF-8""}',
  );
});
