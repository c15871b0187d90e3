import { pino } from 'pino';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { closeEngines, openEngines } from '../../../../shared/host/engines/engines.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { newContract } from '../../../stream/testing/fake-catcher.ts';
import { registerTransfer } from '../../end-to-end/register-transfer.ts';
import { someObservation } from '../engines/some-observation.ts';
import { aimed, latencyOf, type Latency, type Report } from '../measure.ts';
import { BenchSocket } from './bench-socket.ts';
import { inParallel } from './fan-out.ts';
import { SECONDS, subscribeTo } from './stream-sizes.ts';
import { until } from './troubles.ts';

const SOCKETS = 1_000;
/** So an event goes to ten sockets. */
const CONTRACTS = 100;
const TICK_MS = 5;
const RATES = [
  { perSecond: 500, atMost: 25 },
  { perSecond: 5_000, atMost: 50 },
];
/** Higher than every block of the local chain, whose catcher must not take these for its own. */
const FIRST_INDEX = 10_000_000;

/** From the event store to sockets, with all of `npm start` in between, on embedded stores. */
export const benchAppendToSockets = async (folder: string, report: Report): Promise<void> => {
  const program = await RunningProgram.start(folder, { LOG_LEVEL: 'warn' });
  const { settings } = loadSettings({ DATA_DIR: folder, LOG_LEVEL: 'silent' });
  const engines = await openEngines(settings, pino({ level: 'error' }), ['eventStore']);
  try {
    const way = new AppendToSockets(engines.eventStore);
    await way.connect(program);
    // Not measured: code is not compiled yet.
    await way.run(500, SECONDS / 2);
    for (const { perSecond, atMost } of RATES) {
      const latency = await way.run(perSecond, SECONDS);
      report(latency);
      const of = `${String(SOCKETS)} sockets, ten for each event, which is appended beside \`npm start\``;
      report(aimed({ what: `${latency.what}: p99`, value: latency.p99Ms, unit: 'ms' }, { atMost, of }));
    }
    way.close();
  } finally {
    await closeEngines(engines);
    await program.stop();
  }
};

interface Contract {
  address: string;
  watchId: string;
  appended: number;
}

class AppendToSockets {
  private readonly contracts: Contract[] = [];
  private sockets: BenchSocket[] = [];
  private readonly appendedAt = new Map<string, number>();
  private tookMs: number[] = [];

  constructor(private readonly eventStore: EventStore) {}

  async connect({ development }: RunningProgram): Promise<void> {
    const user = await signIn(development);
    for (let count = 0; count < CONTRACTS; count += 1) {
      const address = newContract();
      const registered = await registerTransfer(development, user, address);
      if (registered.status !== 201) throw new Error(`the registration answered ${JSON.stringify(registered.body)}`);
      this.contracts.push({ address, watchId: registered.body['id'] as string, appended: 0 });
    }
    const event = (json: Buffer) => {
      const { event: record } = JSON.parse(json.toString('utf8', 0, json.length - 1)) as { event: { Id: string } };
      const at = this.appendedAt.get(record.Id);
      if (at !== undefined) this.tookMs.push(performance.now() - at);
    };
    await inParallel(Array.from({ length: SOCKETS }), async (_, at) => {
      const socket = await BenchSocket.connect(development.streamUrl, user.accessToken, { event });
      this.sockets.push(socket);
      const answer = await socket.command('subscribe', subscribeTo(this.contracts[at % CONTRACTS]?.address ?? ''));
      if (answer['ok'] !== true) throw new Error(`the stream answered ${JSON.stringify(answer)}`);
    });
  }

  async run(perSecond: number, seconds: number): Promise<Latency> {
    this.tookMs = [];
    const count = perSecond * seconds;
    const startedAt = performance.now();
    for (let sent = 0; sent < count;) {
      const due = Math.min(count, Math.floor(((performance.now() - startedAt) / 1_000) * perSecond));
      await this.append(sent, due);
      sent = due;
      await pause(TICK_MS);
    }
    const expected = count * (SOCKETS / CONTRACTS);
    await until(() => this.tookMs.length === expected, `all of ${String(expected)} events must arrive`);
    this.appendedAt.clear();
    return latencyOf(`append to socket, ${perSecond.toLocaleString('en')} events/s`, this.tookMs);
  }

  close(): void {
    for (const socket of this.sockets) socket.cut();
  }

  /** Appends what is due, one append for each contract that has a part in it, all at once. */
  private async append(from: number, until: number): Promise<void> {
    const indexes = Array.from({ length: until - from }, (_, at) => from + at);
    const byContract = Map.groupBy(indexes, (index) => this.contracts[index % CONTRACTS]);
    await Promise.all(
      Array.from(byContract, async ([contract, { length }]) => {
        if (!contract) return;
        const { address, watchId, appended } = contract;
        const events = Array.from({ length }, (_, at) =>
          someObservation(address, FIRST_INDEX + appended + at, watchId),
        );
        contract.appended += length;
        const at = performance.now();
        for (const { data } of events) this.appendedAt.set(data['Id'] as string, at);
        await this.eventStore.append(`chain-2484-${address}`, appended - 1, events);
      }),
    );
  }
}
