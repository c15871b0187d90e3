import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { JsonRpcChainReader } from '../../../shared/chain/chain-reader.json-rpc.ts';
import { startLocalChain } from '../../../shared/chain/local-chain-process.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { chainSettings } from '../../../shared/config/settings.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../shared/host/engines.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { ChainLoops } from '../../event-catcher/follow-chain/chain-loops.ts';
import { ProgressMeter } from '../../event-catcher/follow-chain/progress-meter.ts';
import { projectionLoop } from '../../projector/run-projection/projection-loop.ts';
import { relayLoop } from '../../relay/publish-events/relay-loop.ts';
import { measure, type Report } from './measure.ts';

const BLOCKS = 100;
const EVENTS_PER_BLOCK = 2_000;
const CONTRACT = '0x00000000000000000000000000000000000ca7c4';
const TRANSFER = eventExamples.ContractRegistered.topic0 ?? '';
const POLL_MS = 10;
const logger = pino({ level: 'silent' });
const GAS = `0x${(28_000_000).toString(16)}`;

/**
 * Emits as many transfers, from the caller to itself, as its argument says: a loop around LOG3.
 * 00 n ← calldata | 03 loop: n = 0 → 3c | n ← n − 1 | memory ← n | log(memory, TRANSFER, caller, this) | → 03 | 3c stop
 */
const EMITTER = `0x6000355b8015603c57600190038060005230337f${TRANSFER.slice(2)}60206000a36003565b00`;

/** Measures from a chain's logs to the read model on the embedded engines, first without and then with the relay. */
export const benchCatcher = async (folder: string, report: Report): Promise<void> => {
  const chain = await startLocalChain({ chainId: 2484, folder: join(folder, 'chain'), port: 0 });
  try {
    const events = await emit(chain.rpcUrl);
    for (const withRelay of [false, true]) {
      const { settings } = loadSettings({ DATA_DIR: join(folder, String(withRelay)) });
      const engines = await openEngines(settings, logger, everyEngine);
      const what = `caught into the read model${withRelay ? ', relay beside it' : ''}`;
      report(await measure(what, events, () => catchAll({ rpcUrl: chain.rpcUrl, events, withRelay }, engines)));
      await closeEngines(engines);
    }
  } finally {
    await chain.stop();
  }
};

interface CatchOptions {
  rpcUrl: string;
  events: number;
  withRelay: boolean;
}

const catchAll = async ({ rpcUrl, events, withRelay }: CatchOptions, engines: Engines): Promise<void> => {
  const dependencies = {
    ...engines,
    logger,
    clock: systemClock,
    ids: systemIds,
    meter: new ProgressMeter(systemClock),
  };
  const reader = new JsonRpcChainReader(2484, [rpcUrl]);
  const settings = chainSettings.parse({ chainId: 2484, rpcUrls: [rpcUrl], confirmations: 12 });
  const followed = new ChainLoops([{ settings, reader, isDevelopment: true }], dependencies);
  const loops = readModels.map((model) => projectionLoop(model, dependencies));
  if (withRelay) loops.push(relayLoop(dependencies));
  await register(engines);
  for (const loop of loops) loop.start();
  followed.loops.start();
  await whenProjected(engines, events);
  await followed.loops.stop();
  await Promise.all(loops.map((loop) => loop.stop()));
  reader.close();
};

const register = async ({ eventStore }: Engines): Promise<void> => {
  const data = { ...eventExamples.ContractRegistered, contractAddress: CONTRACT, startBlock: 0 } as JsonObject;
  const metadata = { correlationId: 'bench', actor: { type: 'system', id: 'bench' } } as const;
  const event = { id: randomUUID(), type: 'ContractRegistered', schemaVersion: 1, time: Date.now(), data, metadata };
  await eventStore.append('watch-bench', -1, [event]);
};

const whenProjected = ({ readStore }: Engines, events: number): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const checkCount = async (): Promise<void> => {
    const counts = await readStore.find(chainEventsModel.collections.count.name, {});
    if (counts[0]?.document['canonical'] === events) {
      clearInterval(timer);
      resolve(undefined);
    }
  };
  const timer = setInterval(() => {
    checkCount().catch(reject);
  }, POLL_MS);
  return promise;
};

/** Emits the events. @returns how many logs the chain has after that */
const emit = async (rpcUrl: string): Promise<number> => {
  const call = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  await call('anvil_setCode', CONTRACT, EMITTER);
  const [from] = (await call('eth_accounts')) as string[];
  const input = `0x${EVENTS_PER_BLOCK.toString(16).padStart(64, '0')}`;
  for (let block = 0; block < BLOCKS; block += 1) {
    await call('eth_sendTransaction', { from, to: CONTRACT, input, gas: GAS });
    await call('evm_mine');
  }
  const reader = new JsonRpcChainReader(2484, [rpcUrl]);
  let events = 0;
  for (let block = 0; block <= (await reader.head()).number; block += 1) {
    events += (await reader.logsOfRange(block, block, { addresses: [CONTRACT], topics: [] })).length;
  }
  reader.close();
  return events;
};
