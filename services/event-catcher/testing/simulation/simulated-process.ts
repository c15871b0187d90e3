import { pino } from 'pino';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../../shared/chain/client/chain-reader.json-rpc.ts';
import { leasedLoop } from '../../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { WakeUp } from '../../../../shared/primitives/waiting/wake-up.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import type { FollowSettings } from '../../follow-chain/followed-chain.ts';
import { ProgressMeter } from '../../follow-chain/chains/progress-meter.ts';
import { following } from '../follower/following.ts';
import type { SimulatedEndpoint } from '../simulated-chain/simulated-endpoint.ts';
import { SimulatedLife } from './simulated-life.ts';
import type { SimulatedStore } from './simulated-store.ts';

interface World {
  settings: FollowSettings;
  store: SimulatedStore;
  readStore: ReadStore;
  endpoints: readonly Pick<SimulatedEndpoint, 'answer'>[];
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
  private readonly meter = new ProgressMeter(systemClock);

  constructor(
    private readonly world: World,
    readonly number: number,
    ended: () => void,
  ) {
    const { settings, store, announcedAgoMs } = world;
    const life = new SimulatedLife(world.isKilledNow, ended);
    this.life = life;
    const urls = world.endpoints.map((_, at) => `http://${String(number)}.${String(at)}.test/`);
    this.reader = new JsonRpcChainReader(new ChainClient(settings.chainId, urls));
    const readStore = life.mortal(world.readStore);
    const { announced } = this;
    const newHeads = {
      announced,
      get announcedAgoMs() {
        return announcedAgoMs();
      },
      isListening: true,
    };
    const { reader, meter } = this;
    const run = following(settings, { eventStore: store.mortal(life), reader, meter, readStore, newHeads });
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

  /** Why a watch cannot be read, or verified, as its status says; `null` if it can. */
  errorOf(watchId: string): string | null {
    const { meter, loop } = this;
    return meter.errorOf(watchId) ?? loop.lastError ?? meter.chainError ?? meter.warningOf(watchId);
  }

  /** Stops like a process that is told to. */
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
