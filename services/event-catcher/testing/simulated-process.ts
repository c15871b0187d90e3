import { pino } from 'pino';
import { JsonRpcChainReader } from '../../../shared/chain/chain-reader.json-rpc.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { FollowSettings } from '../follow-chain/followed-chain.ts';
import { following } from './following.ts';
import type { SimulatedEndpoint } from './simulated-endpoint.ts';
import { SimulatedLife } from './simulated-life.ts';
import type { SimulatedStore } from './simulated-store.ts';

interface World {
  settings: FollowSettings;
  store: SimulatedStore;
  readStore: ReadStore;
  endpoints: readonly SimulatedEndpoint[];
  isKilledNow: () => boolean;
  /** How long ago a new block was announced. */
  announcedAgoMs: () => number;
}

const silent = pino({ level: 'silent' });

/** A process of the event catcher. */
export class SimulatedProcess {
  readonly life: SimulatedLife;
  readonly announced = new WakeUp();
  private readonly reader: JsonRpcChainReader;
  private readonly loop: SupervisedLoop;

  constructor(
    private readonly world: World,
    readonly number: number,
    ended: () => void,
  ) {
    const { settings, store, announcedAgoMs } = world;
    const life = new SimulatedLife(world.isKilledNow, ended);
    this.life = life;
    const urls = world.endpoints.map((_, at) => `http://${String(number)}.${String(at)}.test/`);
    this.reader = new JsonRpcChainReader(settings.chainId, urls);
    const readStore = life.of(world.readStore);
    const { announced } = this;
    const newHeads = {
      announced,
      get announcedAgoMs() {
        return announcedAgoMs();
      },
    };
    const run = following(settings, { eventStore: store.of(life), reader: this.reader, readStore, newHeads });
    this.loop = leasedLoop({
      name: 'chain',
      leases: readStore,
      logger: silent,
      holder: `process ${String(number)}`,
      run,
    });
  }

  start(): void {
    this.loop.start();
  }

  /** Stops as a process does that is told to. */
  async stop(): Promise<void> {
    await this.loop.stop();
    this.reader.close();
  }

  /** Sends a request to an endpoint. */
  async fetch(endpoint: number, body: string): Promise<Response> {
    await this.life.goOn();
    const response = await this.world.endpoints[endpoint]?.answer(body);
    await this.life.goOn();
    if (!response) throw new TypeError('fetch failed');
    return response;
  }
}
