import { createServer } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { callUntilServed, signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProcess } from '../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { testSettings } from '../../../shared/testing/processes/whole-program.ts';
import { StreamClient } from '../../stream/testing/stream-client.socketio.ts';
import { registerTransfer } from '../end-to-end/register-transfer.ts';
import { aimed, type Report } from './measure.ts';

const ROUNDS = 5;
/** Texts of 256 KiB at most, which each parser of an ABI has to give up. */
const HOSTILE_ABIS = {
  'lists in lists': `${'['.repeat(120_000)}${']'.repeat(120_000)}`,
  'a huge type': JSON.stringify([
    { type: 'event', name: 'Transfer', inputs: [{ type: `uint256${'[]'.repeat(120_000)}` }] },
  ]),
  'many parameters': JSON.stringify([
    { type: 'event', name: 'Transfer', inputs: Array.from({ length: 14_000 }, () => ({ type: 'bool' })) },
  ]),
  'no end': '[{"type":"event","name":"Transfer","inputs":['.repeat(5_000),
};

const msOf = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** Measures times that users are promised, and that no spec asserts, because a slow machine would break them. */
export const benchPromisedTimes = async (folder: string, report: Report): Promise<void> => {
  const program = await RunningProgram.start(join(folder, 'data'), { LOG_LEVEL: 'warn' });
  const { development } = program;
  const { accountUrl, eventUrl, streamUrl, token } = development;
  const reportMs = (what: string, value: number, atMost: number, of: string) => {
    report(aimed({ what, value, unit: 'ms' }, { atMost, of }));
  };

  const user = await signIn(development);
  for (const [kind, eventAbi] of Object.entries(HOSTILE_ABIS)) {
    const register = () =>
      callUntilServed(`${eventUrl}/api/v1/contracts`, {
        method: 'POST',
        headers: user.bearer,
        body: {
          chainId: development.chainId,
          contractAddress: token?.address ?? '',
          eventSignature: 'Transfer(address indexed,address indexed,uint256)',
          eventAbi,
          startBlock: 0,
        },
      });
    const took: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) took.push(await msOf(register));
    reportMs(`a hostile ABI is refused: ${kind}`, Math.min(...took), 50, 'of 256 KiB');
  }

  await registerTransfer(development, user, token?.address ?? '');
  let closedMs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const leaving = await signIn(development);
    const socket = await StreamClient.connect(streamUrl, leaving.accessToken);
    await callUntilServed(`${accountUrl}/auth/logout`, {
      method: 'POST',
      headers: leaving.bearer,
      body: { refreshToken: leaving.refreshToken },
    });
    closedMs = Math.max(closedMs, await msOf(() => socket.waitForDisconnect()));
  }
  reportMs('the socket of an ended session is closed', closedMs, 2_000, 'after the logout is answered');

  const socket = await StreamClient.connect(streamUrl, user.accessToken);
  reportMs('all of Annals stops', await msOf(() => program.stop()), 4_500, 'with a socket open');
  socket.socket.close();

  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  for (const [engine, settings] of Object.entries({
    EventStoreDB: { EVENTSTORE_URL: `esdb://127.0.0.1:${String(port)}?tls=false` },
    Kafka: { KAFKA_BROKERS: `127.0.0.1:${String(port)}` },
    MongoDB: { MONGO_URL: `mongodb://127.0.0.1:${String(port)}` },
  })) {
    const DATA_DIR = join(folder, engine);
    const start = () =>
      RunningProcess.spawn(engine, ['services/standalone/annals.js', 'relay'], {
        ...testSettings,
        ...settings,
        DATA_DIR,
      }).ended();
    reportMs(
      `a start is refused: ${engine} does not answer`,
      await msOf(start),
      15_000,
      'with the start of the process',
    );
  }
  silent.close();
};
