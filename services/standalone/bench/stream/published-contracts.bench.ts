import { pino } from 'pino';
import { CATCHERS_KIND } from '../../../../schemas/announcements.ts';
import { contractKey, topics } from '../../../../schemas/topics.ts';
import { announcing } from '../../../../shared/coordination/announcing.ts';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { closeEngines, openEngines, type Engines } from '../../../../shared/host/engines/engines.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { aRecord, CHAIN_ID, FakeCatcher, newContract } from '../../../stream/testing/fake-catcher.ts';

const EVENTS_PER_PUBLISH = 500;

/** Contracts whose events this process publishes on the bus of a folder, as catcher and relay do. */
export class PublishedContracts {
  private published = 0;

  private constructor(
    private readonly engines: Pick<Engines, 'messageBus' | 'readStore'>,
    private readonly catcher: FakeCatcher,
    private readonly announcement: ReturnType<typeof announcing>,
    readonly contracts: readonly string[],
  ) {}

  static async open(folder: string, count: number): Promise<PublishedContracts> {
    const logger = pino({ level: 'error' });
    const { settings } = loadSettings({ DATA_DIR: folder, LOG_LEVEL: 'silent' });
    const engines = await openEngines(settings, logger, ['messageBus', 'readStore']);
    const { messageBus, readStore } = engines;
    const catcher = new FakeCatcher(messageBus, readStore, Date.now, loadMasterKey(settings));
    const announcement = announcing({
      ...{ kind: CATCHERS_KIND, id: 'catcher', readStore, logger },
      describe: () => catcher.announcement,
    });
    announcement.start();
    const contracts = Array.from({ length: count }, newContract);
    for (const contract of contracts) await catcher.register(contract);
    return new PublishedContracts(engines, catcher, announcement, contracts);
  }

  /** Publishes an event of each of these contracts, in one append to the bus. @returns their numbers */
  async publish(contracts: readonly string[]): Promise<number[]> {
    const first = this.published + 1;
    for (const contractAddress of contracts) {
      const n = (this.published += 1);
      const data = { from: contractAddress, to: contractAddress, value: '1000000000000000000', n };
      this.catcher.store(
        'observed',
        aRecord({ contractAddress, block: n, data: { ...data, sentAt: performance.now() } }),
      );
    }
    await this.catcher.publish();
    return contracts.map((_, at) => first + at);
  }

  /** Publishes events of another contract in the partition of this one. */
  async publishBeside(contract: string, count: number): Promise<void> {
    const partitionOf = (address: string) =>
      this.engines.messageBus.partitionOf(topics.chainEvents, contractKey(CHAIN_ID, address));
    let other = newContract();
    while (partitionOf(other) !== partitionOf(contract)) other = newContract();
    for (let left = count; left > 0; left -= EVENTS_PER_PUBLISH)
      await this.publish(Array.from({ length: Math.min(left, EVENTS_PER_PUBLISH) }, () => other));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.announcement.stop();
    await closeEngines(this.engines);
  }
}
