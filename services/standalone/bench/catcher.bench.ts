import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { JsonRpcChainReader } from '../../../shared/chain/chain-reader.json-rpc.ts';
import { startLocalChain } from '../../../shared/chain/local-chain-process.ts';
import { NewHeads } from '../../../shared/chain/new-heads.websocket.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { chainSettings } from '../../../shared/config/settings.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../shared/host/engines.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { ChainShares } from '../../event-catcher/follow-chain/chain-shares.ts';
import { ChainLoops } from '../../event-catcher/follow-chain/chain-loops.ts';
import { ProgressMeter } from '../../event-catcher/follow-chain/progress-meter.ts';
import { projectionLoop } from '../../projector/run-projection/projection-loop.ts';
import { relayLoop } from '../../relay/publish-events/relay-loop.ts';
import { measure, type Report } from './measure.ts';
import { EMITTING_CONTRACT, emitTransfers } from './transfers.ts';

const POLL_MS = 10;
const logger = pino({ level: 'silent' });

/** Measures from a chain's logs to the read model on the embedded engines, first without and then with the relay. */
export const benchCatcher = async (folder: string, report: Report): Promise<void> => {
  const chain = await startLocalChain({ chainId: 2484, folder: join(folder, 'chain'), port: 0 });
  try {
    const events = await emitTransfers(chain.rpcUrl);
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
    personalData: personalDataOf({ ...engines, masterKey: randomBytes(32), clock: systemClock }),
    logger,
    shares: new ChainShares({ chainIds: [2484], catchers: { known: () => [] }, clock: systemClock, logger }),
    clock: systemClock,
    ids: systemIds,
    meter: new ProgressMeter(systemClock),
    most: { records: Infinity, blocks: Infinity },
  };
  const reader = new JsonRpcChainReader(2484, [rpcUrl]);
  const settings = chainSettings.parse({ chainId: 2484, rpcUrls: [rpcUrl], confirmations: 12 });
  const followed = new ChainLoops([{ settings, reader, newHeads: new NewHeads(), isDevelopment: true }], dependencies);
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
  const data = { ...eventExamples.ContractRegistered, contractAddress: EMITTING_CONTRACT, startBlock: 0 } as JsonObject;
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
