import { join } from 'node:path';
import { startLocalChain } from '../../../../shared/local-chain/local-chain-process.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { registerTransfer } from '../../end-to-end/register-transfer.ts';
import { RELAY_CHECKPOINT } from '../../../relay/publish-events/checkpoint.ts';
import { measure, type Report } from '../measure.ts';
import { startStandIn } from '../stand-in.ts';
import { EMITTING_CONTRACT, emitTransfers } from './transfers.ts';

const POLL_MS = 20;

/**
 * Measures a backfill by all of Annals in one process, from the registration until every event is in the read model and
 * published: embedded, and with EventStoreDB's stand-in in a process of its own, or the server of `EVENTSTORE_URL`.
 */
export const benchBackfill = async (folder: string, report: Report): Promise<void> => {
  const chain = await startLocalChain({ chainId: 2484, folder: join(folder, 'chain'), port: 0 });
  try {
    const events = await emitTransfers(chain.rpcUrl);
    const CHAINS = JSON.stringify([{ chainId: 2484, rpcUrls: [chain.rpcUrl], confirmations: 12 }]);
    const embedded = { folder: join(folder, 'embedded'), settings: { CHAINS } };
    report(await backfill('backfill, embedded', events, embedded));
    const given = process.env['EVENTSTORE_URL'];
    const standIn = given === undefined ? await startStandIn() : undefined;
    try {
      const settings = { CHAINS, EVENTSTORE_URL: given ?? standIn?.url ?? '' };
      report(await backfill('backfill, EventStoreDB', events, { folder: join(folder, 'esdb'), settings }));
    } finally {
      await standIn?.stop();
    }
  } finally {
    await chain.stop();
  }
};

interface Started {
  folder: string;
  settings: Record<string, string>;
}

const backfill = async (what: string, events: number, { folder, settings }: Started) => {
  const program = await RunningProgram.start(folder, settings);
  const readStore = new SqliteReadStore(join(folder, 'read.db'));
  try {
    await readStore.define(collections);
    const user = await signIn(program.development);
    return await measure(what, events, async () => {
      const registered = await registerTransfer(program.development, user, EMITTING_CONTRACT);
      if (registered.status !== 201) throw new Error(`the registration answered ${JSON.stringify(registered.body)}`);
      while (!(await isThere(readStore, events))) await pause(POLL_MS);
    });
  } finally {
    await readStore.close();
    await program.stop();
  }
};

/** Whether every event is in the read model and published. */
const isThere = async (readStore: SqliteReadStore, events: number): Promise<boolean> => {
  const [count] = await readStore.find(chainEventsModel.collections.count.name, {});
  if (count?.document['canonical'] !== events) return false;
  return (await readStore.position(RELAY_CHECKPOINT)) >= count.position;
};
