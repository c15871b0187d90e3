import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { codeOf, problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { eventAbi, registration, TOKEN, TRANSFER, transferAbi } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const word = (digits: string): string => `0x${digits.padStart(64, '0')}`;
/** A transfer of an ERC-20, or of an ERC-721, which has the same first topic and another parameter indexed. */
const erc20Log = { address: TOKEN.toLowerCase(), topics: [TRANSFER_TOPIC, word('a'), word('b')], data: word('7') };
const erc721Log = { ...erc20Log, topics: [...erc20Log.topics, word('7')], data: '0x' };
const erc721 = {
  eventSignature: 'Transfer(address indexed,address indexed,uint256 indexed)',
  eventAbi: eventAbi({ ...transferAbi, inputs: transferAbi.inputs.map((input) => ({ ...input, indexed: true })) }),
};

describe('a registration', () => {
  let catcher: CatcherRoutes;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
  });
  afterEach(() => catcher.service.close());

  const registered = (changes: object) => catcher.registered(changes);
  const tried = async (changes: object): Promise<RegisteredContract> => {
    const answer = await catcher.post('/api/v1/contracts?dryRun=true', registration(changes));
    expect(answer.status).toBe(200);
    return (await answer.json()) as RegisteredContract;
  };

  it('takes the ABI in each form in which people have it, as the same watch', async () => {
    const { id } = await registered({});
    const fragment = 'event Transfer(address indexed from, address indexed to, uint256 value)';
    for (const abi of [
      [transferAbi],
      { abi: [transferAbi], bytecode: '0x' },
      JSON.stringify({ abi: [transferAbi] }),
      [fragment],
      JSON.stringify([fragment]),
    ]) {
      expect((await registered({ eventAbi: abi })).id).toBe(id);
    }
    for (const eventSignature of [
      TRANSFER,
      'Transfer(address,address,uint256)',
      'event Transfer(address indexed from, address indexed to, uint256 value);',
      fragment,
    ]) {
      expect((await registered({ eventSignature })).id).toBe(id);
    }
  });

  it('takes an event with a name of 2,000 characters', async () => {
    const name = 'N'.repeat(2_000);
    const long = await registered({ eventSignature: `${name}(bool)`, eventAbi: [`event ${name}(bool ok)`] });
    expect(long.eventName).toBe(name);
    await catcher.documents.project();
    const status = await catcher.ask(`/api/v1/status/2484/${TOKEN}/${name}`);
    expect([status.status, ((await status.json()) as { id: string }).id]).toEqual([200, long.id]);
  });

  it('takes an event with a parameter of type function', async () => {
    const inputs = [{ name: 'callback', type: 'function', indexed: true }];
    const eventSignature = 'Called(function indexed)';
    const called = await registered({ eventSignature, eventAbi: [{ type: 'event', name: 'Called', inputs }] });
    expect(called.eventSignature).toBe(eventSignature);
  });

  it('is refused if its canonical form is longer than a signature may be, for it is parsed again in each query', async () => {
    const parameters = (type: string) => Array<string>(400).fill(type).join();
    const eventSignature = `A(${parameters('uint')})`;
    const problem = await problemOfAnswer(
      await catcher.register({ eventSignature, eventAbi: [`event ${eventSignature}`] }),
    );
    expect(problem).toMatchObject({ code: 'event_signature_invalid', detail: expect.stringContaining('2048') });
  });

  it('warns that none of the newest logs fits the ABI, and is made all the same', async () => {
    for (const log of [erc20Log, erc20Log, erc20Log]) catcher.chain.mine([log]);
    const warnings = [expect.stringMatching(/none of the newest logs .*3 were looked at.*3 topics, not 4.*indexed/)];
    expect((await registered(erc721)).warnings).toEqual(warnings);
    expect((await registered({ ...erc721, startBlock: 'latest' })).warnings).toEqual(warnings);
    expect(await registered({})).not.toHaveProperty('warnings');
    for (const log of [erc721Log, erc20Log]) catcher.chain.mine([log]);
    expect(await registered(erc721)).not.toHaveProperty('warnings');
  });

  it('warns of it when it is tried out, too, by earlier logs where there are no others', async () => {
    catcher.chain.mine([erc20Log]);
    const warnings = [expect.stringContaining('none of the newest logs')];
    const { topics, data } = erc20Log;
    const Data = { raw: { topics, data }, error: expect.stringContaining('topics') };
    expect(await tried(erc721)).toMatchObject({ warnings, sample: [{ Data }] });
    catcher.chain.mine([]);
    expect(await tried({ ...erc721, startBlock: 'latest' })).toMatchObject({ warnings, sample: [] });
    catcher.chain.mine([erc721Log]);
    expect(await tried(erc721)).not.toHaveProperty('warnings');
  });

  it('is made without a word if the chain does not answer with its logs', async () => {
    catcher.chain.logsFailure = () => new ChainUnavailable('no logs today');
    expect(await registered(erc721)).not.toHaveProperty('warnings');
  });
});

it('an address of Rootstock is taken with the checksum of its chain, wherever a chain is named or may be meant', async () => {
  await using catcher = await startCatcherRoutes();
  const address = '0x5aaEB6053f3e94c9b9a09f33669435E7ef1bEAeD';
  const outcomeOf = async (answer: Response) => (answer.ok ? 'ok' : await codeOf(answer));
  for (const [chainId, codes] of [
    [30, ['chain_not_supported', 'watch_not_found', 'watch_not_found', 'ok']],
    [31, Array<string>(4).fill('validation_failed')],
    [2484, Array<string>(4).fill('validation_failed')],
  ] as const) {
    const chain = `chainId=${String(chainId)}&contractAddress=${address}`;
    const answers = [
      await catcher.register({ chainId, contractAddress: address }),
      await catcher.ask(`/api/v1/events?${chain}`),
      await catcher.ask(`/api/v1/status/${String(chainId)}/${address}/Transfer`),
      await catcher.ask(`/api/v1/contracts?${chain}`),
    ];
    expect(await Promise.all(answers.map(outcomeOf))).toEqual(codes);
  }
  expect(await outcomeOf(await catcher.ask(`/api/v1/contracts?contractAddress=${address}`))).toBe('ok');
});
