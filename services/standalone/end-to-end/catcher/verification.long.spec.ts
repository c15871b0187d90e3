import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { callUntilServed, signIn, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ProgramOnChain } from '../program-on-chain.ts';
import { hiding, ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';
import { registerTransfer } from '../register-transfer.ts';

const HAPPENS_WITHIN_MS = 60_000;
const TOKEN = '0x00000000000000000000000000000000000A11CE';
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
const TRANSFERS = 12;
/** Number of newest blocks of this chain that are not final. */
const REORGANISABLE = 80;

describe.each([1, 2])('logs that the first of %i providers withholds', (providers) => {
  const folder = temporaryFolder();
  let anvil: Anvil;
  let gateways: ProviderGateway[];
  let ours: ProgramOnChain<RunningProgram>;
  let caller: SignedIn;

  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    for (let value = 1; value <= TRANSFERS; value += 1) {
      const data = `0x${value.toString(16).padStart(64, '0')}`;
      await anvil.mine([{ address: TOKEN, topics: [TRANSFER, SOMEBODY, SOMEBODY], data }]);
    }
    await anvil.call('anvil_mine', `0x${REORGANISABLE.toString(16)}`);
    gateways = await Promise.all(Array.from({ length: providers }, () => ProviderGateway.start(anvil.rpcUrl)));
    const [first] = gateways;
    if (first) first.answer = hiding('eth_getLogs', 'eth_getBlockReceipts', 'eth_getTransactionReceipt');
    const start = (dataFolder: string, settings: Record<string, string>) => RunningProgram.start(dataFolder, settings);
    const chain = { rpcUrls: gateways.map(({ url }) => url) };
    ours = await ProgramOnChain.start({ folder, start, anvil, chain });
    caller = await signIn(ours.program.development);
    expect((await registerTransfer(ours.program.development, caller, TOKEN)).status).toBe(201);
  });
  afterAll(async () => {
    await ours.stop();
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  });

  const get = async (path: string): Promise<JsonObject> =>
    (await callUntilServed(ours.program.development.eventUrl + path, { headers: caller.bearer })).body;
  const events = async () =>
    (await get(`/api/v1/events?chainId=2484&contractAddress=${TOKEN}&take=100`))['items'] as JsonObject[];
  const status = () => get(`/api/v1/status/2484/${TOKEN}/Transfer`);
  const asked = (method: string) =>
    gateways.reduce((sum, gateway) => sum + gateway.asked.filter((body) => body.includes(method)).length, 0);

  it('are found once their blocks are final, and verified', async () => {
    await eventually(async () => (await status())['state'] === 'live', HAPPENS_WITHIN_MS, 'it must be live');
    if (providers === 1) {
      expect([await events(), await status()]).toMatchObject([[], { gaps: [], verifiedBlock: null }]);
      const isAsked = () => asked('eth_getBlockReceipts') > 0;
      await eventually(isAsked, HAPPENS_WITHIN_MS, 'a block must be asked for whose bloom promises a log');
      expect([await events(), await status()]).toMatchObject([[], { state: 'live', verifiedBlock: null }]);
      // The node keeps withholding its logs.
      for (const gateway of gateways) gateway.answer = hiding('eth_getLogs');
    }
    const isFound = async () => (await events()).length === TRANSFERS;
    await eventually(isFound, HAPPENS_WITHIN_MS, 'every transfer must be found');
    const isVerified = async () => Number((await status())['verifiedBlock']) >= TRANSFERS;
    await eventually(isVerified, HAPPENS_WITHIN_MS, 'it must be verified as far as there are transfers');
    const found = (await events()).map(({ BlockNumber, Origin, Status }) => [BlockNumber, Origin, Status]);
    expect(found).toEqual(Array.from({ length: TRANSFERS }, (_, at) => [at + 1, 'replay', 'finalized']));
    expect(await status()).toMatchObject({ state: 'live', eventsTotal: TRANSFERS, lastError: null });
    if (providers === 2) expect(asked('eth_getBlockReceipts')).toBe(0);
  });

  it('are asked for again when an app or an operator has a range replayed', async () => {
    for (const gateway of gateways) gateway.answer = (_body, honest) => honest();
    const isVerified = async () => Number((await status())['verifiedBlock']) >= TRANSFERS;
    await eventually(isVerified, HAPPENS_WITHIN_MS, 'it must be verified as far as there are transfers');
    const before = await events();
    const id = (await status())['id'] as string;
    const replayed = await callUntilServed(`${ours.program.development.eventUrl}/api/v1/contracts/${id}/replay`, {
      method: 'POST',
      headers: caller.bearer,
      body: { fromBlock: 2, toBlock: 5 },
    });
    expect([replayed.status, replayed.body]).toEqual([202, { id, fromBlock: 2, toBlock: 5 }]);
    const isAsked = (fromBlock: string, toBlock: string) => () =>
      gateways.some(({ asked }) =>
        asked.some((body) => body.includes(`"fromBlock":"${fromBlock}","toBlock":"${toBlock}"`)),
      );
    await eventually(isAsked('0x2', '0x5'), HAPPENS_WITHIN_MS, 'the blocks must be asked for again');
    const some = ['--from-block', '3', '--to-block', '6'];
    const asked = JSON.parse(await ours.annals('watch', 'replay', id, '--json', ...some)) as JsonObject;
    expect(asked).toEqual({ id, fromBlock: 3, toBlock: 6 });
    await eventually(isAsked('0x3', '0x6'), HAPPENS_WITHIN_MS, 'the blocks must be asked for again');
    expect(await events()).toEqual(before);
  });
});
