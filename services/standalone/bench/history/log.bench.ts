import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { LogProofs } from '../../../../shared/audit/log-proofs.ts';
import { ComputedSeals } from '../../../../shared/audit/seals/computed-seals.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { SealedHistories } from '../../../../shared/audit/seals/sealed-histories.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { checkpointText } from '../../../../shared/transparency-log/checkpoint.ts';
import { NoteSigner, signedNote } from '../../../../shared/transparency-log/signed-note.ts';
import { StoredLog } from '../../../../shared/transparency-log/stored-log.ts';
import { TreeEdge } from '../../../../shared/transparency-log/tiles.ts';
import { verifyLog } from '../../../../shared/transparency-log/verify-log.ts';
import { aimed, latencyOf, measure, type Report } from '../measure.ts';
import { appendObservations, EVENTS } from './stored-events.ts';

const PROOFS = 1_000;
const ONES = 10_000;
const CALLERS = 256;
const EVENTS_PER_READ = 1_000;

/** Measures the transparency log alone, in this process: what it adds to an append, its proofs, its verification. */
export const benchLog = async (folder: string, report: Report): Promise<void> => {
  const eventStore = new SqliteEventStore(join(folder, 'log-events.db'));
  const readStore = new SqliteReadStore(join(folder, 'log-read.db'));
  await readStore.define(collections);
  const log = new StoredLog(readStore);
  try {
    /** Returns the processor time for each. */
    const timed = async (what: string, count: number, work: () => Promise<void>): Promise<number> => {
      const before = process.cpuUsage();
      report(await measure(what, count, work));
      const { user, system } = process.cpuUsage(before);
      return (user + system) / count;
    };
    const ones = await timed('append, one event an append', ONES, () => appendOneByOne(eventStore));
    const many = await timed('append, 1,000 events an append', EVENTS, () => appendObservations(eventStore, 0, EVENTS));
    const leaf = await timed('the log is built of them', EVENTS + ONES, () => build(log, eventStore));
    for (const [append, of] of [
      [ones, 'one event'],
      [many, '1,000 events'],
    ] as const) {
      const share = {
        what: `the log's processor time beside appends of ${of}`,
        value: (100 * leaf) / append,
        unit: '%',
      };
      report(aimed(share, { atMost: 5, of: 'of an append' }));
    }
    const proofs = latencyOf(
      'an inclusion proof',
      await provingMs({ stored: log, histories: new SealedHistories(eventStore, readStore) }),
    );
    report(proofs);
    const p99 = { what: 'an inclusion proof, p99', value: proofs.p99Ms, unit: 'ms' };
    report(aimed(p99, { atMost: 1, of: 'of any leaf' }));
    const verified = await measure('the log is verified', EVENTS + ONES, () => verify(log, eventStore));
    const perSecond = { what: verified.what, value: verified.perSecond, unit: 'events/s' };
    report(aimed(perSecond, { atLeast: 150_000, of: 'embedded' }));
  } finally {
    await Promise.all([eventStore.close(), readStore.close()]);
  }
};

/** Appends registrations of apps, each to a stream of its own, many at a time. */
const appendOneByOne = async (eventStore: EventStore): Promise<void> => {
  let begun = 0;
  const caller = async () => {
    while (begun < ONES) {
      begun += 1;
      await eventStore.append(`app-${String(begun)}`, -1, [
        anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered }),
      ]);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
};

/** Adds every event, as the loop of the projector does. */
const build = async (log: StoredLog, eventStore: EventStore): Promise<void> => {
  const edge = TreeEdge.empty();
  for (let after = 0; ;) {
    const batch = await eventStore.readAll(after, undefined, EVENTS_PER_READ);
    await log.add(edge, batch);
    if (batch.caughtUp) return;
    after = batch.position;
  }
};

/** Proves random leaves one by one, as an export does. */
const provingMs = async (log: { stored: StoredLog; histories: SealedHistories }): Promise<number[]> => {
  const { size, root } = await log.stored.state();
  const signer = new NoteSigner('bench', randomBytes(32));
  const text = checkpointText({ origin: signer.key.name, size, root });
  const proofs = new LogProofs(log, signedNote(text, [signer.sign(text)]));
  const tookMs: number[] = [];
  for (let at = 0; at < PROOFS; at += 1) {
    const from = performance.now();
    await proofs.inclusion([Math.floor(Math.random() * size)]);
    tookMs.push(performance.now() - from);
  }
  return tookMs;
};

/** As `annals audit log verify` does. */
const verify = async (log: StoredLog, eventStore: EventStore): Promise<void> => {
  const served = await log.state();
  const seals = await ComputedSeals.of(eventStore);
  const observed = async function* () {
    for await (const event of readEvery(eventStore)) {
      seals.add(event);
      yield event;
    }
  };
  const tile = async (id: Parameters<StoredLog['tiles']>[0][number]) => (await log.tiles([id]))[0] ?? new Uint8Array();
  const { fitting } = await verifyLog(observed(), { tile, checkpoints: [{ ...served, origin: '' }] });
  if (fitting.length !== 1) throw new Error('the log does not fit the events that it was built of');
};
