import type { ChainProgressEvent, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import { storedEvent } from '../../../shared/testing/event-builder.ts';
import { projectInto, projectStored } from '../../../shared/testing/project.ts';
import type { TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { HEAD } from './catcher-fixtures.ts';

/** Fills the read models with what is registered, and with what a follower would have caught. */
export class CaughtDocuments {
  /** Beyond every event of a test. */
  private position = 1_000;

  constructor(private readonly foundation: TestFoundation) {}

  /** The read models reach what is stored. */
  project(): Promise<void> {
    return projectStored(this.foundation);
  }

  /** Records that were caught, some of them reverted afterwards. */
  async observe(records: readonly ObservedRecord[], isReverted: (record: ObservedRecord) => boolean): Promise<void> {
    const events = [
      ...records.map((record) => storedEvent('ChainEventObserved', record, { position: ++this.position })),
      ...records
        .filter(isReverted)
        .map((record) => storedEvent('ChainEventReverted', record, { position: ++this.position })),
    ];
    await projectInto(this.foundation.readStore, [chainEventsModel], events);
  }

  /** How far the chain was read, with a head of 3 s ago. */
  async advance(changes: Partial<ChainProgressEvent['data']>): Promise<void> {
    const timestamp = Math.round(this.foundation.clock.now() / 1_000) - 3;
    const window = eventExamples.ChainAdvanced.window.map((block) => ({ ...block, timestamp }));
    const data = { head: HEAD, finalized: 0, window, ...changes };
    const advanced = storedEvent('ChainAdvanced', data, { position: ++this.position });
    await projectInto(this.foundation.readStore, [chainsModel], [advanced]);
  }
}
