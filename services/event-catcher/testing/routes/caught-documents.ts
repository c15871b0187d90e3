import type {
  ChainProgressEvent,
  ChainVerificationEvent,
  ObservedRecord,
} from '../../../../schemas/events/event-catcher/chain-events.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { chainsModel } from '../../../../shared/read-models/event-catcher/chains.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import { storedEvent } from '../../../../shared/testing/event-builder.ts';
import { projectInto, projectStored } from '../../../../shared/testing/project.ts';
import type { TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { HEAD } from './catcher-fixtures.ts';

/** Fills the read models with the stored registrations, and with the records that a follower would have stored. */
export class CaughtDocuments {
  /** Higher than the position of any event that a test stores. */
  private position = 1_000;

  constructor(private readonly foundation: TestFoundation) {}

  /** Projects everything that is stored. */
  project(): Promise<void> {
    return projectStored(this.foundation);
  }

  /** Projects observed records, some of which are reverted afterwards. */
  async observe(records: readonly ObservedRecord[], isReverted: (record: ObservedRecord) => boolean): Promise<void> {
    const events = [
      ...records.map((record) => storedEvent('ChainEventObserved', record, { position: ++this.position })),
      ...records
        .filter(isReverted)
        .map((record) => storedEvent('ChainEventReverted', record, { position: ++this.position })),
    ];
    await projectInto(this.foundation.readStore, [chainEventsModel], events);
  }

  /** Projects how far the chain was read. Its head is 3 s old. */
  advance(changes: Partial<ChainProgressEvent['data']>): Promise<void> {
    return this.advanceOf([chainsModel, chainEventsModel], changes);
  }

  /** The same, while the read model of records is behind. */
  advanceOfChainsAlone(changes: Partial<ChainProgressEvent['data']>): Promise<void> {
    return this.advanceOf([chainsModel], changes);
  }

  private async advanceOf(models: readonly ReadModel[], changes: Partial<ChainProgressEvent['data']>): Promise<void> {
    const timestamp = Math.round(this.foundation.clock.now() / 1_000) - 3;
    const window = eventExamples.ChainAdvanced.window.map((block) => ({ ...block, timestamp }));
    const data = { head: HEAD, finalized: 0, window, ...changes };
    const advanced = storedEvent('ChainAdvanced', data, { position: ++this.position });
    await projectInto(this.foundation.readStore, models, [advanced]);
  }

  /** Projects how far the chain was verified. */
  async verify(changes: Partial<ChainVerificationEvent['data']>): Promise<void> {
    const verified = storedEvent('ChainVerified', changes, { position: ++this.position });
    await projectInto(this.foundation.readStore, [chainsModel], [verified]);
  }
}
